"""The greatest loss of score from one index to another, over all sizes and deadlines."""

import math
from collections.abc import Iterator
from itertools import combinations, pairwise

from polydom_builder.index.crossings import crossings
from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.costs import CostFunction
from polydom_runtime.policy.deadline import ROUNDING

Index = PolyDomIndex | GreedyIndex


def greatest_loss(
    before: Index, after: Index, sizes: tuple[float, float], deadlines: tuple[float, float]
) -> tuple[float, float]:
    """Return the deadline and the size within two ranges at which the score of the answer falls most.

    The answers of both change only where the cost of a candidate of one of them equals the deadline. These curves
    divide all sizes and deadlines into cells, and an answer at the lower edge of a cell is that of the whole cell. So
    it is enough to ask on each curve, once between any two neighbouring crossings with other curves: that is exact,
    except for cells that are thinner than `ROUNDING`. O(k²) crossings for k candidates, and as many answers.

    >>> from polydom_runtime.bundles.index import Candidate, Interval
    >>> empty, mean = Candidate(0, (), 0.5, CostFunction.of()), Candidate(1, ("mean",), 0.9, CostFunction.of(linear=2))
    >>> slow = mean._replace(cost=CostFunction.of(linear=3))
    >>> old, new = (PolyDomIndex([empty, one], [Interval(1, 0, 9)], (0, 9)) for one in (mean, slow))
    >>> deadline, size = greatest_loss(old, new, (1, 9), (1, 5))
    >>> 2 * size <= deadline < 3 * size
    True
    """

    def loss(query: tuple[float, float]) -> float:
        deadline, size = query
        return before.best(size, deadline).accuracy - after.best(size, deadline).accuracy

    curves = [*dict.fromkeys(c.cost for index in (before, after) for c in index.candidates)]
    curves += [CostFunction.of(d) for index in (before, after) for d in _changes(index)]
    return max(_queries(curves, sizes, deadlines), key=loss)


def _changes(index: Index) -> Iterator[float]:
    """Yield the deadlines at which a greedy index takes another sequence, and some that change nothing."""
    if isinstance(index, GreedyIndex):
        yield from {candidate.cost(index.size) for candidate in index.candidates}


def _queries(
    curves: list[CostFunction], sizes: tuple[float, float], deadlines: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """Yield a deadline and a size of each cell between curves; the corners of the ranges come first."""
    shortest, longest = deadlines
    curves = [*curves, *(CostFunction.of(d) for d in deadlines if 0.0 < d < math.inf)]
    yield from ((d, size) for d in deadlines if 0.0 < d < math.inf for size in sizes)
    cuts: list[list[float]] = [[*sizes] for _ in curves]
    for (a, f), (b, g) in combinations(enumerate(curves), 2):
        found = crossings(f, g, *sizes)
        cuts[a] += found
        cuts[b] += found
    for curve, cut in zip(curves, map(sorted, cuts), strict=True):
        for size in (*sizes, *(0.5 * (low + high) for low, high in pairwise(cut))):
            if shortest <= (edge := curve(size)) <= longest:
                yield min(edge * (1.0 + ROUNDING), longest), size  # costs of the same units may round differently
