"""The any-time policy: it plans again after each feature, with the time that is really left.

The target is the best set that contains the computed features and fits the time left. So time that features leave
unused goes into a better set. A feature that overruns makes the node drop the rest of its target; the deadline itself
is missed no more often than promised.

All decisions are made when the bundle is loaded. From a state, each target has a *threshold* in each size cell: the
least time left with which the node may work towards it. Three times must fit, so the threshold is the longest of them:

- the plan: the planned times of the target's missing features, a run of its model, and the rest of dispatch;
- the guard of the first missing feature, with the slower of two models after it: the target's, and the best one that
  can answer if this feature is the last;
- for each later feature, the planned times of those before it and then its guard. Otherwise the node would work
  towards a target whose last feature may never start.

The guard of a feature is a time that the feature, a model after it and the rest of dispatch rarely exceed together.
There are two bounds for it. The first adds up guarded times, each from the tail of a single unit. It is high if units
have long tails. The second adds up worst cases, which hold for the tail of the sum: moderate times of the units, and an
allowance added once for pauses. It is high for a short feature, since the allowance is made for whole answers. Each
bound is enough by itself, so the smaller one decides.

The features of a target are computed in the order of their gain of score per second of planned time, the highest first.
So the answer is a good one even if the time ends early. Features without a gain come last, the quickest first.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats, Masks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import basis_terms
from polydom_runtime.features import FeatureSpace
from polydom_runtime.unit_times import UnitTimes

from .loaded_models import LoadedModels
from .planners import Planner
from .states import Options, State, decisions

MAX_STATES, MAX_WORK = 512, 400_000
"""Limits of the states, and of states times models. At a limit, moves to new states are left out: with them, the tables
would take a minute or more to make."""

AT_ONCE = 1000
"""States times models that are weighed at once: many, since each call of numpy takes microseconds, but not so many that
the memory of a small device is short."""


class AnytimePlanner(Planner):
    """Makes every state that moves lead to, with a decision table over all targets that contain it."""

    def __init__(self, bundle: Bundle, space: FeatureSpace, models: LoadedModels, *plan: Any) -> None:
        super().__init__(bundle, space, models, *plan)
        self._singles = np.array([1 << f for f in range(len(space))], dtype=np.int64)
        self._seconds = np.array([model.seconds for model in bundle.models])
        self._states: dict[int, State] = {}
        typical = math.sqrt(max(bundle.promise.sizes[0], 1.0) * max(bundle.promise.sizes[1], 1.0))
        self._typical = basis_terms(typical)

    def root(self) -> State:
        """Return the state without features; O(states · models · cells)."""
        waiting = self._make([0])
        at_once = max(AT_ONCE // max(len(self._seconds), 1), 1)
        while waiting:
            waiting = waiting[at_once:] + self._lay_out(waiting[:at_once])
        return self._states[0]

    def _make(self, masks: Sequence[int]) -> list[State]:
        states = self.new_states(masks)
        self._states.update(zip(masks, states, strict=True))
        return states

    def _lay_out(self, states: Sequence[State]) -> list[State]:
        """Give states their decision tables; return the new states that these lead to.

        All pairs of a state and a target are weighed at once, one state after the other: `at` tells which state, and
        `numbers` the model of the target.
        """
        at, numbers = self._targets(states)
        if not len(at):
            return []
        done = np.array([state.mask for state in states], dtype=np.int64)
        before, masks, seconds = done[at], self._models.masks[numbers], self._seconds[numbers]
        plan = self._plan(before, masks, seconds)
        rank, models = self._ranked(states, done)
        wanted = ((masks & ~before)[:, None] & self._singles) != 0
        following = np.where(wanted, rank[at], -np.inf).argmax(axis=1)
        thresholds = np.maximum(self.at_cells(plan), self._guarded(before, masks, seconds, wanted, rank[at]))
        models = np.maximum(models[at, following], seconds)
        guard = self._guards(before, following, models)
        thresholds = np.maximum(thresholds, self._least(*guard))
        thresholds = np.where(self.affordable(masks), thresholds, math.inf)
        possible: Bools = np.any(thresholds <= self._budget_ns, axis=1)
        after = (before | self._singles[following]).tolist()
        new = self._make(self._to_make(after, possible))
        kept = np.flatnonzero(possible & np.array([mask in self._states for mask in after]))
        steps = zip(following[kept].tolist(), numbers[kept].tolist(), kept.tolist(), strict=True)
        accuracies = self._models.accuracies
        moves = [self.move(f, self._states[after[k]], float(accuracies[m]), int(masks[k])) for f, m, k in steps]
        joules = self.joules(masks)
        stops = np.searchsorted(at[kept], np.arange(len(states) + 1)).tolist()
        for state, (a, b) in zip(states, pairwise(stops), strict=True):
            if a < b:
                part, own = kept[a:b], moves[a:b]
                state.rows = decisions(state, thresholds[part], own, self._budget_ns)
                energy = None if joules is None else joules[part]
                state.options = Options(masks[part], plan[part], guard[1][part], own, energy, self.most_joules)
        return new

    def _to_make(self, after: Sequence[int], possible: Bools) -> list[int]:
        """Return the states that possible moves lead to and that do not exist yet, as many as there is room for."""
        found = dict.fromkeys(mask for mask, may in zip(after, possible.tolist(), strict=True) if may)
        room = max(min(MAX_STATES, MAX_WORK // len(self._seconds)) - len(self._states), 0)
        return [mask for mask in found if mask not in self._states][:room]

    def _plan(self, done: Masks, masks: Masks, seconds: Floats) -> Floats:
        """Return weights of the time that the rest of each target is planned to take, shape ``(n_pairs, 6)``.

        It is the sum of planned times, or the worst case if that is shorter in some cell. With a high planning quantile
        the sum of the units' times may be the longer one, as if all were slow in the same answer; the worst case of the
        sum is then enough.
        """
        times = self._times
        planned = times.planned.of_sets(masks, done) + self.begun
        planned[:, 0] += seconds * times.planned.model_ratio
        worst = times.worst.of_sets(masks, done) + self._rest_of_dispatch(times.worst)
        worst[:, 0] += seconds
        shorter = np.all(self.at_cells(planned)[:, :-1] <= self.at_cells(worst)[:, :-1], axis=1)
        return np.where(shorter[:, None], planned, worst)

    def _rest_of_dispatch(self, times: UnitTimes) -> Floats:
        """Return weights of the part of dispatch that follows the first decision."""
        rest: Floats = np.array(times.dispatch.weights) - self.begun
        return rest

    def _guarded(self, done: Masks, masks: Masks, seconds: Floats, wanted: Bools, rank: Floats) -> Floats:
        """Return the least time left with which every missing feature of a target may start, in nanoseconds.

        It is assumed that the features before each one take their planned times, or their worst case if that is less.

        Parameters
        ----------
        done : int array of shape (n_pairs,)
            The mask of the state.
        masks : int array of shape (n_pairs,)
            The target.
        seconds : float array of shape (n_pairs,)
            The worst case of a run of the target's model.
        wanted : bool array of shape (n_pairs, n_features)
            Which features the target lacks.
        rank : float array of shape (n_pairs, n_features)
            The features with the highest rank are computed first.

        Returns
        -------
        float array of shape (n_pairs, n_cells + 1)
        """
        order = np.argsort(-rank, axis=1, kind="stable")
        missing = np.where(np.take_along_axis(wanted, order, axis=1), self._singles[order], 0)
        pairs, places = np.nonzero(missing)
        features, done = order[pairs, places], done[pairs]
        earlier = (np.cumsum(missing, axis=1) - missing)[pairs, places]
        planned, worst = (times.of_sets(earlier, done) for times in (self._times.planned, self._times.worst))
        starts = self._least(*self._guards(done | earlier, features, seconds[pairs]))
        starts += self._least(planned, worst)
        return np.maximum.reduceat(starts, np.flatnonzero(np.diff(pairs, prepend=-1)), axis=0)

    def _least(self, some: Floats, others: Floats) -> Floats:
        """Return the smaller of two times in each cell, in nanoseconds, for their weights."""
        least: Floats = np.minimum(self.at_cells(some), self.at_cells(others))
        return least

    def _guards(self, done: Masks, features: NDArray[np.intp], models: Floats) -> tuple[Floats, Floats]:
        """Return two bounds of the time of a feature, a model after it and the rest of dispatch, as weights.

        The first is the sum of guarded times of single units, the second the worst case of the sum. The smaller one is
        enough.
        """
        singles = self._singles[features]
        guarded, worst = self._times.guarded, self._times.worst
        alone = guarded.of_sets(singles, done) + 0.5 * np.array(guarded.dispatch.weights)
        summed = worst.of_sets(singles, done) + self._rest_of_dispatch(worst)
        alone[:, 0] += models * guarded.model_ratio
        summed[:, 0] += models
        return alone, summed

    def _targets(self, states: Sequence[State]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which models contain each state and score higher than its answer, best first: places and numbers."""
        best = self._models.best_first
        masks, accuracies = self._models.masks[best], self._models.accuracies[best]
        done = np.array([[state.mask] for state in states], dtype=np.int64)
        answers = np.array([[state.model.accuracy] for state in states])
        at, places = np.nonzero(((masks & done) == done) & (accuracies > answers))
        return at, best[places]

    def _ranked(self, states: Sequence[State], done: Masks) -> tuple[Floats, Floats]:
        """Return the rank of each missing feature, the highest first, and the seconds of the best model after it.

        The rank is the gain of score that the feature brings by itself, divided by its planned time. A feature without
        a gain ranks below all that have one; among these, the quickest is first. Both have the shape ``(n_states,
        n_features)``.
        """
        after = done[:, None] | self._singles
        numbers = self._models.best_numbers(after.ravel()).reshape(after.shape)
        exists = numbers >= 0
        answers = np.array([[state.model.accuracy] for state in states])
        gains = np.where(exists, self._models.accuracies[numbers] - answers, 0.0)
        pairs = np.broadcast_to(self._singles, after.shape).ravel(), np.repeat(done, len(self._singles))
        seconds = (self._times.planned.of_sets(*pairs) @ self._typical + 1e-12).reshape(after.shape)
        rank = np.where(gains > 0.0, gains / seconds, -seconds)
        return np.where(after == done[:, None], -np.inf, rank), np.where(exists, self._seconds[numbers], 0.0)
