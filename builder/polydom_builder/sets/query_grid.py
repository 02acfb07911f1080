"""Queries that stand for a whole region: a grid of sizes and budgets."""

from dataclasses import dataclass

import numpy as np

from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.costs import basis_terms

from .inputs import CostsOfSets, weights_of
from .region import QueryRegion

GRID_SIZES, GRID_BUDGETS = 12, 12
LINE = 64
"""Number of queries where sizes or budgets do not vary."""


@dataclass(frozen=True, slots=True)
class QueryGrid:
    """Some queries of a region, evenly spaced by the logarithms of size and budget."""

    terms: Floats
    """Shape (6, n_queries). The growth terms at the size of each query."""
    budgets: Floats
    """Shape (n_queries,). The budget of each query, in seconds."""

    @classmethod
    def of(cls, region: QueryRegion, costs: CostsOfSets) -> "QueryGrid":
        """Return the grid of a region.

        Budgets lie between the cost of the cheapest feature that costs anything and that of all features, those of
        each size between those of the others: where costs are proportional to the size, they would all be the same.
        """
        (low, high), (least, most) = region.sizes, region.budgets
        n_sizes = 1 if low == high else LINE if least == most else GRID_SIZES
        n_budgets = 1 if least == most else LINE if low == high else GRID_BUDGETS
        sizes = np.expm1(np.linspace(np.log1p(low), np.log1p(high), n_sizes))
        terms = basis_terms(sizes).T
        singles = weights_of(costs, 1 << np.arange(costs.n_features, dtype=np.int64)) @ terms
        whole = weights_of(costs, np.array([(1 << costs.n_features) - 1], dtype=np.int64)) @ terms
        cheapest = np.where(singles > 0.0, singles, np.inf).min(axis=0, initial=np.inf)
        starts = np.clip(cheapest, least, np.minimum(most, np.maximum(whole[0], least)))
        ends = np.clip(whole[0], starts, most)
        shifts = np.linspace(0.0, 1.0, n_sizes) if min(n_sizes, n_budgets) > 1 else 0.0
        steps = (np.arange(n_budgets)[:, None] + shifts) / (n_budgets if n_sizes > 1 else max(n_budgets - 1, 1))
        ratios = np.divide(ends, starts, out=np.ones_like(ends), where=starts > 0.0)
        budgets = np.where(steps == 1.0, ends, starts * ratios**steps) if n_budgets > 1 else np.full((1, n_sizes), most)
        return cls(np.tile(terms, (1, n_budgets)), budgets.reshape(-1))

    def fits(self, weights: Floats) -> Bools:
        """Return which sets fit each query, shape ``(n_queries, n_sets)``, for the weights of their costs."""
        # Matrix products of different shapes round differently.
        result: Bools = self.budgets[:, None] * (1.0 + 1e-12) >= (weights @ self.terms).T
        return result
