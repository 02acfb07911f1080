"""From a bundle to the decision tables of one deadline: the part that both policies share."""

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats, Masks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Staircase
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import HUGE, basis_terms
from polydom_runtime.features import FeatureSpace
from polydom_runtime.stages import stage_of

from .loaded_models import LoadedModel, LoadedModels
from .states import DecisionTable, Move, State

if TYPE_CHECKING:
    from polydom_runtime.bundles.greedy import Walk

    from .energy import EnergyBudget

GROWTH = 1.06
"""The largest ratio between the ends of neighbouring cells: an item is planned as at most 6 % larger than it is."""

BEYOND, GROWTH_BEYOND = 16.0, 1.25
"""There are cells up to this multiple of the largest measured size. Such items are rare, so the cells are wider there:
fewer cells are laid out sooner."""


class Planner:
    """Makes the states of a deadline, each with a decision table over the size cells.

    `staircase`: the choice of sets by worst cases at the deadline. `cells`: rising ends of the size cells. `rest`: what
    the end of an answer, after its last feature and beside its model, rarely exceeds: the smaller of two bounds, as in
    the guard.
    """

    def __init__(
        self,
        bundle: Bundle,
        space: FeatureSpace,
        models: LoadedModels,
        staircase: "Staircase | Walk",
        energy: "EnergyBudget | None" = None,
    ) -> None:
        self.cells = size_cells(bundle.promise.sizes, (end for end, _ in staircase.steps[:-1]))
        self._bundle, self._space, self._models, self._staircase = bundle, space, models, staircase
        self._energy = energy
        self.most_joules = math.inf if energy is None else energy.joules
        self._budget_ns = staircase.deadline * 1e9
        # In the last cell, of items larger than all others, only a time that does not grow is finite; see `at_cells`.
        self._terms = 1e9 * np.column_stack([basis_terms(np.array(self.cells)).reshape(-1, 6).T, np.eye(6)[0]])
        places = enumerate(models.places)
        self._stages = [stage_of(space, feature, models.values, place.start) for feature, place in places]
        self._times = bundle.times
        bounds = bundle.times.guarded.after, bundle.times.worst.after
        self.rest = min(bounds, key=lambda bound: bound(bundle.promise.sizes[0]))

    def slices(self) -> Generator[None, None, State]:
        """Lay out, in slices of work, the state without features, from which moves lead to all others; load models."""
        raise NotImplementedError

    def at_cells(self, weights: Floats) -> Floats:
        """Return nanoseconds at the end of each cell, shape ``(..., n_cells + 1)``, for weights of shape ``(..., 6)``.

        The last column is for items larger than all cells: infinite, unless the time does not grow.
        """
        times: Floats = weights @ self._terms
        times[(weights[..., 1:] > 0.0).any(axis=-1), -1] = math.inf
        return times

    def affordable(self, masks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which sets fit the energy budget at the end of each cell, shape ``(n_sets, n_cells + 1)``."""
        if (joules := self.joules(masks)) is None:
            return np.ones((len(masks), len(self.cells) + 1), dtype=bool)
        return self.at_cells(joules) <= self.most_joules * 1e9

    def joules(self, masks: NDArray[np.int64]) -> Floats | None:
        """Return weights of the energy of sets, shape ``(n_sets, 6)``; None if energies were not measured."""
        if self._energy is None or self._energy.costs is None:
            return None
        return _whole(self._energy.costs, masks, self._energy.costs.model or 0.0)

    def loading(self, masks: Sequence[int]) -> Iterator[None]:
        """Load the models that may answer for some sets, each in a slice of its own: to open one takes milliseconds."""
        for number in {n for numbers in self._numbers(np.array(masks, dtype=np.int64)) for n in numbers}:
            if not self._models.has_opened(number):
                yield
                self._models.load(number)

    def new_states(self, masks: Sequence[int]) -> list[State]:
        """Return a state without moves for each set: its decision is to answer."""
        times, sets = self._times, np.array(masks, dtype=np.int64)
        answers = self._answers(sets)
        models = [best for (best, _), *_ in answers]
        model_ns = np.array([model.model_ns for model in models], dtype=np.float64)
        worst_ns = self.at_cells(_whole(times.worst, sets))
        typical = _whole(times.typical, sets, model_ns * 1e-9 * times.typical.model_ratio)
        typical_ns = np.maximum(self.at_cells(typical), 1.0)
        # Before the first feature, no unit has run whose time could show that the machine is slow.
        worst_ns[sets == 0] = math.inf
        columns = map(DecisionTable, worst_ns), typical_ns.tolist(), [None] * len(masks), answers
        return [State(*fields) for fields in zip(masks, models, *columns, strict=True)]

    def _answers(self, sets: Masks) -> list[tuple[tuple[LoadedModel, int], ...]]:
        """Return the `State.answers` of each set; of several models, those that cannot be in time are left out."""
        models, ratio, found = self._models, self._times.typical.model_ratio, []
        for numbers in self._numbers(sets):
            loaded = [models.load(number) for number in numbers] or [models.prior]
            found.append(tuple((model, int((loaded[0].model_ns - model.model_ns) * ratio)) for model in loaded))
        return found

    def _numbers(self, sets: Masks) -> Iterator[list[int]]:
        numbers = self._models.answers(sets)
        in_time = self._in_time(sets, numbers) if numbers.shape[1] > 1 else numbers >= 0
        for row, fits in zip(numbers.tolist(), in_time.tolist(), strict=True):
            known = [number for number in row if number >= 0]
            yield [number for number, fit in zip(row, fits, strict=True) if fit and number >= 0] or known[-1:]

    def _in_time(self, sets: Masks, numbers: NDArray[np.intp]) -> Bools:
        """Tell which models can be in time after the features of the row's set; here all. A negative number is none."""
        return numbers >= 0

    def move(self, feature: int, after: State, accuracy: float, target: int) -> Move:
        """Return the move that computes a feature, by its position, on the way to a target with this accuracy."""
        return Move(self._stages[feature], after, feature, accuracy, target)


def _whole(times: UnitTimes, masks: Masks, model: float | Floats = 0.0) -> Floats:
    """Return weights of whole answers from sets, shape ``(n_sets, 6)``: dispatch, features, steps and a model run."""
    weights: Floats = times.of_sets(masks) + np.array(times.dispatch.weights)
    weights[:, 0] += model
    return weights


def size_cells(sizes: tuple[float, float], exact: Iterable[float]) -> list[float]:
    """Return the rising ends of the size cells: k holds ends[k - 1] < n <= ends[k], and none what is above the last.

    `sizes`: the measured range. `exact`: sizes at which the choice at the full deadline changes. Those in the measured
    range become ends, so that the choice is exact there.

    Examples
    --------
    >>> ends = size_cells((100.0, 200.0), [150.0])
    >>> len(ends), 150.0 in ends, 200.0 in ends
    (27, True, True)
    """
    low, high = sizes
    if not 0.0 < high < HUGE:
        return []
    first = max(low, high * 1e-9)
    inside = math.ceil(math.log(high / first) / math.log(GROWTH)) if high > first else 0
    outside = math.ceil(math.log(BEYOND) / math.log(GROWTH_BEYOND))
    ends = {first * (high / first) ** (k / inside) for k in range(inside)} | {high}
    ends |= {high * BEYOND ** (k / outside) for k in range(1, outside + 1)}
    ends |= {size for size in exact if 0.0 < size < high}
    return sorted(ends)
