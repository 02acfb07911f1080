"""The any-time policy: after each feature the plan is made anew with the time that is really left.

The target is the best set that contains what is computed and whose rest fits in the expected time. A feature is begun
only if its own worst case, and that of the model after it, fits. So time that features did not need is spent on a
better set, and what overruns costs the rest of its target, never the deadline.
"""

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import basis_terms
from polydom_runtime.features import FeatureSpace
from polydom_runtime.unit_times import UnitTimes

from .loaded_models import LoadedModels
from .planners import Planner
from .states import Move, Options, State, decision_rows

MAX_STATES, MAX_WORK = 512, 400_000
"""Beyond so many states, or states times models, ways to further states are left out: their tables take a minute."""


class AnytimePlanner(Planner):
    """Lays out every state that a plan can come through, with the decision between all targets from there."""

    def __init__(self, bundle: Bundle, space: FeatureSpace, answers: LoadedModels, *plan: Any) -> None:
        super().__init__(bundle, space, answers, *plan)
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
        masks, seconds = self._answers.masks[numbers], self._seconds[numbers]
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
            state.rows = decision_rows(thresholds[reachable], moves, self._budget_ns)
            guard = self._guards(state.mask, following, models)[1]
            state.options = Options(masks, plan[reachable], guard, moves, self.joules(masks), self.most_joules)

    def _plan(self, done: int, masks: NDArray[np.int64], seconds: Floats) -> Floats:
        """Return what the rest of each target is planned to take: what is expected, or by worst cases if that is less.

        What is expected of single units may be more than the worst case of their sum, at a high quantile.
        """
        times = self._times
        planned = times.planned.of_sets(masks, done) + self.begun
        planned[:, 0] += seconds * times.planned.model_ratio
        worst = times.worst.of_sets(masks, done) + self._rest_of_dispatch(times.worst)
        worst[:, 0] += seconds
        shorter = np.all(self.at_cells(planned)[:, :-1] <= self.at_cells(worst)[:, :-1], axis=1)
        return np.where(shorter[:, None], planned, worst)

    def _rest_of_dispatch(self, times: UnitTimes) -> Floats:
        """Return weights of what dispatch still takes after the first decision."""
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
        """Return the time with which each feature of a target may start, if those before it take what is expected."""
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
        """Return the time in nanoseconds with which a feature may start."""
        alone, summed = self._guards(done, features, models)
        least: Floats = np.minimum(self.at_cells(alone), self.at_cells(summed))
        return least

    def _guards(
        self, done: int | NDArray[np.int64], features: NDArray[np.intp], models: Floats
    ) -> tuple[Floats, Floats]:
        """Return two bounds on what a feature and a model after it take: by the tails of each, or of sums."""
        singles = self._singles[features]
        guarded, worst = self._times.guarded, self._times.worst
        alone = guarded.of_sets(singles, done) + 0.5 * np.array(guarded.dispatch.weights)
        summed = worst.of_sets(singles, done) + self._rest_of_dispatch(worst)
        alone[:, 0] += models * guarded.model_ratio
        summed[:, 0] += models
        return alone, summed

    def _targets(self, state: State) -> NDArray[np.intp]:
        """Return the models worth going on for, best first."""
        masks, accuracies = self._answers.masks, self._answers.accuracies
        better = ((masks & state.mask) == state.mask) & (accuracies > state.model.accuracy)
        numbers = np.flatnonzero(better)
        return numbers[np.lexsort((np.bitwise_count(masks[numbers]), -accuracies[numbers]))]

    def _ranked(self, state: State) -> tuple[Floats, Floats]:
        """Return in which order features are computed, highest first, and the seconds for a model after each.

        That with the largest gain of what can be answered for its time; where none gains yet, the cheapest.
        """
        seconds = self._times.planned.of_sets(self._singles, state.mask) @ self._typical + 1e-12
        rank = np.full(len(self._singles), -np.inf)
        models = np.zeros(len(self._singles))
        for f in range(len(self._singles)):
            if not state.mask >> f & 1:
                number = self._answers.best_number(state.mask | 1 << f)
                gain = 0.0 if number is None else self._answers.accuracies[number] - state.model.accuracy
                models[f] = 0.0 if number is None else self._seconds[number]
                rank[f] = gain / seconds[f] if gain > 0.0 else -seconds[f]
        return rank, models

    def _has_room(self, done: int, following: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell whether the state after each feature is there or may be made."""
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
            accuracy = float(self._answers.accuracies[number])
            moves.append(self.move(feature, self._states[done], accuracy, mask))
        return moves
