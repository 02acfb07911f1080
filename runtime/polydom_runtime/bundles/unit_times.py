"""The times of units (features, shared steps, a model run, what comes around them) and their sums over feature sets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats, Masks
from polydom_runtime.causes import shown
from polydom_runtime.codec.marks import In, Size
from polydom_runtime.costs import HUGE, ZERO, CostFunction, total
from polydom_runtime.exceptions import CostFunctionError
from polydom_runtime.features import MAX_FEATURES, FeatureSpace, members


class StepTime(NamedTuple):
    """A shared step: its name, the bit mask of the features that use it, and its cost."""

    name: str
    users: int
    cost: CostFunction


@dataclass(frozen=True)
class UnitTimes:
    """Times of all units at one quantile, as functions of the item size.

    In place of seconds they may be in any unit that adds up, such as joules.

    Parameters
    ----------
    names : tuple of str
        The names of the features, then those of the steps.
    users : tuple of int
        For each step, the mask of the features that use it; bit i stands for feature i.
    terms : tuple of CostFunction
        The time of each unit, in the order of `names`. The time of a feature excludes its step.
    before : CostFunction
        The time of an answer from the call to the first decision.
    after : CostFunction
        The time of an answer that follows the last feature, without the run of a model.
    waking : CostFunction
        What the first feature of an answer takes longer, whichever it is, since it finds cold what all features need.
    model : float, optional
        The time of one run of any model. None if each model states its own.
    model_ratio : float
        The factor from the worst case that a model states to the time of its run at this quantile.
    quantile : float
        The quantile of these times, from 0 to 1; 0 if they are not quantiles of single units.

    Examples
    --------
    >>> times = UnitTimes.given({"mean": CostFunction.of(2e-6), "peak": CostFunction.of(1e-6)},
    ...                         {"fft": (("peak",), CostFunction.of(5e-6))}, after=CostFunction.of(1e-6))
    >>> times.of_set(0b11)(100)
    9e-06
    """

    names: Annotated[tuple[str, ...], Size(1, 2 * MAX_FEATURES)]
    users: Annotated[tuple[int, ...], Size(0, MAX_FEATURES), In(1, 2**MAX_FEATURES - 1)]
    terms: Annotated[tuple[CostFunction, ...], Size(1, 2 * MAX_FEATURES)]
    before: CostFunction = ZERO
    after: CostFunction = ZERO
    waking: CostFunction = ZERO
    model: Annotated[float | None, In(0.0, HUGE)] = None
    model_ratio: Annotated[float, In(0.0, HUGE)] = 1.0
    quantile: Annotated[float, In(0.0, 1.0)] = 0.0

    @classmethod
    def given(
        cls,
        features: Mapping[str, CostFunction],
        steps: Mapping[str, tuple[Sequence[str], CostFunction]] | None = None,
        *,
        before: CostFunction = ZERO,
        after: CostFunction = ZERO,
        waking: CostFunction = ZERO,
        dispatch: CostFunction = ZERO,
        model: float | None = None,
    ) -> "UnitTimes":
        """Make times from the times of features and steps by name.

        Parameters
        ----------
        features : dict of str to CostFunction
            Costs in the order of the feature space.
        steps : dict of str to (names of the features that use it, CostFunction), optional
            Steps in the order of the first feature that uses each.
        before, after, waking : CostFunction
        dispatch : CostFunction
            The time of an answer without features, if only the sum is known: half is added to `before`, half to
            `after`.
        model : float, optional
            Seconds of one run of any model.

        Raises
        ------
        CostFunctionError
            If a time is no cost function.
        """
        steps, bit = steps or {}, {name: 1 << i for i, name in enumerate(features)}
        users = tuple(sum(bit[name] for name in using) for using, _ in steps.values())
        terms = (*features.values(), *(time for _, time in steps.values()))
        if wrong := [time for time in (*terms, before, after, waking, dispatch) if not isinstance(time, CostFunction)]:
            raise CostFunctionError(
                f"Each time must be a CostFunction of the size. Got {shown(wrong[0])}. Write, for example, "
                "CostFunction.of(2e-6, linear=1e-9), in seconds."
            )
        half = dispatch * 0.5
        return cls((*features, *steps), users, terms, before + half, after + half, waking, model)

    @property
    def around(self) -> tuple[CostFunction, CostFunction, CostFunction]:
        """The time before the first decision, that of waking, and that after the last feature."""
        return self.before, self.waking, self.after

    @property
    def dispatch(self) -> CostFunction:
        """The time of an answer without features."""
        return self.before + self.after

    @property
    def n_features(self) -> int:
        """How many of the units are features."""
        return len(self.names) - len(self.users)

    @property
    def features(self) -> tuple[CostFunction, ...]:
        """The time of each feature, its step excluded."""
        return self.terms[: self.n_features]

    @property
    def steps(self) -> tuple[StepTime, ...]:
        """The shared steps."""
        f = self.n_features
        return tuple(map(StepTime, self.names[f:], self.users, self.terms[f:]))

    def part(self, features: Sequence[int]) -> "UnitTimes":
        """Return the times of some of the features, in this order, and of the steps that they use."""
        users = [sum(1 << new for new, old in enumerate(features) if mask >> old & 1) for mask in self.users]
        # A feature space orders its steps by the first feature that uses them.
        steps = sorted((k for k, mask in enumerate(users) if mask), key=lambda k: users[k] & -users[k])
        units = [*features, *(self.n_features + k for k in steps)]
        return replace(
            self,
            names=tuple(self.names[i] for i in units),
            users=tuple(users[k] for k in steps),
            terms=tuple(self.terms[i] for i in units),
        )

    def mapped(self, change: Callable[[CostFunction], CostFunction]) -> "UnitTimes":
        """Return the times after a change of every unit; the times of models stay."""
        before, waking, after = map(change, self.around)
        return replace(self, terms=tuple(map(change, self.terms)), before=before, after=after, waking=waking)

    def scaled(self, factor: float) -> "UnitTimes":
        """Return the times multiplied by a factor; the times of models stay."""
        return self.mapped(lambda time: time * factor)

    def plus_dispatch(self, more: CostFunction) -> "UnitTimes":
        """Return the times of answers that take longer by `more`, half of it before the first decision, half after."""
        return replace(self, before=self.before + more * 0.5, after=self.after + more * 0.5)

    def relative_to(self, model_seconds: float) -> "UnitTimes":
        """Return the times with a `model_ratio` in place of `model`: its time divided by the seconds that it states."""
        assert self.model is not None
        return replace(self, model=None, model_ratio=self.model / model_seconds)

    def between(self, other: "UnitTimes", share: float) -> "UnitTimes":
        """Return times between these and others of the same units: these at a share of 0, the others at 1.

        Times that are not quantiles of units, the worst cases, count as the quantile 1.
        """

        def mean(a: float, b: float) -> float:
            return (1.0 - share) * a + share * b

        def between(a: CostFunction, b: CostFunction) -> CostFunction:
            a0, a1, a2, a3, a4, a5 = map(mean, a.weights, b.weights)
            return CostFunction((a0, a1, a2, a3, a4, a5))

        return replace(
            self,
            terms=tuple(map(between, self.terms, other.terms)),
            before=between(self.before, other.before),
            after=between(self.after, other.after),
            waking=between(self.waking, other.waking),
            model_ratio=mean(self.model_ratio, other.model_ratio),
            quantile=mean(self.quantile or 1.0, other.quantile or 1.0) % 1.0,
        )

    def of_set(self, mask: int) -> CostFunction:
        """Return the time of an answer without its model run: that around it, the features of a set, their steps."""
        return total([self.dispatch, *self._units_of(mask)])

    def of_sets(self, masks: Masks, done: int | Masks = 0) -> Floats:
        """Return the times of the features of many sets, their steps and waking, without dispatch and model run.

        O(n_sets · n_units).

        Parameters
        ----------
        masks : int array of shape (n_sets,)
        done : int or int array of shape (n_sets,)
            Masks of features that are already computed. They and their steps do not count; waking counts only for a set
            of which none is computed.

        Returns
        -------
        float array of shape (n_sets, 6)
            Weights of the growth terms, see `polydom_runtime.costs.BASIS`.
        """
        done = done if isinstance(done, int) else done[:, None]
        bits, users, features, steps = self._matrices
        wanted = (masks[:, None] & ~done & bits) != 0
        due = ((masks[:, None] & users) != 0) & ((users & done) == 0)
        weights: Floats = wanted @ features + due @ steps
        return weights

    def _units_of(self, mask: int) -> Iterator[CostFunction]:
        yield from (self.terms[i] for i in members(mask))
        yield from (step.cost for step in self.steps if step.users & mask)
        if mask:
            yield self.waking

    @cached_property
    def _matrices(self) -> tuple[Masks, Masks, Floats, Floats]:
        """The bit of each feature, the users of each step, and the weights of both; waking is a step that all use."""
        bits = np.int64(1) << np.arange(self.n_features, dtype=np.int64)
        weights = np.array([time.weights for time in (*self.terms, self.waking)]).reshape(-1, 6)
        users = np.array([*self.users, (1 << self.n_features) - 1], dtype=np.int64)
        return bits, users, weights[: self.n_features], weights[self.n_features :]


def step_users(space: FeatureSpace) -> tuple[tuple[str, int], ...]:
    """Return the name of each shared step of a space, with the mask of the features that use it."""
    return tuple((s.name, sum(1 << i for i, f in enumerate(space.features) if f.step == s)) for s in space.steps)
