"""The crossings of any two among many cost functions, over one range of sizes."""

import math
from collections.abc import Sequence

import numpy as np

from polydom_builder.index.crossings import order
from polydom_runtime.costs import CostFunction

Range = tuple[float, float]

CELLS = 32
"""Cells of the range of sizes, at whose ends all costs are evaluated once."""

ROUNDING = 1.0 + 1e-12
"""A factor far above the relative rounding error of a cost."""


class Pairs:
    """Cost functions with their values at a few sizes, which decide the order of two in most of the range.

    As costs rise, f is above g from size a to size b if f(a) > g(b). Crossings are computed only where this test does
    not decide.

    Examples
    --------
    >>> pairs = Pairs([CostFunction.of(6), CostFunction.of(1, linear=1)], (0, 9))
    >>> pairs.switches(0, 1), pairs.switches(1, 0)
    ((5.0,), (-inf, 4.999999999999999))
    """

    def __init__(self, costs: Sequence[CostFunction], sizes: Range) -> None:
        inside = np.expm1(np.linspace(math.log1p(sizes[0]), math.log1p(sizes[1]), CELLS + 1))[1:-1]
        self._costs = costs
        self._sizes = [sizes[0], *np.clip(inside, *sizes).tolist(), sizes[1]]
        self._values = [[cost(n) for n in self._sizes] for cost in costs]

    def switches(self, worse: int, better: int) -> tuple[float, ...]:
        """Return the sizes after which `worse` comes below `better`, ceases to be, comes below again, and so on.

        They rise and are all less than the largest size. The first is -inf if `worse` is below from the beginning.
        Where the two costs are equal, `worse` is not below. O(1).
        """
        first, last = self._unsettled(worse, better)
        if first == last:
            return (-math.inf,) if self._values[worse][0] < self._values[better][0] else ()
        parts = order(self._costs[worse], self._costs[better], self._sizes[first], self._sizes[last])
        ends = tuple(end for end, _ in parts[:-1] if end < self._sizes[-1])
        return (-math.inf, *ends) if parts[0][1] else ends

    def _unsettled(self, a: int, b: int) -> tuple[int, int]:
        """Return the numbers of the two sizes between which the order of `a` and `b` is open; equal if nowhere."""
        f, g = self._values[a], self._values[b]
        first, last = 0, CELLS
        while first < last and (f[first] > g[first + 1] * ROUNDING or g[first] > f[first + 1] * ROUNDING):
            first += 1
        while last > first and (f[last - 1] > g[last] * ROUNDING or g[last - 1] > f[last] * ROUNDING):
            last -= 1
        return first, last
