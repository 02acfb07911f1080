"""What each feature is worth, by the index alone: plans without it, and plans in which it takes half its time."""

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from polydom_builder.sets.expected_queries import ExpectedQueries
from polydom_runtime.arrays import Floats, Masks
from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction

from .index_view import IndexView

Change = Callable[[Candidate], Candidate | None]


class Worth(NamedTuple):
    """The worth of a feature, or of a shared step, as a mean over item sizes and deadlines."""

    name: str
    lost: float | None
    """The fall of the planned score without it; None for a step, which is no choice."""
    gained: float
    """The rise of the planned score if it takes half its time."""
    used: float
    """The share of sizes and deadlines at which the set that answers needs it."""


def worths(view: IndexView) -> list[Worth]:
    """Return the worth of each feature and each shared step, the one that gains most first.

    Scores are of the set that the index names, a mean over the sizes and deadlines of `IndexView.queries`. Sets without
    a model are not considered: with a quicker feature, a new search may find more. O(units · candidates · queries).
    """
    queries = view.queries
    now, masks = _answers(view, queries, lambda candidate: candidate)
    rows = []
    for name, users, cost in _units(view):
        is_step = name not in view.names
        lost = None if is_step else now.mean() - _answers(view, queries, _without(users))[0].mean()
        gained = _answers(view, queries, _quicker(users, cost))[0].mean() - now.mean()
        used = float(((masks & users) != 0).mean())
        rows.append(Worth(name, None if lost is None else float(lost), float(gained), used))
    return sorted(rows, key=lambda worth: (-worth.gained, -(worth.lost or 0.0), worth.name))


def _units(view: IndexView) -> list[tuple[str, int, CostFunction]]:
    """Return the name, the mask of the features that need it, and the cost of each feature and step."""
    features = [(name, 1 << i, view.worst.features[i]) for i, name in enumerate(view.names)]
    return [*features, *((step.name, step.users, step.cost) for step in view.worst.steps)]


def _without(bit: int) -> Change:
    return lambda candidate: None if candidate.mask & bit else candidate


def _quicker(users: int, cost: CostFunction) -> Change:
    def change(candidate: Candidate) -> Candidate:
        if not candidate.mask & users:
            return candidate
        pairs = zip(candidate.cost.weights, cost.weights, strict=True)
        a, b, c, d, e, f = (max(whole - 0.5 * part, 0.0) for whole, part in pairs)
        return candidate._replace(cost=CostFunction((a, b, c, d, e, f)))

    return change


def _answers(view: IndexView, queries: ExpectedQueries, change: Change) -> tuple[Floats, Masks]:
    """Return the score and the mask of the set that answers each query, if candidates are changed or left out."""
    if isinstance(view.index, GreedyIndex):
        sequences = [[*takewhile(bool, map(change, sequence))] for sequence in view.index.sequences]
        walks = map(
            GreedyIndex([[c for c in s if c] for s in sequences], view.index.size).at_deadline, queries.deadlines
        )
        found = [walk.best(n) for walk in walks for n in queries.sizes]
        return np.array([c.accuracy for c in found]), np.array([c.mask for c in found], dtype=np.int64)
    kept = [c for c in map(change, view.candidates) if c is not None]
    scores = queries.worth(kept, view.prior)
    best = scores.argmax(axis=0)
    masks = np.array([c.mask for c in kept], dtype=np.int64)[best]
    top = scores.max(axis=0)
    return top, np.where(top > view.prior, masks, 0)
