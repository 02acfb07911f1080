"""From a bundle to the decision tables of one deadline: the part that both policies share, and the strict policy."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats, Masks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.greedy import Walk
from polydom_runtime.bundles.index import Candidate, Staircase
from polydom_runtime.costs import CostFunction, basis_terms, total
from polydom_runtime.features import FeatureSpace
from polydom_runtime.stages import stage_of
from polydom_runtime.unit_times import UnitTimes

from .loaded_models import LoadedModel, LoadedModels
from .size_cells import size_cells
from .states import DecisionTable, Entries, Move, Options, State, decisions

if TYPE_CHECKING:
    from .energy import EnergyBudget


class Planner:
    """Makes the states of a deadline, each with a decision table over the size cells.

    `staircase`: the choice of sets by worst cases at the deadline. `energy`: sets that need more energy are excluded.

    `cells`: rising ends of the size cells. `begun` (shape (6,)): weights of the half of dispatch that is spent before
    the first decision. The other half follows the last one. `rest`: what the part of dispatch after the last decision
    rarely exceeds: the smaller of two bounds, as in the guard.
    """

    def __init__(
        self,
        bundle: Bundle,
        space: FeatureSpace,
        models: LoadedModels,
        staircase: Staircase | Walk,
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
        self.begun = 0.5 * np.array(bundle.times.planned.dispatch.weights)
        summed = np.maximum(np.array(bundle.times.worst.dispatch.weights) - self.begun, 0.0)
        bounds = bundle.times.guarded.dispatch * 0.5, CostFunction(tuple(summed.tolist()))
        self.rest = min(bounds, key=lambda bound: bound(bundle.promise.sizes[0]))

    def root(self) -> State:
        """Return the state without features, from which the moves lead to all other states.

        Raises `BundleFormatError` if a model cannot be run.
        """
        raise NotImplementedError

    def at_cells(self, weights: Floats) -> Floats:
        """Return times in nanoseconds at the end of each cell, for weights of shape ``(..., 6)``.

        The shape of the result is ``(..., n_cells + 1)``. The last column is for items larger than all cells: infinite,
        unless the time does not grow.
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
        """Return the models that may answer over each set, the best first: see `State.answers`.

        Of several, those that cannot be in time are left out.
        """
        models, ratio = self._models, self._times.typical.model_ratio
        numbers, found = models.answers(sets), []
        in_time = self._in_time(sets, numbers) if numbers.shape[1] > 1 else numbers >= 0
        for row, fits in zip(numbers.tolist(), in_time.tolist(), strict=True):
            known = [number for number in row if number >= 0]
            kept = [number for number, fit in zip(row, fits, strict=True) if fit and number >= 0] or known[-1:]
            loaded = [models.load(number) for number in kept] or [models.prior]
            found.append(tuple((model, int((loaded[0].model_ns - model.model_ns) * ratio)) for model in loaded))
        return found

    def _in_time(self, sets: Masks, numbers: NDArray[np.intp]) -> Bools:
        """Tell which models may be in time once their row's set is computed, shape ``(n_sets, n_estimators)``."""
        return numbers >= 0

    def move(self, feature: int, after: State, accuracy: float, target: int) -> Move:
        """Return the move that computes a feature on the way to a target.

        `feature`: its position in the feature space. `after`: the state once it is computed. `accuracy`: the score of
        the target. `target`: the bit mask of the target.
        """
        return Move(self._stages[feature], after, feature, accuracy, target)


class StrictPlanner(Planner):
    """Chooses a set once, before the first feature, by its worst case, and computes it in the order of the bundle.

    Before each feature its worst case, and that of the model after it, must fit the time left. If they do not, the
    best model over the computed features answers. With a greedy bundle there is no choice of a set: the features of
    the sequence are computed, one after the other, as long as the next one fits.
    """

    def root(self) -> State:
        """Return the state without features; O(candidates · features)."""
        (root,) = self.new_states([0])
        walked = isinstance(self._staircase, Walk)
        candidates = [self._staircase.steps[-1][1]] if walked else self._bundle.index.candidates
        better = (c for c in candidates if c.mask and (walked or c.accuracy > self._models.prior.accuracy))
        wanted = sorted(better, key=lambda c: -c.accuracy)
        costs = np.array([self._remaining(c) for c in wanted]).reshape(-1, 6)
        paid = self.affordable(np.array([self._first(c) if walked else c.mask for c in wanted], dtype=np.int64))
        thresholds = np.where(paid, self.at_cells(costs), math.inf)
        fitting = np.flatnonzero((thresholds <= self._budget_ns).any(axis=1) | walked)
        if not len(fitting):
            return root
        chains = [self._chain(root, wanted[k]) for k in fitting]
        moves, guards = [move for move, _ in chains], np.array([guard.weights for _, guard in chains])
        plan = guards if walked else costs[fitting]
        least = np.where(paid[fitting], np.maximum(self.at_cells(plan), self.at_cells(guards)), math.inf)
        scores = np.array([move.accuracy for move in moves])
        root.rows = decisions(root, least, moves, scores, self._budget_ns)
        masks = np.array([wanted[k].mask for k in fitting], dtype=np.int64)
        root.options = Options(masks, plan, guards, moves, self.joules(masks), self.most_joules)
        return root

    def _remaining(self, candidate: Candidate) -> Floats:
        """Return the cost of a set without the part of dispatch that is spent before the choice."""
        return np.maximum(np.array(candidate.cost.weights) - self.begun, 0.0)

    def _chain(self, root: State, candidate: Candidate) -> tuple[Move, CostFunction]:
        """Return the first move of a set and its guard: worst cases of the feature, the model after it and dispatch.

        Each state after it gets one move, to the next feature of the order, with its own guard as the threshold.
        """
        order = [self._space.names.index(name) for name in candidate.features]
        masks = [sum(1 << i for i in order[:k]) for k in range(len(order) + 1)]
        states = [root, *self.new_states(masks[1:])]
        before, moves, guards = self._times.worst.dispatch, [], []
        rest = np.maximum(np.array(before.weights) - self.begun, 0.0)
        for k, feature in enumerate(order):
            cost = self._stage_cost(order, k, before, masks[k])
            before += cost
            least = candidate.accuracy if k + 1 == len(order) else -math.inf
            model = CostFunction.of(states[k + 1].least_ns(least) * 1e-9)
            guards.append(cost + model + CostFunction(tuple(rest.tolist())))
            moves.append(self.move(feature, states[k + 1], candidate.accuracy, candidate.mask))
        for state, move, guard in zip(states[1:], moves[1:], guards[1:], strict=False):
            state.rows = self._guarded(state, move, guard)
        return moves[0], guards[0]

    def _guarded(self, state: State, move: Move, guard: CostFunction) -> DecisionTable:
        paid = self.affordable(np.array([state.mask | 1 << move.feature], dtype=np.int64))[0]
        least = np.where(paid, self.at_cells(np.array(guard.weights)), math.inf)
        one_each, only = np.arange(len(least) + 1), np.zeros(len(least), dtype=np.intp)
        return DecisionTable(state.rows.worst_ns, Entries(one_each, least, only, [move]))

    def _first(self, candidate: Candidate) -> int:
        """Return the set of the first feature of a walk; only this one must fit the energy budget at the start."""
        return 1 << self._space.names.index(candidate.features[0])

    def _stage_cost(self, order: Sequence[int], k: int, before: CostFunction, done: int) -> CostFunction:
        """Return the worst case that feature k of an order adds to the `before` of the features in front of it.

        It is the time of the feature and of its steps. If the costs of sets are not sums, it is the difference between
        the costs of the sets with and without the feature.
        """
        bundle, feature = self._bundle, order[k]
        number = bundle.model_of_order.get(tuple(order[: k + 1]))
        entry = None if number is None else bundle.models[number]
        if entry is None or entry.cost is None:
            worst = self._times.worst
            due = total(s.cost for s in worst.steps if s.users >> feature & 1 and not s.users & done)
            return worst.features[feature] + due
        model = CostFunction.of(entry.seconds).weights
        a, b, c, d, e, f = (
            max(w - m - p, 0.0) for w, m, p in zip(entry.cost.weights, model, before.weights, strict=True)
        )
        return CostFunction((a, b, c, d, e, f))


def _whole(times: UnitTimes, masks: Masks, model: float | Floats = 0.0) -> Floats:
    """Return weights of whole answers from sets, shape ``(n_sets, 6)``: dispatch, features, steps and a model run."""
    weights: Floats = times.of_sets(masks) + np.array(times.dispatch.weights)
    weights[:, 0] += model
    return weights
