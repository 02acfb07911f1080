"""The strict policy: it plans once, by worst cases, as the paper does."""

import math
from collections.abc import Generator, Sequence
from itertools import accumulate

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import ZERO, CostFunction, total

from .planners import Planner
from .states import DecisionTable, Entries, Move, Options, State, decisions


class StrictPlanner(Planner):
    """Chooses a set once, before the first feature, by its worst case, and computes it in the order of the bundle.

    Before each feature its worst case, and that of the model after it, must fit the time left. If they do not, the
    best model over the computed features answers. With a greedy bundle there is no choice of a set: the features of
    the sequence are computed, one after the other, as long as the next one fits.
    """

    def slices(self) -> Generator[None, None, State]:
        """Lay out the state without features; O(candidates · features) in all."""
        (root,) = self.new_states([0])
        walked = self._bundle.is_greedy
        candidates = [self._staircase.steps[-1][1]] if walked else self._bundle.index.candidates
        better = (c for c in candidates if c.mask and (walked or c.accuracy > self._models.prior.accuracy))
        wanted = sorted(better, key=lambda c: -c.accuracy)
        costs = np.array([self._remaining(c) for c in wanted]).reshape(-1, 6)
        paid = self.affordable(np.array([self._first(c) if walked else c.mask for c in wanted], dtype=np.int64))
        thresholds = np.where(paid, self.at_cells(costs), math.inf)
        fitting = np.flatnonzero((thresholds <= self._budget_ns).any(axis=1) | walked)
        if not len(fitting):
            return root
        yield from self.loading([mask for k in fitting for mask in self._prefixes(wanted[k])])
        chains = [self._chain(root, wanted[k]) for k in fitting]
        moves, guards = [move for move, _ in chains], np.array([guard.weights for _, guard in chains])
        plan = guards if walked else costs[fitting]
        least = np.where(paid[fitting], np.maximum(self.at_cells(plan), self.at_cells(guards)), math.inf)
        scores = np.array([move.accuracy for move in moves])
        root.rows = decisions(root, least, moves, scores, self._budget_ns)
        masks = np.array([wanted[k].mask for k in fitting], dtype=np.int64)
        root.options = Options(masks, plan, guards, moves, self.joules(masks), self.most_joules)
        return root

    def _prefixes(self, candidate: Candidate) -> list[int]:
        """Return the sets on the way to a candidate, from the empty one on."""
        return [*accumulate((1 << self._space.names.index(name) for name in candidate.features), initial=0)]

    def _remaining(self, candidate: Candidate) -> Floats:
        """Return the cost of a set without the time that is spent before the choice."""
        rest: Floats = np.array(candidate.cost.weights) - np.array(self._times.worst.before.weights)
        return np.maximum(rest, 0.0)

    def _chain(self, root: State, candidate: Candidate) -> tuple[Move, CostFunction]:
        """Return the first move of a set and its guard: worst cases of the feature, the model after it and the end.

        Each state after it gets one move, to the next feature, with its own guard as the threshold.
        """
        order = [self._space.names.index(name) for name in candidate.features]
        masks = self._prefixes(candidate)
        states = [root, *self.new_states(masks[1:])]
        before, moves, guards = self._times.worst.dispatch, [], []
        for k, feature in enumerate(order):
            cost = self._stage_cost(order, k, before, masks[k])
            before += cost
            least = candidate.accuracy if k + 1 == len(order) else -math.inf
            model = CostFunction.of(states[k + 1].least_ns(least) * 1e-9)
            guards.append(cost + model + self._times.worst.after)
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
        """Return the worst case that feature k of an order, with its steps, adds to that of the features before it.

        If the costs of sets are not sums, it is the difference of the costs of the sets with and without the feature.
        """
        bundle, feature = self._bundle, order[k]
        number = bundle.model_of_order.get(tuple(order[: k + 1]))
        entry = None if number is None else bundle.models[number]
        if entry is None or entry.cost is None:
            worst = self._times.worst
            due = total(s.cost for s in worst.steps if s.users >> feature & 1 and not s.users & done)
            return worst.features[feature] + due + (ZERO if done else worst.waking)
        model = CostFunction.of(entry.seconds).weights
        a, b, c, d, e, f = (
            max(w - m - p, 0.0) for w, m, p in zip(entry.cost.weights, model, before.weights, strict=True)
        )
        return CostFunction((a, b, c, d, e, f))
