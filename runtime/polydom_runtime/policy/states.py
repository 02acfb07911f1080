"""The states of an item in work, and the decision table of each state: which feature comes next with the time left.

A state is the set of features computed so far. Its table has one row for each size cell: the times left at which the
decision changes, and the moves between them. A decision is one binary search over a few numbers, however much was
weighed when the table was made.
"""

import math
from bisect import bisect_right
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.costs import HUGE, basis_terms
from polydom_runtime.stages import Stage

from .loaded_models import LoadedModel


@dataclass(slots=True, eq=False)
class Move:
    """One decision: compute a feature, on the way to a target.

    A class with slots, since its fields are read before each feature: to unpack a named tuple takes twice as long.
    """

    stage: Stage
    """Computes the feature."""
    after: "State"
    """The state with this feature."""
    feature: int
    """The position of the feature."""
    accuracy: float
    """The expected score of the target."""
    target: int
    """The target as a bit mask."""


Row = tuple[float, float, Move | None, tuple[float, ...], tuple[Move | None, ...]]
"""All times in nanoseconds: the worst case of the way here; the least time left with which the best target fits; the
move to it; and for when less is left, rising times left, and one move more than there are times, the first of them
None: to answer now.

It is all that a decision looks at, and mostly the first three are enough. They are in a tuple, which holds its items
itself: a feature may have emptied the caches of the processor, and then each further object is a wait for memory."""


class Entries(NamedTuple):
    """When each move is made, for all cells one after the other."""

    stops: NDArray[np.intp]
    """Shape (n_cells + 1,). Where the entries of each cell begin, and where those of the last one end."""
    ends: Floats
    chosen: NDArray[np.intp]
    """`ends`, `chosen`: shape (n_entries,). The least nanoseconds left with which a move is made, rising in each cell,
    and the position of that move in `moves`."""
    moves: Sequence[Move | None]
    """The moves; None stands for an answer."""


class DecisionTable(dict[int, Row]):
    """The decision table of a state: a row for each size cell, made when it is first asked for.

    Most rows never are, and to make them all takes longer than everything else that is laid out. `worst_ns` (shape
    (n_cells,)): the worst case of the way to the state. Without `entries`, the decision is to answer.
    """

    __slots__ = ("barred", "entries", "worst_ns")

    def __init__(self, worst_ns: Floats, entries: Entries | None = None) -> None:
        self.worst_ns, self.entries = worst_ns, entries
        self.barred: Container[int] = ()

    def bar(self, targets: Container[int]) -> None:
        """Make the rows again, without moves to some targets: their bit masks."""
        self.barred = targets
        self.clear()

    def __missing__(self, cell: int) -> Row:
        """Make a row and keep it."""
        ends: list[float] = []
        moves: list[Move | None] = [None]
        if self.entries is not None:
            stops, every_end, chosen, targets = self.entries
            begin, end = stops.item(cell), stops.item(cell + 1)
            pairs = zip(every_end[begin:end].tolist(), chosen[begin:end].tolist(), strict=True)
            for least, k in pairs:
                if (move := targets[k]) is None or move.target not in self.barred:
                    ends.append(least)
                    moves.append(move)
        enough = ends[-1] if ends else -math.inf
        row = self[cell] = self.worst_ns.item(cell), enough, moves[-1], tuple(ends), tuple(moves)
        return row


class Options(NamedTuple):
    """All moves from a state, most accurate target first; searched only while features are banned.

    Among them may be answers by slow models of the state, which are None.
    """

    masks: NDArray[np.int64]
    """Shape (n_options,). Target sets."""
    plan: Floats
    guard: Floats
    """`plan`, `guard`: shape (n_options, 6). Weights of cost functions, in seconds, for the rest of each target, and
    for its next feature."""
    moves: Sequence[Move | None]
    joules: Floats | None = None
    """Shape (n_options, 6). Weights of the energy of each whole target."""
    most_joules: float = math.inf
    """The energy that an item may use."""

    def best(self, banned: int, n: float, left_ns: float) -> Move | None:
        """Return the move to the best target that fits at size n and has no banned feature; O(options)."""
        terms = basis_terms(min(n, HUGE))  # the cube of a larger one is no float
        fits = np.maximum(self.plan @ terms, self.guard @ terms) * 1e9 <= left_ns
        if self.joules is not None:
            fits &= self.joules @ terms <= self.most_joules
        fitting = np.flatnonzero(fits & ((self.masks & banned) == 0))
        return self.moves[int(fitting[0])] if len(fitting) else None


@dataclass(slots=True, eq=False)
class State:
    """The features computed so far, and the decisions from there."""

    mask: int
    """The features as a bit mask."""
    model: LoadedModel
    """The best model over these features."""
    rows: DecisionTable = field(repr=False)  # through moves and what comes after them it would never end
    """The last row is for items larger than all cells."""
    typical_ns: list[float] = field(repr=False)
    """The typical time of an item that is answered here, in nanoseconds, for each size cell."""
    options: Options | None = field(default=None, repr=False)
    """All moves, for items with banned features; the strict policy has them at the root only."""
    answers: tuple[tuple[LoadedModel, int], ...] = field(default=(), repr=False)
    """The best model, then of several estimators those that are worse and quicker than all before them; and by how many
    nanoseconds each is typically quicker than the first."""

    def least_ns(self, accuracy: float = -math.inf) -> int:
        """Return the worst case of the quickest of its models with at least some accuracy, in nanoseconds."""
        return min(model.model_ns for model, _ in self.answers if model.accuracy >= accuracy)

    @property
    def ways(self) -> list[Move]:
        """All moves from here, one for each state that they lead to."""
        moves = [move for part in (self.rows.entries, self.options) if part is not None for move in part.moves]
        return list({id(move.after): move for move in moves if move is not None}.values())

    def next_of(self, target: int, cell: int) -> int:
        """Return the position of the feature that a target needs next."""
        if self.options is not None and len(known := np.flatnonzero(self.options.masks == target)):
            first = self.options.moves[int(known[0])]
            if first is not None:
                return first.feature
        last = self.rows[cell][2]
        rest = target & ~self.mask
        if last is not None and (rest >> last.feature & 1 or not rest):
            return last.feature
        return (rest & -rest).bit_length() - 1

    def detour(self, banned: int, n: float, cell: int, left_ns: float) -> Move | None:
        """Return the next move at size `n` while some features are banned, by a bit mask; None to answer now."""
        if self.options is not None:
            return self.options.best(banned, n, left_ns)
        *_, ends, moves = self.rows[cell]
        move = moves[bisect_right(ends, left_ns)]
        return None if move is None or banned >> move.feature & 1 else move


def decisions(
    state: State, thresholds: Floats, moves: Sequence[Move | None], scores: Floats, most_ns: float
) -> DecisionTable:
    """Return the decision table of a state: for each time left, the move to the most accurate target that fits.

    `thresholds` (shape (n_options, n_cells)): the least time left in nanoseconds at which each option fits. `moves`,
    `scores`: options by falling score of their targets. `most_ns`: the budget: there is never more time left.
    """
    least, chosen = thresholds, None
    if (scores[1:] == scores[:-1]).any():
        least, chosen = _cheapest_of_equals(thresholds, scores)
    useful = least <= most_ns
    useful[1:] &= least[1:] < np.minimum.accumulate(least[:-1], axis=0)
    cells, places = useful.T[:, ::-1].nonzero()  # by cell, then by rising accuracy
    places = len(least) - 1 - places
    stops = cells.searchsorted(np.arange(least.shape[1] + 1))
    which = places if chosen is None else chosen[places, cells]
    return DecisionTable(state.rows.worst_ns, Entries(stops, least[places, cells], which, moves))


def _cheapest_of_equals(thresholds: Floats, accuracies: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the least threshold among options of one accuracy, by falling accuracy, and which option has it."""
    starts = np.flatnonzero(np.concatenate([[True], accuracies[1:] != accuracies[:-1]]))
    chosen = np.repeat(starts[:, None], thresholds.shape[1], axis=1)
    for group, (start, stop) in enumerate(pairwise([*starts.tolist(), len(accuracies)])):
        if stop - start > 1:
            chosen[group] += thresholds[start:stop].argmin(axis=0)
    return thresholds[chosen, np.arange(thresholds.shape[1])], chosen


def reachable(root: State) -> list[State]:
    """Return a state and all states that moves lead to from it."""
    found, waiting = {id(root): root}, [root]
    while waiting:
        for move in waiting.pop().ways:
            if id(move.after) not in found:
                found[id(move.after)] = move.after
                waiting.append(move.after)
    return list(found.values())
