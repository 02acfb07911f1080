"""The any-time policy: it plans again after each feature, with the time that is really left.

The target is the best set that contains the computed features and fits the time left. So time that features leave
unused goes into a better set. A feature that overruns makes the node drop the rest of its target; the deadline itself
is missed no more often than promised.

All decisions are made when the bundle is loaded. From a state, each target has a *threshold* in each size cell: the
least time left with which the node may work towards it. Three times must fit, so the threshold is the longest of them:

- the plan: the planned times of the target's missing features, of waking if they are the first ones, of a run of its
  model, and of the end of the answer;
- the guard of the first missing feature, with the slower of two models after it: the target's, and the one that can
  answer if this feature is the last: the best one, or of several estimators the quickest of their best ones;
- for each later feature, the planned times of those before it and then its guard. Otherwise the node would work
  towards a target whose last feature may never start.

The guard of a feature is a time that the feature, a model after it and the end of the answer rarely exceed together.
There are two bounds for it. The first adds up guarded times, each from the tail of a single unit. It is high if units
have long tails. The second adds up worst cases, which hold for the tail of the sum: moderate times of the units, and an
allowance added once for pauses. It is high for a short feature, since the allowance is made for whole answers. Each
bound is enough by itself, so the smaller one decides.

The features of a target are computed in the order of their gain of score per second of planned time, the highest first.
So the answer is a good one even if the time ends early. Features without a gain come last, the quickest first.
"""

import math
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats, Masks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import basis_terms
from polydom_runtime.features import FeatureSpace

from .loaded_models import LoadedModels
from .planners import Planner
from .states import Options, State, decisions

MAX_STATES, MAX_WORK = 512, 400_000
"""Limits of the states, and of states times models. At a limit, moves to new states are left out: with them, the tables
would take a minute or more to make."""

AT_ONCE = 300
"""States times models that are weighed at once, in one slice of work. More would save calls of numpy, which take
microseconds, but need more memory, which a small device lacks, and more slack in a loop."""

BLOCK = 1 << 20
"""The most times of features at the ends of cells that are held at once, where one state has very many models."""


class Pairs(NamedTuple):
    """Pairs of a state and a target, one state after the other, and the best target first: a row for each pair."""

    at: NDArray[np.intp]
    """The place of the state."""
    numbers: NDArray[np.intp]
    """The model of the target."""
    following: NDArray[np.intp]
    """The feature that comes next on the way to the target."""
    after: Masks
    """The state that it leads to."""
    thresholds: Floats
    """Shape (n_pairs, n_cells + 1). The least nanoseconds left with which the node may work towards the target."""
    plan: Floats
    guard: Floats
    """`plan`, `guard`: shape (n_pairs, 6). Weights, as in `Options`."""

    def part(self, chosen: Bools) -> "Pairs":
        """Return the chosen pairs."""
        columns: list[Any] = [column[chosen] for column in self]
        return Pairs(*columns)


class AnytimePlanner(Planner):
    """Makes every state that moves lead to, with a decision table over all targets that contain it."""

    def __init__(self, bundle: Bundle, space: FeatureSpace, models: LoadedModels, *plan: Any) -> None:
        super().__init__(bundle, space, models, *plan)
        self._singles = np.array([1 << f for f in range(len(space))], dtype=np.int64)
        self._seconds = np.array([model.seconds for model in bundle.models])
        self._states: dict[int, State] = {}
        typical = math.sqrt(max(bundle.promise.sizes[0], 1.0) * max(bundle.promise.sizes[1], 1.0))
        self._typical = basis_terms(typical)

    def slices(self) -> Generator[None, None, State]:
        """Lay out the state without features; O(states · models · cells) in all."""
        waiting = yield from self._make([0])
        at_once = max(AT_ONCE // max(len(self._seconds), 1), 1)
        while waiting:
            yield
            waiting = waiting[at_once:] + (yield from self._lay_out(waiting[:at_once]))
        return self._states[0]

    def _make(self, masks: Sequence[int]) -> Generator[None, None, list[State]]:
        yield from self.loading(masks)
        states = self.new_states(masks)
        self._states.update(zip(masks, states, strict=True))
        return states

    def _lay_out(self, states: Sequence[State]) -> Generator[None, None, list[State]]:
        """Give states their decision tables; return the new states that these lead to."""
        at, numbers = self._targets(states)
        if not len(at):
            return []
        pairs = self._weighed(states, at, numbers)
        new = yield from self._make(self._to_make(pairs.after.tolist()))
        pairs = pairs.part(np.array([mask in self._states for mask in pairs.after.tolist()], dtype=bool))
        masks, accuracies = self._models.masks[pairs.numbers], self._models.accuracies[pairs.numbers]
        columns = (column.tolist() for column in (pairs.following, pairs.after, accuracies, masks))
        moves = [self.move(f, self._states[after], score, mask) for f, after, score, mask in zip(*columns, strict=True)]
        joules = self.joules(masks)
        stops = np.searchsorted(pairs.at, np.arange(len(states) + 1)).tolist()
        for state, here in zip(states, map(slice, stops, stops[1:]), strict=True):
            if own := moves[here]:
                energy = None if joules is None else joules[here]
                options = Options(masks[here], pairs.plan[here], pairs.guard[here], own, energy, self.most_joules)
                scores, least = accuracies[here], pairs.thresholds[here]
                if len(state.answers) > 1:
                    from .quicker import with_answers  # only here, since most bundles have one estimator

                    weights = self._to_answer(state)
                    ready = self.at_cells(weights)
                    scores, least, options = with_answers(state, scores, least, options, weights, ready)
                state.rows = decisions(state, least, options.moves, scores, self._budget_ns)
                state.options = options
        return new

    def _to_answer(self, state: State) -> Floats:
        """Return weights of the time to answer by each model of a state, without the last."""
        weights = np.tile(self.rest.weights, (len(state.answers) - 1, 1))
        weights[:, 0] += [1e-9 * model.model_ns for model, _ in state.answers[:-1]]
        return weights

    def _weighed(self, states: Sequence[State], at: NDArray[np.intp], numbers: NDArray[np.intp]) -> Pairs:
        """Return the pairs of a state and a target that fit the budget in some cell."""
        done = np.array([state.mask for state in states], dtype=np.int64)
        rank, models = self._ranked(states, done)
        step = max(BLOCK // (len(self._singles) * (len(self.cells) + 1)), 1)
        blocks = [slice(k, k + step) for k in range(0, len(at), step)]
        parts = [self._weighed_block(done, rank, models, at[block], numbers[block]) for block in blocks]
        return parts[0] if len(parts) == 1 else Pairs(*map(np.concatenate, zip(*parts, strict=True)))

    def _weighed_block(
        self, done: Masks, rank: Floats, models: Floats, at: NDArray[np.intp], numbers: NDArray[np.intp]
    ) -> Pairs:
        before, masks, seconds = done[at], self._models.masks[numbers], self._seconds[numbers]
        plan = self._plan(before, masks, seconds)
        wanted = ((masks & ~before)[:, None] & self._singles) != 0
        following = np.where(wanted, rank[at], -np.inf).argmax(axis=1)
        alone, summed = self._guards(before, following, np.maximum(models[at, following], seconds))
        thresholds = np.maximum(self.at_cells(plan), self._least(alone, summed))
        thresholds = np.maximum(thresholds, self._guarded(before, masks, seconds, wanted, rank[at]))
        thresholds = np.where(self.affordable(masks), thresholds, math.inf)
        after = before | self._singles[following]
        pairs = Pairs(at, numbers, following, after, thresholds, plan, summed)
        return pairs.part(np.any(thresholds <= self._budget_ns, axis=1))

    def _to_make(self, after: Sequence[int]) -> list[int]:
        """Return the states that moves lead to and that do not exist yet, up to the limits."""
        room = max(min(MAX_STATES, MAX_WORK // len(self._seconds)) - len(self._states), 0)
        return [mask for mask in dict.fromkeys(after) if mask not in self._states][:room]

    def _in_time(self, sets: Masks, numbers: NDArray[np.intp]) -> Bools:
        plans = [self.at_cells(self._plan(sets, sets, self._seconds[column])) for column in numbers.T]
        in_time: Bools = np.stack([(times <= self._budget_ns).any(axis=1) for times in plans], axis=1)
        return in_time

    def _plan(self, done: Masks, masks: Masks, seconds: Floats) -> Floats:
        """Return weights of the time that the rest of each target is planned to take, shape ``(n_pairs, 6)``.

        It is the sum of planned times, or the worst case if that is shorter in some cell: with a high planning quantile
        the sum may be the longer one, as if all units were slow in the same answer.
        """
        times = self._times
        planned: Floats = times.planned.of_sets(masks, done) + np.array(times.planned.after.weights)
        planned[:, 0] += seconds * times.planned.model_ratio
        worst: Floats = times.worst.of_sets(masks, done) + np.array(times.worst.after.weights)
        worst[:, 0] += seconds
        shorter = np.all(self.at_cells(planned)[:, :-1] <= self.at_cells(worst)[:, :-1], axis=1)
        return np.where(shorter[:, None], planned, worst)

    def _guarded(self, done: Masks, masks: Masks, seconds: Floats, wanted: Bools, rank: Floats) -> Floats:
        """Return the least time left with which every missing feature of a target may start, in nanoseconds.

        Those before it take their planned times, or their worst case if that is less. `done`, `masks`, `seconds` (shape
        (n_pairs,)): the state, the target and the worst case of its model. `wanted`, `rank` (shape (n_pairs,
        n_features)): the features that the target lacks; those with the highest rank are computed first.
        """
        order = np.argsort(-rank, axis=1, kind="stable")
        missing = np.where(wanted[np.arange(len(order))[:, None], order], self._singles[order], 0)
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
        """Return weights of two bounds of the time of a feature, a model after it and the end of the answer.

        The sum of guarded times of single units, and the worst case of the sum: the smaller one is enough.
        """
        singles = self._singles[features]
        guarded, worst = self._times.guarded, self._times.worst
        alone = guarded.of_sets(singles, done) + np.array(guarded.after.weights)
        summed = worst.of_sets(singles, done) + np.array(worst.after.weights)
        alone[:, 0] += models * guarded.model_ratio
        summed[:, 0] += models
        return alone, summed

    def _targets(self, states: Sequence[State]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which models of larger sets score higher than a state's quickest one, best first: places, numbers."""
        best = self._models.best_first
        masks, accuracies = self._models.masks[best], self._models.accuracies[best]
        done = np.array([[state.mask] for state in states], dtype=np.int64)
        answers = np.array([[state.answers[-1][0].accuracy] for state in states])
        at, places = np.nonzero(((masks & done) == done) & (masks != done) & (accuracies > answers))
        return at, best[places]

    def _ranked(self, states: Sequence[State], done: Masks) -> tuple[Floats, Floats]:
        """Return the rank of each missing feature, the highest first, and the seconds of the quickest model after it.

        The rank is the gain of score that the feature brings by itself, divided by its planned time. A feature without
        a gain ranks below all that have one; among these, the quickest is first. Both have the shape ``(n_states,
        n_features)``.
        """
        after = done[:, None] | self._singles
        answers = self._models.answers(after.ravel())
        numbers, exists = answers[:, 0].reshape(after.shape), (answers[:, 0] >= 0).reshape(after.shape)
        seconds_after = np.where(answers >= 0, self._seconds[answers], np.inf).min(axis=1).reshape(after.shape)
        scores = np.array([[state.model.accuracy] for state in states])
        gains = np.where(exists, self._models.accuracies[numbers] - scores, 0.0)
        pairs = np.broadcast_to(self._singles, after.shape).ravel(), np.repeat(done, len(self._singles))
        seconds = (self._times.planned.of_sets(*pairs) @ self._typical + 1e-12).reshape(after.shape)
        rank = np.where(gains > 0.0, gains / seconds, -seconds)
        return np.where(after == done[:, None], -np.inf, rank), np.where(exists, seconds_after, 0.0)
