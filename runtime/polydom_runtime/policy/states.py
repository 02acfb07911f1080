"""The states of an answer under way, and the decision table of each: by the time left, which feature comes next.

A state is the set of features computed so far. Its table has one row for each cell of item sizes: times left at which
the decision changes, and the moves between them. A decision is then one binary search over a few numbers, whatever was
weighed when the table was made.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.costs import HUGE, basis_terms

from .loaded_models import LoadedModel


@dataclass(slots=True, eq=False)
class Move:
    """One decision: compute a feature, on the way to a target.

    A class with slots, since its fields are read before each feature: to unpack a named tuple takes twice as long.

    Parameters
    ----------
    run : callable
        ``run(item, shared)`` computes the feature, and its step if that is due.
    after : State
    feature : int
        Its position.
    accuracy : float
        Of the target.
    target : int
        The target as a bit mask.
    """

    run: Callable[[Any, list[Any]], None]
    after: "State"
    feature: int
    accuracy: float
    target: int


Row = tuple[list[float], list[Move | None]]
"""Rising times left in nanoseconds, and one move more than there are times: the first is to answer now."""

ANSWER: Row = ([], [None])


@dataclass(frozen=True, slots=True)
class Options:
    """All ways on from a state, by falling accuracy of their targets: for when a feature cannot be had.

    Parameters
    ----------
    masks : int array of shape (n_options,)
        Target sets.
    plan, guard : float arrays of shape (n_options, 6)
        Weights of the seconds that the rest of the target is expected to take, and that the next feature may take.
    moves : list of Move
    joules : float array of shape (n_options, 6), optional
        Weights of the energy of the whole targets.
    most_joules : float
    """

    masks: NDArray[np.int64]
    plan: Floats
    guard: Floats
    moves: Sequence[Move]
    joules: Floats | None = None
    most_joules: float = math.inf

    def best(self, banned: int, n: float, left_ns: float) -> Move | None:
        """Return the move to the best target without the banned features that fits; O(options)."""
        terms = basis_terms(min(n, HUGE))  # the cube of a larger one is no float
        fits = np.maximum(self.plan @ terms, self.guard @ terms) * 1e9 <= left_ns
        if self.joules is not None:
            fits &= self.joules @ terms <= self.most_joules
        fitting = np.flatnonzero(fits & ((self.masks & banned) == 0))
        return self.moves[int(fitting[0])] if len(fitting) else None


@dataclass(slots=True, eq=False)
class State:
    """Some features are computed.

    Parameters
    ----------
    mask : int
    model : LoadedModel
        The best one now.
    rows : list of Row
        The decision table, a row for each cell; the last is for items larger than all cells.
    worst_ns, typical_ns : list of float
        For each cell, what it may have taken to come here, and what an item that ends here takes as a rule.
    options : Options, optional
    """

    mask: int
    model: LoadedModel
    rows: list[Row] = field(repr=False)  # through moves and what comes after them it would never end
    worst_ns: list[float] = field(repr=False)
    typical_ns: list[float] = field(repr=False)
    options: Options | None = field(default=None, repr=False)

    @property
    def ways(self) -> list[Move]:
        """All moves from here, each state after them once."""
        moves = [move for _, row in self.rows for move in row if move is not None]
        moves += self.options.moves if self.options is not None else ()
        return list({id(move.after): move for move in moves}.values())

    def next_of(self, target: int, cell: int) -> int:
        """Return the position of the feature that a target needs next."""
        if self.options is not None and len(known := np.flatnonzero(self.options.masks == target)):
            return self.options.moves[int(known[0])].feature
        last = self.rows[cell][1][-1]
        rest = target & ~self.mask
        if last is not None and (rest >> last.feature & 1 or not rest):
            return last.feature
        return (rest & -rest).bit_length() - 1

    def detour(self, banned: int, n: float, cell: int, left_ns: float) -> Move | None:
        """Return the move when some features cannot be had."""
        if self.options is not None:
            return self.options.best(banned, n, left_ns)
        ends, moves = self.rows[cell]
        move = moves[bisect_right(ends, left_ns)]
        return None if move is None or banned >> move.feature & 1 else move


def decision_rows(thresholds: Floats, moves: Sequence[Move], most_ns: float) -> list[Row]:
    """Return the decision table: for each time left the most accurate target that fits.

    Parameters
    ----------
    thresholds : float array of shape (n_options, n_cells)
        The least time left in nanoseconds at which each option fits.
    moves : sequence of Move
        By falling accuracy of their targets.
    most_ns : float
        No more time is ever left.
    """
    least, chosen = _cheapest_of_equals(thresholds, moves)
    better = np.minimum.accumulate(np.vstack([np.full(least.shape[1], np.inf), least]), axis=0)[:-1]
    useful = (least < better) & (least <= most_ns)
    cells, places = np.nonzero(useful.T[:, ::-1])  # by cell, then by rising accuracy
    places = len(least) - 1 - places
    ends: list[float] = least[places, cells].tolist()
    taken = [moves[k] for k in chosen[places, cells].tolist()]
    stops = np.searchsorted(cells, np.arange(least.shape[1] + 1)).tolist()
    return [(ends[a:b], [None, *taken[a:b]]) if a < b else ANSWER for a, b in pairwise(stops)]


def _cheapest_of_equals(thresholds: Floats, moves: Sequence[Move]) -> tuple[Floats, NDArray[np.intp]]:
    """Return the least threshold among options of one accuracy, by falling accuracy, and which option has it."""
    accuracies = np.array([move.accuracy for move in moves])
    starts = np.flatnonzero(np.diff(accuracies, prepend=np.inf))
    chosen = np.broadcast_to(starts[:, None], (len(starts), thresholds.shape[1])).copy()
    stops = np.append(starts[1:], len(accuracies))
    for group in np.flatnonzero(stops - starts > 1).tolist():
        chosen[group] += thresholds[starts[group] : stops[group]].argmin(axis=0)
    return np.take_along_axis(thresholds, chosen, axis=0), chosen


def reachable(root: State) -> list[State]:
    """Return a state and all that moves lead to from it."""
    found, waiting = {id(root): root}, [root]
    while waiting:
        for move in waiting.pop().ways:
            if id(move.after) not in found:
                found[id(move.after)] = move.after
                waiting.append(move.after)
    return list(found.values())
