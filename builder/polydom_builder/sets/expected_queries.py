"""A grid of queries, item sizes and deadlines, over which the score of a bundle is averaged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.checks import TIE
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction, basis_terms

N_QUERIES, N_DEADLINES = 512, 16
"""The number of queries, and of deadlines if there are several."""


@dataclass(frozen=True, slots=True)
class ExpectedQueries:
    """Queries of each size with each deadline, all as likely."""

    sizes: tuple[float, ...]
    deadlines: tuple[float, ...]
    """Rising deadlines, in seconds."""

    @classmethod
    def of(
        cls,
        sizes: Sequence[float],
        size_range: tuple[float, float],
        budgets: tuple[float, float],
        costs: Sequence[CostFunction],
    ) -> "ExpectedQueries":
        """Return quantiles of sizes, and deadlines evenly spread over the logarithms of budgets, or else of costs."""
        low, high = budgets
        if high == np.inf:
            low = min((cost(size_range[0]) for cost in costs), default=0.0)
            high = max((cost(size_range[1]) for cost in costs), default=0.0) or 1.0
        count = 1 if low == high else N_DEADLINES
        n_sizes = N_QUERIES // count
        shares = (np.arange(n_sizes) + 0.5) / n_sizes
        return cls(
            tuple(np.quantile(np.clip(sizes, *size_range), shares).tolist()),
            tuple(np.geomspace(max(low, 1e-9 * high), high, count).tolist()),
        )

    def worth(self, candidates: Sequence[Candidate], prior: float) -> Floats:
        """Return the score of each candidate where it fits, at least the prior; shape ``(n_candidates, n_queries)``."""
        weights = np.array([candidate.cost.weights for candidate in candidates]).reshape(-1, 6)
        costs = weights @ basis_terms(np.array(self.sizes)).T
        fits = costs[:, :, None] * (1.0 - TIE) <= np.array(self.deadlines)
        scores = np.array([candidate.accuracy for candidate in candidates]).reshape(-1, 1, 1)
        worth: Floats = np.where(fits, scores.clip(prior), prior)
        return worth.reshape(len(candidates), len(self.sizes) * len(self.deadlines))
