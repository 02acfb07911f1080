"""Poly-Dom-Index-All: the paper's index with a range between any two crossings, even where the skyline stays."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter

from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate

from .pairs import Pairs, Range
from .scan import ranked

Event = tuple[float, int, int]
"""Size, candidate, change: after the size, the number of curves below it that are at least as good changes so."""

NARROW = 1e-12
"""Relative width of ranges that exist only by rounding.

In these, three curves may each seem to be below the next one in a circle, so counting would leave none on the skyline.
"""


class AllCrossingsIndex:
    """The best candidate for every size and every budget, with the skyline stored for each range between crossings.

    The crossings of each pair of candidates are computed. A candidate is on the skyline while no other one that is at
    least as good is below it; the number of these others changes by one at each crossing.

    `candidates`: must hold the empty set. Candidates that are not better than it are never the answer and are excluded.
    `region`: the index covers its sizes, for any budget.

    `n_ranges`: number of ranges of sizes. `n_entries`: number of entries of the two-dimensional array. Equal rows are
    stored once but counted for each range.

    O(k² + x log x) to build for k candidates with x crossings, of which there may be 5·k·(k - 1)/2.

    Examples
    --------
    The mean enters the skyline at 4, where it gets cheaper than the spectrum. The slope is dominated everywhere, but
    its crossings with the mean at 3 and the spectrum at 5 make ranges too:

    >>> from polydom_runtime.costs import CostFunction
    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> slope = Candidate(4, ("slope",), 0.6, CostFunction.of(5, linear=2))
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(8, linear=1))
    >>> spectrum = Candidate(2, ("spectrum",), 0.9, CostFunction.of(linear=3))
    >>> index = AllCrossingsIndex([slope, mean, spectrum, empty], QueryRegion(sizes=(0, 10)))
    >>> index.n_ranges, index.n_entries
    (4, 10)
    >>> [index.best(n, budget=16).accuracy for n in (3, 5, 6, 9)]
    [0.9, 0.9, 0.7, 0.5]
    """

    def __init__(self, candidates: Sequence[Candidate], region: QueryRegion) -> None:
        curves = ranked(candidates)[::-1]
        self._empty = curves[0]
        self._ends: list[float] = []
        self._rows: list[tuple[Candidate, ...]] = []
        dominators, row, start = [0] * len(curves), tuple(curves), region.sizes[0]
        events = groupby(sorted(_events(curves, region.sizes)), key=itemgetter(0))
        for size, changes in chain(events, [(region.sizes[1], ())]):
            if size > -math.inf:
                self._ends.append(size)
                self._rows.append(row if size - start > NARROW * size else _row(curves, size))
                start = size
            if _count(dominators, changes):
                row = tuple(c for c, count in zip(curves, dominators, strict=True) if count == 0)
        self.n_ranges = len(self._rows)
        self.n_entries = sum(map(len, self._rows))

    def best(self, n: float, budget: float) -> Candidate:
        """Return the most accurate candidate whose cost at size `n` fits `budget`; the empty set if none does.

        O(log ranges + log skyline). A size outside the range is answered from the nearest row.
        """
        row = self._rows[min(bisect_left(self._ends, n), len(self._rows) - 1)]
        fitting = bisect_right(row, budget, key=lambda c: c.cost(n))
        return row[fitting - 1] if fitting else self._empty


def _events(curves: Sequence[Candidate], sizes: Range) -> Iterator[Event]:
    """Yield the events of each pair of curves, numbered by rising accuracy; -inf as size stands for the beginning."""
    pairs = Pairs([c.cost for c in curves], sizes)
    for better, worse in ((b, w) for b in range(len(curves)) for w in range(b)):
        found = pairs.switches(worse, better)
        equal = curves[worse].accuracy == curves[better].accuracy
        if not found or found[0] > -math.inf:
            yield -math.inf, worse, 1
        for k, size in enumerate(found):
            gets_below = 1 if k % 2 == 0 else -1
            if size > -math.inf:
                yield size, worse, -gets_below
            if equal:
                yield size, better, gets_below


def _row(curves: Sequence[Candidate], size: float) -> tuple[Candidate, ...]:
    """Walk through the curves by rising cost at one size and keep those that are better than all before."""
    row: list[Candidate] = []
    for curve in sorted(reversed(curves), key=lambda c: c.cost(size)):
        if not row or curve.accuracy > row[-1].accuracy:
            row.append(curve)
    return tuple(row)


def _count(dominators: list[int], events: Iterable[Event]) -> bool:
    """Apply the events of one size to the numbers of dominators; return whether the skyline may have changed."""
    changed = False
    for _, curve, more in events:
        before = dominators[curve]
        dominators[curve] = before + more
        changed |= before == 0 or before + more == 0
    return changed
