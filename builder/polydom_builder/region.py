"""The query region Q = sizes x budgets that a bundle must answer, and the relation *covers* over it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.costs import basis_terms

from .exceptions import RegionError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GRID_CELLS = 32
NEWTON_ROUNDS = 12
_BLOCK = 1 << 15


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
        for start in range(0, len(weights), _BLOCK):
            block = slice(start, start + _BLOCK)
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


class Costs:
    """Costs of many sets over a region, prepared for *covers*; one row a set.

    R covers S when R fits wherever S fits: for every n of the region with c(S, n) <= c_hi,
    c(R, n) <= max(c(S, n), c_lo). The relation is transitive, and R ⊂ S implies it.

    Parameters
    ----------
    weights : array of shape (n_sets, 6)
    region : QueryRegion
    """

    def __init__(self, weights: Floats, region: QueryRegion) -> None:
        low, high = region.budgets
        self.region = region
        self.weights = weights
        self.far = region.reach(weights, high)
        self.near = self.far if low == high else region.reach(weights, low)

    def take(self, rows: Bools | NDArray[np.intp]) -> "Costs":
        """Return the costs of some of the sets."""
        part = object.__new__(Costs)
        part.region, part.weights = self.region, self.weights[rows]
        part.far, part.near = self.far[rows], self.near[rows]
        return part

    def covered_by(self, other: "Costs", row: int) -> Bools:
        """Return which of these sets the set in `row` of `other` covers, shape ``(n_sets,)``.

        Never claimed falsely. With one fixed budget it is exact: n*(R) >= n*(S). Otherwise the difference
        D = c(S) - c(R) is bounded from below on each cell of a grid by its values at the ends and its greatest
        curvature, D >= min(D(a), D(b)) - (b - a)² / 8 · max D''; a near tie may be missed, which costs a training.
        """
        covered: Bools = self.far <= other.near[row]  # also every set that never fits
        if self.region.budgets[0] == self.region.budgets[1]:
            return covered
        nodes = _grid(self.region.sizes)
        nodes = nodes[max(int(np.searchsorted(nodes, other.near[row], side="right")) - 1, 0) :]
        rest = np.flatnonzero(~covered)
        # Most sets that are not covered fail at one of three nodes: spare them the dear part.
        rest = rest[self._hopeful(rest, other, row, nodes[[0, len(nodes) // 2, -1]])]
        for start in range(0, len(rest), _BLOCK // 8):
            block = rest[start : start + _BLOCK // 8]
            difference = self.weights[block] - other.weights[row]
            covered[block] = (difference >= 0.0).all(axis=1)
            block = block[~covered[block]]
            block = block[self._hopeful(block, other, row, nodes)]
            covered[block] = self._provably(block, other, row, nodes)
        return covered

    def _hopeful(self, rows: NDArray[np.intp], other: "Costs", row: int, nodes: Floats) -> Bools:
        """Return which sets are not seen to be cheaper at a node where they fit."""
        terms = basis_terms(nodes).T
        # Two products of different shape may round differently; a near tie is left to the exact tests.
        cheaper = self.weights[rows] @ terms < (other.weights[row] @ terms) * (1.0 - 1e-12)
        matters = (nodes <= self.far[rows][:, None]) & (nodes > other.near[row])
        result: Bools = ~(cheaper & matters).any(axis=1)
        return result

    def _provably(self, rows: NDArray[np.intp], other: "Costs", row: int, nodes: Floats) -> Bools:
        """Return for which sets D >= 0 on every cell where they fit."""
        difference, terms = self.weights[rows] - other.weights[row], basis_terms(nodes)
        ends = difference @ terms.T
        a, b = nodes[:-1], nodes[1:]
        steepest, flattest = _curvature(a, b)
        bend = np.maximum(difference, 0.0) @ steepest.T + np.minimum(difference, 0.0) @ flattest.T
        bound = np.minimum(ends[:, :-1], ends[:, 1:]) - (b - a) ** 2 / 8.0 * np.maximum(bend, 0.0)
        margin = 1e-12 * (terms[1:] @ other.weights[row])  # far above the rounding of D
        result: Bools = ((bound >= margin) | (a >= self.far[rows][:, None])).all(axis=1)
        return result


def _grid(sizes: tuple[float, float]) -> Floats:
    low, high = sizes
    if low == high:
        return np.array([low, high])
    nodes = np.expm1(np.linspace(math.log1p(low), math.log1p(high), GRID_CELLS + 1))
    nodes[0], nodes[-1] = low, high
    return nodes


def _curvature(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the greatest and the least second derivative of each growth term on the cells [a, b]."""
    zero, two = np.zeros_like(a), np.full_like(a, 2.0)
    p, q = 1.0 / (1.0 + a), 1.0 / (1.0 + b)
    greatest = np.stack([zero, -q * q, zero, p + p * p, two, 6.0 * b], axis=-1)
    least = np.stack([zero, -p * p, zero, q + q * q, two, 6.0 * a], axis=-1)
    return greatest, least
