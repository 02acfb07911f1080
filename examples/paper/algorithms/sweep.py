"""The paper's PolyDomIntersections: a sweep over the crossings of neighbours, the reference for the envelope."""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from heapq import heappop, heappush
from itertools import groupby

from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, Interval, PolyDomIndex
from polydom_runtime.costs import CostFunction

from .pairs import Pairs, Range
from .scan import ranked


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of a sweep over all sizes, for all budgets."""

    candidates: tuple[Candidate, ...]
    """By rising accuracy, the empty set first; candidates that are not better than it are excluded."""
    ranges: tuple[tuple[Range, ...], ...]
    """For each candidate the sizes start < n <= end at which it is on the skyline."""
    n_crossings: int
    """Number of crossings that the sweep passed."""
    interesting: tuple[float, ...]
    """Sizes of the crossings at which the skyline changes, by rising size."""


def sweep_index(candidates: Sequence[Candidate], region: QueryRegion) -> PolyDomIndex:
    """Return the index that `build_index` returns, found by the paper's algorithm.

    The ends of the intervals are equal up to the rounding of the costs: where several curves meet at one size, each
    pair meets at a slightly different float, so that an interval a few floats wide may be found by only one of the two.

    `candidates`: must hold the empty set.

    O((k + x) log k) time and O(k + x) memory for k candidates with x crossings, up to 5·k·(k - 1)/2 of them.

    Examples
    --------
    At size 0 the costs are: spectrum 0, mean 8, both together 20. From 4 on the spectrum costs more than the mean, so
    the mean enters the skyline. From 10 on the spectrum costs more than both together, so it is dominated:

    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(8, linear=1))
    >>> spectrum = Candidate(2, ("spectrum",), 0.9, CostFunction.of(linear=3))
    >>> everything = Candidate(3, ("mean", "spectrum"), 0.95, CostFunction.of(20, linear=1))
    >>> index = sweep_index([everything, mean, spectrum, empty], QueryRegion(sizes=(0, 12)))
    >>> [(index.candidates[i.candidate].features, round(i.start), round(i.end)) for i in index.intervals]
    [((), 0, 12), (('mean',), 4, 12), (('spectrum',), 0, 10), (('mean', 'spectrum'), 0, 12)]
    """
    sweep = intersections(candidates, region)
    intervals = _answering_parts(sweep, region)
    kept = sorted({0} | {interval.candidate for interval in intervals})
    renumbered = [Interval(bisect_left(kept, i.candidate), i.start, i.end) for i in intervals]
    return PolyDomIndex([sweep.candidates[i] for i in kept], renumbered, region.sizes)


def intersections(candidates: Sequence[Candidate], region: QueryRegion) -> Sweep:
    """Sweep over the sizes of the region and return where the skyline changes: the paper's PolyDomIntersections.

    The paper's Theorem says which crossings change the skyline, with one error: a curve that gets cheaper than one on
    the skyline enters the skyline itself unless a curve below it is more accurate than *it*, not than the other one.

    O((k + x) log k) for k candidates and x crossings; each pair of curves is solved once.

    Examples
    --------
    The mean, the slope and the spectrum meet at 2, where the spectrum, the best, becomes the cheapest. Two of the three
    swaps change the skyline: the mean leaves it when it swaps with the slope, and the slope when it swaps with the
    spectrum.

    >>> rows = [(0, 0.5, 3, 0), (1, 0.7, 2, 4), (2, 0.8, 4, 3), (4, 0.9, 6, 2)]
    >>> curves = [Candidate(m, (), a, CostFunction.of(constant, linear=slope)) for m, a, constant, slope in rows]
    >>> sweep = intersections(curves, QueryRegion(sizes=(1, 9)))
    >>> sweep.n_crossings, [round(n, 2) for n in sweep.interesting]
    (3, [2.0, 2.0])
    """
    curves = ranked(candidates)[::-1]
    neighbours = Neighbours([c.cost for c in curves], region.sizes)
    skyline = Skyline([c.accuracy for c in curves], neighbours.curves, region.sizes[0])
    n_crossings, interesting = 0, []
    for n, lower, upper in neighbours.swaps():
        n_crossings += 1
        if skyline.swap(n, lower, upper):
            interesting.append(n)
    return Sweep(tuple(curves), skyline.ranges(region.sizes[1]), n_crossings, tuple(interesting))


class Neighbours:
    """Curves in the order of their costs just above a size, which the sweep raises; better curves have higher numbers.

    A queue holds the next size at which any two neighbours have to swap. Curves that are equal or only touch keep their
    order, the better one first. Each swap exchanges one pair only. So there is one swap for each crossing of a pair,
    even where many curves meet, or where rounding puts the crossings of three curves into an impossible order.
    """

    def __init__(self, costs: Sequence[CostFunction], sizes: Range) -> None:
        self._pairs, self._count, self._size = Pairs(costs, sizes), len(costs), sizes[0]
        self._switches: dict[int, tuple[float, ...]] = {}
        self.curves = sorted(range(len(costs)), key=cmp_to_key(self._compare))
        self._places = sorted(range(len(costs)), key=self.curves.__getitem__)
        self._queue: list[tuple[float, int, int]] = []
        for place in range(len(costs) - 1):
            self._push(place)

    def swaps(self) -> Iterator[tuple[float, int, int]]:
        """Swap neighbours by rising size; yield (size, the curve that was lower, the curve that was upper)."""
        places, curves = self._places, self.curves
        while self._queue:
            size, lower, upper = heappop(self._queue)
            place = places[lower]
            if places[upper] != place + 1:
                continue  # no longer neighbours; pushed again if they become neighbours again
            self._size = size
            curves[place], curves[place + 1] = upper, lower
            places[upper], places[lower] = place, place + 1
            for near in (place - 1, place, place + 1):
                self._push(near)
            yield size, lower, upper

    def _push(self, place: int) -> None:
        """Queue the next swap of the curves at this place and the one above it, if there is one."""
        if 0 <= place < len(self.curves) - 1:
            lower, upper = self.curves[place], self.curves[place + 1]
            size = self._next_swap(lower, upper)
            if size < math.inf:
                heappush(self._queue, (size, lower, upper))

    def _next_swap(self, lower: int, upper: int) -> float:
        """Return the next size, the present one included, after which `upper` is below `lower`; inf without one."""
        found = self._switches_of(lower, upper)
        passed = bisect_right(found, self._size)
        if (passed % 2 == 1) != (lower < upper):
            return self._size
        return found[passed] if passed < len(found) else math.inf

    def _compare(self, a: int, b: int) -> int:
        """Return -1 if curve `a` is below curve `b` at the smallest size, else 1."""
        return -1 if self._next_swap(a, b) > self._size else 1

    def _switches_of(self, a: int, b: int) -> tuple[float, ...]:
        worse, better = (a, b) if a < b else (b, a)
        key = worse * self._count + better
        found = self._switches.get(key)
        if found is None:
            found = self._switches[key] = self._pairs.switches(worse, better)
        return found


class Skyline:
    """The curves that have no better or equally good curve below them, updated at each swap of neighbours."""

    def __init__(self, accuracies: Sequence[float], curves: Sequence[int], size: float) -> None:
        """Walk through the curves by rising cost; they are numbered by rising accuracy."""
        self._accuracies = accuracies
        self._since: dict[int, float] = {}
        self._ranges: list[list[Range]] = [[] for _ in accuracies]
        self._members: list[int] = []
        for curve in curves:
            if not self._members or accuracies[curve] > accuracies[self._members[-1]]:
                self._enter(curve, size)

    def swap(self, size: float, lower: int, upper: int) -> bool:
        """Swap `upper`, the next curve above, with `lower`; return whether that changes the skyline; O(skyline).

        A swap can only make `lower` leave the skyline or `upper` enter it, or both.
        """
        if lower not in self._since:
            return False
        if upper in self._since:  # it is more accurate than `lower`, or it would not be there
            self._leave(lower, size)
            return True
        place, accuracy = bisect_left(self._members, lower), self._accuracies[upper]
        if place and self._accuracies[self._members[place - 1]] >= accuracy:
            return False
        if self._accuracies[lower] == accuracy:
            self._leave(lower, size)
        self._enter(upper, size)
        return True

    def ranges(self, size: float) -> tuple[tuple[Range, ...], ...]:
        """Return the ranges of sizes in which each curve was on the skyline, for a sweep that ends at `size`."""
        last = {curve: (start, size) for curve, start in self._since.items()}
        return tuple((*before, last[i]) if i in last else tuple(before) for i, before in enumerate(self._ranges))

    def _enter(self, curve: int, size: float) -> None:
        insort(self._members, curve)
        self._since[curve] = size

    def _leave(self, curve: int, size: float) -> None:
        self._members.remove(curve)
        start = self._since.pop(curve)
        if start < size:
            self._ranges[curve].append((start, size))


def _answering_parts(sweep: Sweep, region: QueryRegion) -> list[Interval]:
    """Return the parts of the ranges in which a candidate is the answer for some budget of the region.

    There the candidate fits the greatest budget, and no better one fits the least budget.
    """
    least, most = region.budgets
    answered = -math.inf  # up to this size a better candidate fits even the least budget
    found = []
    numbered = reversed(list(enumerate(sweep.candidates)))
    for _, group in groupby(numbered, key=lambda pair: pair[1].accuracy):
        reaches = []
        for number, candidate in group:
            for start, end in sweep.ranges[number]:
                if candidate.cost(start) > most:
                    continue
                last = end if candidate.cost(end) <= most else candidate.cost.largest_size(most)
                first = max(start, answered)
                if first < last or answered < last == region.sizes[0]:
                    found.append(Interval(number, first, last))
            reaches.append(candidate.cost.largest_size(least))
        answered = max(answered, *reaches)
    return sorted(found, key=lambda i: (i.candidate, i.start))
