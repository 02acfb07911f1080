"""The relation *covers*: one feature set fits every query of the region that another one fits."""

import math

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.costs import basis_terms

from .region import BLOCK_OF_SETS, QueryRegion

GRID_CELLS = 32
"""Cells of the size range; on each of them the difference of two costs is bounded."""


class Costs:
    """Costs of many sets over a region, from weights of shape ``(n_sets, 6)``, prepared for tests of *covers*.

    R covers S when R fits wherever S fits: for every n of the region with c(S, n) <= c_hi, c(R, n) <= max(c(S, n),
    c_lo). The relation is transitive, and R ⊂ S implies it.
    """

    def __init__(self, weights: Floats, region: QueryRegion) -> None:
        low, high = region.budgets
        self.region = region
        self.weights = weights
        self.far = region.reach(weights, high)
        self.near = self.far if low == high else region.reach(weights, low)

    def take(self, rows: Bools | NDArray[np.intp]) -> "Costs":
        """Return some of them."""
        part = object.__new__(Costs)
        part.region, part.weights = self.region, self.weights[rows]
        part.far, part.near = self.far[rows], self.near[rows]
        return part

    def covered_by(self, other: "Costs", row: int) -> Bools:
        """Return which of these sets the set in `row` of `other` covers, shape ``(n_sets,)``, and no others.

        With one fixed budget the test is exact: R covers S if and only if n*(R) >= n*(S), the largest sizes that fit.
        Otherwise D = c(S) - c(R) is bounded from below on each cell [a, b] of a grid: D >= min(D(a), D(b)) - (b - a)²
        / 8 · max D''. Where the costs nearly agree, it may miss that R covers S; that can cost one training more, but
        not the promise. O(n_sets · GRID_CELLS) at worst.
        """
        covered: Bools = self.far <= other.near[row]  # also true for each set that fits nowhere, as its far is -inf
        if self.region.budgets[0] == self.region.budgets[1]:
            return covered
        nodes = _grid(self.region.sizes)
        nodes = nodes[max(int(np.searchsorted(nodes, other.near[row], side="right")) - 1, 0) :]
        rest = np.flatnonzero(~covered)
        # Most sets that are not covered fail at one of three nodes: exclude them before the expensive tests.
        rest = rest[self._not_refuted(rest, other, row, nodes[[0, len(nodes) // 2, -1]])]
        for start in range(0, len(rest), BLOCK_OF_SETS // 8):
            block = rest[start : start + BLOCK_OF_SETS // 8]
            difference = self.weights[block] - other.weights[row]
            covered[block] = (difference >= 0.0).all(axis=1)
            block = block[~covered[block]]
            block = block[self._not_refuted(block, other, row, nodes)]
            covered[block] = self._proved(block, other, row, nodes)
        return covered

    def _not_refuted(self, rows: NDArray[np.intp], other: "Costs", row: int, nodes: Floats) -> Bools:
        """Return which sets may be covered: they are not cheaper than `row` at any node where they fit."""
        terms = basis_terms(nodes).T
        # Matrix products of different shapes round differently; the tests that follow decide near ties.
        cheaper = self.weights[rows] @ terms < (other.weights[row] @ terms) * (1.0 - 1e-12)
        matters = (nodes <= self.far[rows][:, None]) & (nodes > other.near[row])
        result: Bools = ~(cheaper & matters).any(axis=1)
        return result

    def _proved(self, rows: NDArray[np.intp], other: "Costs", row: int, nodes: Floats) -> Bools:
        """Return for which sets the bound proves D >= 0 on every cell where they fit."""
        difference, terms = self.weights[rows] - other.weights[row], basis_terms(nodes)
        ends = difference @ terms.T
        a, b = nodes[:-1], nodes[1:]
        steepest, flattest = _curvature(a, b)
        bend = np.maximum(difference, 0.0) @ steepest.T + np.minimum(difference, 0.0) @ flattest.T
        bound = np.minimum(ends[:, :-1], ends[:, 1:]) - (b - a) ** 2 / 8.0 * np.maximum(bend, 0.0)
        margin = 1e-12 * (terms[1:] @ other.weights[row])  # exceeds by far the rounding error of D
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
