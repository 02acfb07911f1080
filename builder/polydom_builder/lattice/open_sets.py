"""The feature sets in doubt, with bounds on their scores from the trained sets."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder.sets.covers import Costs


class OpenSets:
    """Sets that fit, one row each, with bounds from the trained sets.

    `lower` is the highest score of a trained set that covers the set: that one can answer in its place. `upper` is the
    lowest score of a trained strict superset plus the tolerance: the set scores at most this. The set is settled, and
    never trained, when alpha * lower >= upper; until then it is in doubt. `floor` is the highest score of a trained
    subset; it only helps to guess the score of the set.

    `masks` has shape (n_sets,). `costs`: of the same sets.

    Examples
    --------
    The empty set scores .5, the full set .58. At alpha = 1.2 every set is settled, as .5 · 1.2 >= .58; at alpha = 1.1
    the single features are in doubt:

    >>> from polydom_builder.sets.region import QueryRegion
    >>> weights = np.eye(6)[[2, 2, 2, 2]] * [[0], [1], [2], [3]]
    >>> costs = Costs(weights, QueryRegion((1, 9)))
    >>> for alpha in (1.2, 1.1):
    ...     open_sets = OpenSets(np.arange(4), costs, alpha, tolerance=0.0)
    ...     open_sets.learn(0, 0.5, costs.take(np.array([0])))
    ...     open_sets.learn(3, 0.58, costs.take(np.array([3])))
    ...     print(open_sets.masks[open_sets.in_doubt()])
    []
    [1 2]
    """

    def __init__(self, masks: NDArray[np.int64], costs: Costs, alpha: float, tolerance: float) -> None:
        self.masks = masks
        self.costs = costs
        self.alpha = alpha
        self.tolerance = tolerance
        self.lower = np.full(len(masks), -np.inf)
        self.upper = np.full(len(masks), np.inf)
        self.floor = np.full(len(masks), -np.inf)

    def learn(self, mask: int, score: float, cost: Costs) -> None:
        """Tighten the bounds by the score of a trained set; `cost` is its one row of costs. O(n_sets)."""
        inside = (self.masks & ~mask) == 0
        np.minimum(self.upper, score + self.tolerance, out=self.upper, where=inside)
        np.maximum(self.floor, score, out=self.floor, where=(mask & ~self.masks) == 0)
        # Tests of *covers* are expensive: make them only where the score can raise a bound that matters.
        weaker = np.flatnonzero((self.lower < score) & self.in_doubt())
        covered = self.costs.take(weaker).covered_by(cost, 0)
        self.lower[weaker[covered]] = score
        self.upper[self.masks == mask] = -np.inf  # trained, so no longer in doubt

    def in_doubt(self) -> NDArray[np.bool_]:
        """Return which sets are not settled, shape ``(n_sets,)``."""
        result: NDArray[np.bool_] = self.alpha * self.lower < self.upper
        return result

    def compact(self) -> None:
        """Remove the settled sets once they are a fifth of all: each removal copies the others. O(n_sets)."""
        keep = self.in_doubt()
        if np.count_nonzero(keep) <= 0.8 * len(keep):
            self.masks, self.floor = self.masks[keep], self.floor[keep]
            self.lower, self.upper = self.lower[keep], self.upper[keep]
            self.costs = self.costs.take(keep)
