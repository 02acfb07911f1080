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
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats, bit_counts
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import basis_terms
from polydom_runtime.features import FeatureSpace
from polydom_runtime.unit_times import UnitTimes

from .loaded_models import LoadedModels
from .planners import Planner
from .states import Move, Options, State, decision_rows

MAX_STATES, MAX_WORK = 512, 400_000
"""Limits of the states, and of states times models. At a limit, moves to new states are left out: with them, the tables
would take a minute or more to make."""


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
        root = self._states[0] = self.new_state(0)
        waiting = deque([root])
        while waiting:
            state = waiting.popleft()
            known = len(self._states)
            self._lay_out(state)
            waiting.extend(list(self._states.values())[known:])
        return root

    def _lay_out(self, state: State) -> None:
        numbers = self._targets(state)
        if not len(numbers):
            return
        masks, seconds = self._models.masks[numbers], self._seconds[numbers]
        plan = self._plan(state.mask, masks, seconds)
        rank, models = self._ranked(state)
        wanted = ((masks & ~state.mask)[:, None] & self._singles) != 0
        following = np.where(wanted, rank, -np.inf).argmax(axis=1)
        thresholds = np.maximum(self.at_cells(plan), self._guarded(state.mask, masks, seconds, wanted, rank))
        models = np.maximum(models[following], seconds)
        thresholds = np.maximum(thresholds, self._to_start(state.mask, following, models))
        thresholds = np.where(self.affordable(masks), thresholds, math.inf)
        reachable = (thresholds <= self._budget_ns).any(axis=1) & self._has_room(state.mask, following)
        masks, following, models = masks[reachable], following[reachable], models[reachable]
        moves = self._moves(state, masks, numbers[reachable], following)
        if moves:
            state.rows = decision_rows(state, thresholds[reachable], moves, self._budget_ns)
            guard = self._guards(state.mask, following, models)[1]
            state.options = Options(masks, plan[reachable], guard, moves, self.joules(masks), self.most_joules)

    def _plan(self, done: int, masks: NDArray[np.int64], seconds: Floats) -> Floats:
        """Return weights of the time that the rest of each target is planned to take, shape ``(n_targets, 6)``.

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

    def _guarded(
        self,
        done: int,
        masks: NDArray[np.int64],
        seconds: Floats,
        wanted: NDArray[np.bool_],
        rank: Floats,
    ) -> Floats:
        """Return the least time left with which every missing feature of a target may start, in nanoseconds.

        It is assumed that the features before each one take their planned times, or their worst case if that is less.

        Parameters
        ----------
        done : int
            The mask of the state.
        masks : int array of shape (n_targets,)
        seconds : float array of shape (n_targets,)
            The worst case of a run of each target's model.
        wanted : bool array of shape (n_targets, n_features)
            Which features each target lacks.
        rank : float array of shape (n_features,)
            The features with the highest rank are computed first.

        Returns
        -------
        float array of shape (n_targets, n_cells + 1)
        """
        order = np.argsort(-rank, kind="stable")
        targets, places = np.nonzero(wanted[:, order])
        features = order[places]
        earlier = np.concatenate([[0], np.cumsum(self._singles[order])])[places] & masks[targets] & ~done
        kinds = (self._times.planned, self._times.worst)
        sums = (self.at_cells(times.of_sets(earlier, done)) for times in kinds)
        before = np.minimum(*sums)
        starts = before + self._to_start(done | earlier, features, seconds[targets])
        return np.maximum.reduceat(starts, np.flatnonzero(np.diff(targets, prepend=-1)), axis=0)

    def _to_start(self, done: int | NDArray[np.int64], features: NDArray[np.intp], models: Floats) -> Floats:
        """Return the least time left, in nanoseconds, with which each feature may start: the smaller of two bounds."""
        alone, summed = self._guards(done, features, models)
        least: Floats = np.minimum(self.at_cells(alone), self.at_cells(summed))
        return least

    def _guards(
        self, done: int | NDArray[np.int64], features: NDArray[np.intp], models: Floats
    ) -> tuple[Floats, Floats]:
        """Return two bounds of the time of a feature, a model after it and the rest of dispatch, as weights.

        The first is the sum of guarded times of single units, the second the worst case of the sum.
        """
        singles = self._singles[features]
        guarded, worst = self._times.guarded, self._times.worst
        alone = guarded.of_sets(singles, done) + 0.5 * np.array(guarded.dispatch.weights)
        summed = worst.of_sets(singles, done) + self._rest_of_dispatch(worst)
        alone[:, 0] += models * guarded.model_ratio
        summed[:, 0] += models
        return alone, summed

    def _targets(self, state: State) -> NDArray[np.intp]:
        """Return the numbers of the models that contain the state and score higher than its answer, best first."""
        masks, accuracies = self._models.masks, self._models.accuracies
        better = ((masks & state.mask) == state.mask) & (accuracies > state.model.accuracy)
        numbers = np.flatnonzero(better)
        return numbers[np.lexsort((bit_counts(masks[numbers]), -accuracies[numbers]))]

    def _ranked(self, state: State) -> tuple[Floats, Floats]:
        """Return the rank of each missing feature, the highest first, and the seconds of the best model after it.

        The rank is the gain of score that the feature brings by itself, divided by its planned time. A feature without
        a gain ranks below all that have one; among these, the quickest is first.
        """
        seconds = self._times.planned.of_sets(self._singles, state.mask) @ self._typical + 1e-12
        rank = np.full(len(self._singles), -np.inf)
        models = np.zeros(len(self._singles))
        for f in range(len(self._singles)):
            if not state.mask >> f & 1:
                number = self._models.best_number(state.mask | 1 << f)
                gain = 0.0 if number is None else self._models.accuracies[number] - state.model.accuracy
                models[f] = 0.0 if number is None else self._seconds[number]
                rank[f] = gain / seconds[f] if gain > 0.0 else -seconds[f]
        return rank, models

    def _has_room(self, done: int, following: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell whether the state after each feature exists already, or may still be made."""
        if len(self._states) < min(MAX_STATES, MAX_WORK // len(self._seconds)):
            return np.ones(len(following), dtype=bool)
        return np.array([done | 1 << feature in self._states for feature in following.tolist()], dtype=bool)

    def _moves(
        self, state: State, masks: NDArray[np.int64], numbers: NDArray[np.intp], following: NDArray[np.intp]
    ) -> list[Move]:
        moves = []
        for mask, number, feature in zip(masks.tolist(), numbers.tolist(), following.tolist(), strict=True):
            done = state.mask | 1 << feature
            if done not in self._states:
                self._states[done] = self.new_state(done)
            accuracy = float(self._models.accuracies[number])
            moves.append(self.move(feature, self._states[done], accuracy, mask))
        return moves
