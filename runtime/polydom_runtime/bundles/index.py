"""The Poly-Dom index (any size, any budget) and the staircase (any size, one deadline)."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, NamedTuple

from polydom_runtime.codec.marks import In, Unsound
from polydom_runtime.costs import CostFunction, format_seconds


class Candidate(NamedTuple):
    """A feature set with a trained model, its score and its cost.

    Parameters
    ----------
    mask : int
        The feature set as a bit mask.
    features : tuple of str
        Its names, in the order in which they are computed.
    accuracy : float
        a(S): expected score of its model.
    cost : CostFunction
        c(S, n): worst-case cost, model and dispatch included.
    estimator : str
        The name of the estimator of its model, if there are several.
    """

    mask: int
    features: tuple[str, ...]
    accuracy: float
    cost: CostFunction
    estimator: str = ""


class Interval(NamedTuple):
    """Candidate number `candidate` is on the skyline for the sizes start < n <= end."""

    candidate: Annotated[int, In(0, 1 << 20)]
    start: Annotated[float, In(0.0, math.inf)]
    end: Annotated[float, In(0.0, math.inf)]

    def _check(self) -> None:
        if self.start > self.end:
            raise Unsound("not end before it starts", (self.start, self.end))


class Staircase:
    """The best candidate for every size at one fixed deadline (Prob-c0-Fixed).

    Costs never fall when n grows, so each candidate fits up to a largest size n*. The candidates are visited from the
    largest n* to the smallest, and one is kept if it scores higher than all before it. The few that are kept are the
    steps: the larger the item, the cheaper its candidate, down to the empty set.

    Examples
    --------
    >>> empty = Candidate(0, (), 0.5, CostFunction.of(1))
    >>> cheap = Candidate(1, ("mean",), 0.7, CostFunction.of(1, linear=1))
    >>> rich = Candidate(3, ("mean", "spectrum"), 0.9, CostFunction.of(2, linear=5))
    >>> stairs = Staircase([empty, cheap, rich], deadline=100)
    >>> [stairs.best(n).accuracy for n in (10, 19.6, 50, 1000)]
    [0.9, 0.9, 0.7, 0.5]
    """

    __slots__ = ("_ends", "_steps", "deadline")

    def __init__(self, candidates: Iterable[Candidate], deadline: float) -> None:
        """Build the steps; O(k log k). `candidates` must hold the empty set, whose answer is always ready."""
        reaches = sorted(
            ((c.cost.largest_size(deadline), c) for c in candidates),
            key=lambda pair: (-pair[0], -pair[1].accuracy, pair[1].mask.bit_count(), pair[1].mask),
        )
        steps = [next(c for _, c in reaches if c.mask == 0)]
        ends: list[float] = []
        for reach, candidate in reaches:
            if candidate.accuracy > steps[-1].accuracy and reach > -math.inf:
                steps.append(candidate)
                ends.append(reach)
        if ends and ends[0] == math.inf:  # a candidate fits every size, so the empty set is never needed
            del ends[0], steps[0]
        self.deadline = deadline
        self._ends, self._steps = ends[::-1], steps[::-1]

    def __repr__(self) -> str:
        return f"<Staircase of {len(self._steps)} steps at a deadline of {format_seconds(self.deadline)}>"

    def best(self, n: float) -> Candidate:
        """Return the most accurate candidate that fits the deadline at size `n`; O(log steps)."""
        return self._steps[bisect_left(self._ends, n)]

    @property
    def steps(self) -> tuple[tuple[float, Candidate], ...]:
        """The steps as (last size at which it is chosen, candidate), the last with size inf."""
        return tuple(zip((*self._ends, math.inf), self._steps, strict=True))

    def _check(self) -> None:
        """Assert the invariants: sizes rise, accuracy falls, and every step fits at its end."""
        assert all(a < b for a, b in pairwise(self._ends))
        assert all(a.accuracy > b.accuracy for a, b in pairwise(self._steps))
        for end, candidate in self.steps[:-1]:
            assert end == math.inf or candidate.cost(end) <= self.deadline


class PolyDomIndex:
    """The best candidate for every size and every budget (Prob-General).

    The paper's two-dimensional sorted array. Its ranges of n lie between the sizes at which the skyline changes. Each
    range has a row: its skyline by rising cost, which is also by rising accuracy. All rows together may hold
    ranges x candidates numbers. So they are made only when `best` or `ranges` is first used; a node with one deadline
    needs only the staircase.

    Parameters
    ----------
    candidates : sequence of Candidate
        Must hold the empty set, which answers when nothing else fits.
    intervals : sequence of Interval
        The ranges of sizes in which each candidate is on the skyline.
    sizes : (float, float)
        The range of sizes that the index was built for. An interval that starts at its lower end includes it.

    Examples
    --------
    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(8, linear=1))
    >>> spectrum = Candidate(2, ("spectrum",), 0.9, CostFunction.of(linear=3))
    >>> index = PolyDomIndex([empty, mean, spectrum], [Interval(1, 4, 10), Interval(2, 0, 10)], sizes=(0, 10))
    >>> [(end, [c.mask for c in row]) for end, row in index.ranges]
    [(4, [2]), (10, [1, 2])]
    >>> [index.best(n, budget=16).accuracy for n in (3, 5, 6, 9)]
    [0.9, 0.9, 0.7, 0.5]
    """

    def __init__(
        self, candidates: Sequence[Candidate], intervals: Sequence[Interval], sizes: tuple[float, float]
    ) -> None:
        self.candidates = tuple(candidates)
        self.intervals = tuple(intervals)
        self.sizes = sizes
        self.empty = next(c for c in self.candidates if c.mask == 0)

    def __repr__(self) -> str:
        smallest, largest = self.sizes
        return f"<PolyDomIndex of {len(self.candidates)} candidates for sizes {smallest:g} to {largest:g}>"

    @cached_property
    def _rows(self) -> tuple[list[float], list[Sequence[int] | None]]:
        """The ends of the ranges and, for each, its candidates by rising accuracy; None below and above all sizes."""
        smallest, largest = self.sizes
        starts = {i.start for i in self.intervals if i.start > smallest}
        inside = sorted(n for n in {i.end for i in self.intervals} | starts | {largest} if smallest <= n <= largest)
        ends = [math.nextafter(smallest, -math.inf), *inside]
        rows = [array("I") for _ in ends]
        for interval in sorted(self.intervals, key=lambda i: self.candidates[i.candidate].accuracy):
            first = bisect_left(ends, interval.start) + 1 if interval.start > smallest else 1
            for row in rows[first : bisect_left(ends, interval.end) + 1]:
                row.append(interval.candidate)
        return ends, [None, *rows[1:], None]

    @cached_property
    def _weights(self) -> list[tuple[float, ...]]:
        return [c.cost.weights for c in self.candidates]

    @cached_property
    def _by_accuracy(self) -> list[Candidate]:
        return sorted((c for c in self.candidates if c.accuracy > self.empty.accuracy), key=lambda c: -c.accuracy)

    def best(self, n: float, budget: float) -> Candidate:
        """Return the most accurate candidate whose cost at size `n` fits `budget`; the empty set if none does.

        O(log ranges + log skyline). For a size outside the range, all candidates are compared by their extrapolated
        costs; O(candidates).
        """
        ends, rows = self._rows
        row = rows[bisect_left(ends, n)]
        if row is None:
            return next((c for c in self._by_accuracy if c.cost(n) <= budget), self.empty)
        # CostFunction.__call__ written out, since its calls would double the time; in its order, to round as it does.
        weights = self._weights
        ln = math.log1p(n)
        nlogn, square, cube = n * ln, n * n, n * n * n
        low, high = 0, len(row)
        while low < high:
            middle = (low + high) >> 1
            constant, log, linear, w_nlogn, w_square, w_cube = weights[row[middle]]
            if constant + log * ln + linear * n + w_nlogn * nlogn + w_square * square + w_cube * cube <= budget:
                low = middle + 1
            else:
                high = middle
        return self.candidates[row[low - 1]] if low else self.empty

    def at_deadline(self, c0: float) -> Staircase:
        """Return the staircase for one deadline; O(k log k)."""
        return Staircase(self.candidates, c0)

    @property
    def ranges(self) -> tuple[tuple[float, tuple[Candidate, ...]], ...]:
        """The index as (last size of the range, its skyline by rising cost)."""
        ends, rows = self._rows
        return tuple(
            (end, tuple(self.candidates[number] for number in row))
            for end, row in zip(ends, rows, strict=False)
            if row is not None
        )

    def _check(self) -> None:
        """Assert the invariants: ends rise; in each row accuracy rises and, inside the row's range, cost rises too."""
        assert all(a < b for a, b in pairwise(self._rows[0]))
        start = self.sizes[0]
        for end, row in self.ranges:
            middle = 0.5 * (start + end)
            for a, b in pairwise(row):
                assert a.accuracy < b.accuracy
                assert a.cost(middle) <= b.cost(middle) * (1 + 1e-9)
            start = end
