"""The feature sets not yet settled, and what is known of their scores."""

import numpy as np
from numpy.typing import NDArray

from .region import Costs


class OpenSets:
    """Sets in doubt, one row each, with covering bounds on what they can give.

    ``lower`` is the highest score of a trained set that covers the set, ``upper`` the lowest of a trained strict superset
    plus the tolerance: no score of the set can be higher. A set is settled when alpha * lower >= upper.
    """

    def __init__(self, masks: NDArray[np.int64], costs: Costs, alpha: float, tolerance: float) -> None:
        self.masks = masks
        self.costs = costs
        self.lower = np.full(len(masks), -np.inf)
        self.upper = np.full(len(masks), np.inf)
        self.alpha = alpha
        self.tolerance = tolerance

    def learn(self, mask: int, score: float, cost: Costs) -> None:
        """Tighten the bounds by a trained set with costs `cost` (one row); O(n_sets)."""
        below = (self.masks & ~mask) == 0
        np.minimum(self.upper, score + self.tolerance, out=self.upper, where=below)
        weaker = np.flatnonzero((self.lower < score) & (self.alpha * self.lower < self.upper))
        covered = self.costs.take(weaker).covered_by(cost, 0)
        self.lower[weaker[covered]] = score
        self.upper[self.masks == mask] = -np.inf

    def in_doubt(self) -> NDArray[np.bool_]:
        return self.alpha * self.lower < self.upper

    def compact(self) -> None:
        """Forget the settled sets; a copy, so only when it is worth it."""
        keep = self.in_doubt()
        if keep.sum() > 0.8 * len(keep):
            return
        self.masks, self.lower, self.upper = self.masks[keep], self.lower[keep], self.upper[keep]
        self.costs = self.costs.take(keep)
