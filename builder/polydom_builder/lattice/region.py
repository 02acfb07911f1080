"""The query region Q = sizes x budgets that a bundle must answer, and how far each cost reaches in it."""

import math
from dataclasses import dataclass

import numpy as np

from polydom_builder.exceptions import RegionError
from polydom_runtime.arrays import Bools, Floats

NEWTON_ROUNDS = 12
BLOCK = 1 << 15


@dataclass(frozen=True, slots=True)
class QueryRegion:
    """All (n, c) that may be asked for.

    The paper's problems are its shapes: Prob-General is a rectangle, Prob-n0-Fixed has equal sizes,
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
        """The middle of the range on the log scale."""
        return math.expm1(0.5 * (math.log1p(self.sizes[0]) + math.log1p(self.sizes[1])))

    def reach(self, weights: Floats, budget: float) -> Floats:
        """Return the largest size in the region at which each cost fits `budget`, shape ``(n_sets,)``.

        -inf where it fits nowhere. Exact to rounding, since costs rise with the size: the cost at the answer is at
        most `budget`, at the next larger number it is more.
        """
        result = np.empty(len(weights))
        for start in range(0, len(weights), BLOCK):
            block = slice(start, start + BLOCK)
            result[block] = _reach(np.ascontiguousarray(weights[block].T), budget, self.sizes)
        return result


def evaluate(weights: Floats, sizes: Floats) -> Floats:
    """Return cost i at size i."""
    return _cost(weights.T, sizes)


def _cost(terms: Floats, n: Floats) -> Floats:
    """Return the costs from weights of shape ``(6, n_sets)``: the same sum in the same order as a CostFunction."""
    constant, log, linear, nlogn, square, cube = terms
    ln = np.log1p(n)
    result: Floats = constant + log * ln + linear * n + nlogn * (n * ln) + square * (n * n) + cube * (n * n * n)
    return result


def _slope(terms: Floats, n: Floats) -> Floats:
    _, log, linear, nlogn, square, cube = terms
    result: Floats = (log + nlogn * n) / (1.0 + n) + linear + nlogn * np.log1p(n) + (2.0 * square + 3.0 * cube * n) * n
    return result


def _reach(terms: Floats, budget: float, sizes: tuple[float, float]) -> Floats:
    """Solve cost <= budget by Newton steps kept inside a shrinking bracket low < n* < high."""
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
        # Bisection must end it: where the curve is flat to rounding, Newton's steps are zero.
        x = np.where((low < x) & (x < high), x, middle) if (rounds := rounds + 1) < NEWTON_ROUNDS else middle
        result[rows] = low
        live = (low < x) & (x < high)
        rows, terms, low, high, x = rows[live], terms[:, live], low[live], high[live], x[live]
    return result


def _newton(terms: Floats, x: Floats, missing: Floats, upwards: Bools) -> Floats:
    """Return Newton's next points, nudged past the root towards the wider side so that the bracket closes there too."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = x + missing / _slope(terms, x)
        result: Floats = x + np.where(upwards, 4.0, -4.0) * np.spacing(np.abs(x))
    return result
