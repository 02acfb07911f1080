"""The paper's Greedy on the node: a sequence of features, computed one after the other as far as the budget allows.

The bundle holds several sequences. Their costs at the median size decide which of them is used for a budget.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from polydom_runtime.exceptions import BundleFormatError

from .index import Candidate


@dataclass(frozen=True, slots=True)
class Walk:
    """One sequence of candidates at one fixed deadline. The answer for an item is the longest prefix that fits.

    Examples
    --------
    >>> from polydom_runtime.costs import CostFunction
    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(linear=1))
    >>> both = Candidate(3, ("mean", "spectrum"), 0.9, CostFunction.of(linear=4))
    >>> walk = Walk((empty, mean, both), deadline=100)
    >>> [walk.best(n).features for n in (25, 26, 100, 101)]
    [('mean', 'spectrum'), ('mean',), ('mean',), ()]
    """

    sequence: tuple[Candidate, ...]
    """The first is the empty set; each later one has one feature more than the one before."""
    deadline: float
    """The deadline in the unit of the costs."""

    def best(self, n: float) -> Candidate:
        """Return the longest prefix whose cost at size `n` fits the deadline; the empty set if none does.

        O(F).
        """
        return next((c for c in reversed(self.sequence) if c.cost(n) <= self.deadline), self.sequence[0])

    @property
    def steps(self) -> tuple[tuple[float, Candidate], ...]:
        """A single step in the form of `Staircase.steps`: the last candidate is the aim at every size."""
        return ((math.inf, self.sequence[-1]),)


class GreedyIndex:
    """The sequences of Greedy, and the skyline at the median size, which chooses among them.

    The best candidate that fits the budget at the median size names the sequence. For the item itself, which may be
    smaller or larger, features are added in the order of that sequence until the budget is spent. Nothing promises
    that the set is the best that fits: for small and for large items another sequence may be better.

    `sequences`: each is ``[empty, {f1}, {f1, f2}, ...]``; the names of a candidate are in the order of the sequence. If
    several sequences share a candidate, it names the first of them. `size`: the median size, for which the sequences
    were made; not negative.

    `candidates`: the different candidates, in the order of the sequences.

    Raises `BundleFormatError` if there is no sequence, one does not start with the empty set or does not add one
    feature at a time, or the size is negative or not finite.

    Examples
    --------
    >>> from polydom_runtime.costs import CostFunction
    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(linear=1))
    >>> spectrum = Candidate(2, ("spectrum",), 0.8, CostFunction.of(linear=3))
    >>> cheap = [empty, mean, Candidate(3, ("mean", "spectrum"), 0.9, CostFunction.of(linear=4))]
    >>> accurate = [empty, spectrum, Candidate(3, ("spectrum", "mean"), 0.9, CostFunction.of(linear=4))]
    >>> index = GreedyIndex([accurate, cheap], size=10)

    At size 10, only ``mean`` fits a budget of 20, so the cheap sequence is used. ``spectrum`` fits a budget of 30, so
    the accurate sequence is used, even for an item that is too large for it:

    >>> [index.best(n, budget=20).features for n in (5, 10, 20, 21)]
    [('mean', 'spectrum'), ('mean',), ('mean',), ()]
    >>> [index.best(n, budget=30).features for n in (5, 10, 20)]
    [('spectrum', 'mean'), ('spectrum',), ()]
    """

    def __init__(self, sequences: Sequence[Sequence[Candidate]], size: float) -> None:
        """Sort the skyline; O(k log k) for k candidates."""
        _check_sequences(sequences, size)
        self.size = size
        self.sequences = tuple(tuple(sequence) for sequence in sequences)
        self.candidates = tuple(dict.fromkeys(c for sequence in self.sequences for c in sequence))
        self._costs, self._chosen = self._skyline()

    def best(self, n: float, budget: float) -> Candidate:
        """Return the longest prefix of the budget's sequence that fits at size `n`; the empty set if none does.

        O(log k + F).
        """
        return self.at_deadline(budget).best(n)

    def at_deadline(self, c0: float) -> Walk:
        """Return the sequence for one deadline, which is the same at every size; O(log k)."""
        return Walk(self.sequences[self._chosen[bisect_right(self._costs, c0)]], c0)

    def _skyline(self) -> tuple[list[float], list[int]]:
        """Return the rising costs of the skyline at the median size, and one sequence number more than there are costs.

        Sequence k + 1 is used from cost k on. Sequence 0 is used below the first cost, where only the empty set fits at
        the median size: it is the one with the cheapest first feature, which may still fit a smaller item.
        """
        started = [(s[1].cost(self.size), k) for k, s in enumerate(self.sequences) if len(s) > 1]
        costs: list[float] = []
        chosen = [min(started, default=(0.0, 0))[1]]
        best = -math.inf
        entries = [(c.cost(self.size), -c.accuracy, k) for k, s in enumerate(self.sequences) for c in s[1:]]
        for cost, negated, k in sorted(entries):
            if -negated > best:
                best = -negated
                costs.append(cost)
                chosen.append(k)
        return costs, chosen


def _check_sequences(sequences: Sequence[Sequence[Candidate]], size: float) -> None:
    if not 0.0 <= size < math.inf:
        raise BundleFormatError(f"The median size must be finite and >= 0. Got {size}. Build the index again.")
    if not sequences:
        raise BundleFormatError("A greedy index must have at least one sequence of candidates. Got none.")
    for number, sequence in enumerate(sequences):
        starts = len(sequence) > 0 and sequence[0].mask == 0
        if not starts or not all(_adds_one_feature(a, b) for a, b in pairwise(sequence)):
            raise BundleFormatError(
                "A sequence must start with the empty set and add one feature at a time, its names in that order. Got "
                f"{[c.features for c in sequence]} as sequence {number}. Order the names as the features are added."
            )


def _adds_one_feature(before: Candidate, after: Candidate) -> bool:
    return (
        before.mask & after.mask == before.mask
        and (before.mask ^ after.mask).bit_count() == 1
        and len(after.features) == len(before.features) + 1
        and after.features[:-1] == before.features
    )
