"""The query region Q, sizes x budgets, that a bundle must answer; and the largest size in it that fits a budget."""

import math
from dataclasses import dataclass

import numpy as np

from polydom_builder.exceptions import RegionError
from polydom_runtime.arrays import Bools, Floats

NEWTON_ROUNDS = 12
"""Steps by Newton's method before bisection takes over."""

BLOCK_OF_SETS = 1 << 15
"""Number of sets that are computed at a time, to limit the memory."""


@dataclass(frozen=True, slots=True)
class QueryRegion:
    """All queries (n, c), item size and budget, that may occur.

    The paper's problems differ in the shape of the region: Prob-General is a rectangle, Prob-n0-Fixed has equal sizes,
    Prob-c0-Fixed has equal budgets.

    Parameters
    ----------
    sizes : (float, float)
        Smallest and largest item size, 0 <= lo <= hi < inf.
    budgets : (float, float)
        Smallest and largest budget, in the unit of the costs, 0 <= lo <= hi; any budget if not given.

    Raises
    ------
    RegionError
        If a range is reversed, negative or not finite where it must be.
    """

    sizes: tuple[float, float]
    budgets: tuple[float, float] = (0.0, math.inf)

    def __post_init__(self) -> None:
        low, high = self.sizes
        if not 0.0 <= low <= high < math.inf:
            raise RegionError(f"The size range must satisfy 0 <= low <= high < inf. Got {self.sizes}.")
        low, high = self.budgets
        if not (0.0 <= low <= high and high > 0.0):
            raise RegionError(f"The budget range must satisfy 0 <= low <= high and high > 0. Got {self.budgets}.")

    @property
    def typical_size(self) -> float:
        """The middle of the size range on the scale of log(1 + n)."""
        return math.expm1(0.5 * (math.log1p(self.sizes[0]) + math.log1p(self.sizes[1])))

    def reach(self, weights: Floats, budget: float) -> Floats:
        """Return the largest size at which each cost fits `budget`, shape ``(n_sets,)``; -inf if none fits. O(n_sets).

        Costs rise with the size, so the result is exact: at the next larger float the cost exceeds the budget.
        """
        result = np.empty(len(weights))
        for start in range(0, len(weights), BLOCK_OF_SETS):
            block = slice(start, start + BLOCK_OF_SETS)
            result[block] = _reach(np.ascontiguousarray(weights[block].T), budget, self.sizes)
        return result


def costs_at_sizes(weights: Floats, sizes: Floats) -> Floats:
    """Return the cost of set i at size i, shape ``(n_sets,)``, from weights of shape ``(n_sets, 6)``; O(n_sets)."""
    return _cost(weights.T, sizes)


def _cost(terms: Floats, n: Floats) -> Floats:
    """Return the costs from weights (6, n_sets), summed in the order of CostFunction, so both give the same floats."""
    constant, log, linear, nlogn, square, cube = terms
    ln = np.log1p(n)
    result: Floats = constant + log * ln + linear * n + nlogn * (n * ln) + square * (n * n) + cube * (n * n * n)
    return result


def _slope(terms: Floats, n: Floats) -> Floats:
    _, log, linear, nlogn, square, cube = terms
    result: Floats = (log + nlogn * n) / (1.0 + n) + linear + nlogn * np.log1p(n) + (2.0 * square + 3.0 * cube * n) * n
    return result


def _reach(terms: Floats, budget: float, sizes: tuple[float, float]) -> Floats:
    """Solve cost = budget by Newton's method inside a shrinking bracket low <= n* < high, where low always fits."""
    near, far = (_cost(terms, np.full(terms.shape[1], n)) for n in sizes)
    result = np.where(near > budget, -np.inf, sizes[1])
    rows = np.flatnonzero((near <= budget) & (far > budget))
    terms, low, high = terms[:, rows], np.full(rows.size, sizes[0]), np.full(rows.size, sizes[1])
    x, rounds = 0.5 * (low + high), 0
    while rows.size:
        cost = _cost(terms, x)
        fits = cost <= budget
        low, high = np.where(fits, x, low), np.where(fits, high, x)
        x, middle = _newton(terms, x, budget - cost, high - x > x - low), 0.5 * (low + high)
        # Where the curve is flat up to rounding, Newton's steps are zero; bisection always ends.
        x = np.where((low < x) & (x < high), x, middle) if (rounds := rounds + 1) < NEWTON_ROUNDS else middle
        result[rows] = low
        live = (low < x) & (x < high)
        rows, terms, low, high, x = rows[live], terms[:, live], low[live], high[live], x[live]
    return result


def _newton(terms: Floats, x: Floats, missing: Floats, upwards: Bools) -> Floats:
    """Return the next points of Newton's method, moved past the root a little: else one end of a bracket would stay."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = x + missing / _slope(terms, x)
        result: Floats = x + np.where(upwards, 4.0, -4.0) * np.spacing(np.abs(x))
    return result
