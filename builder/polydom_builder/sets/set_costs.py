"""The cost of any feature set: its features, the steps they share, and a constant."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.costs import ZERO, CostFunction

BITS = 8
"""The number of features in a block. The sums of all subsets of a block are stored in one table."""


class SetCosts:
    """c(S, n) = base + cost of each feature in S + cost of each shared step that S uses, paid once.

    A further feature never lowers a weight, in floating point too. So c never falls when a feature is added.

    Parameters
    ----------
    features : sequence of CostFunction
    shared : sequence of (CostFunction, int)
        The cost of a step and the mask of the features that use it. The model run counts as a step of all features.
    base : CostFunction
        The cost that even the empty set has: dispatch.

    Examples
    --------
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(linear=2)], shared=[(CostFunction.of(10), 0b11)])
    >>> costs(0b11)(5.0), costs(0b10)(5.0), costs(0)(5.0)
    (21.0, 20.0, 0.0)
    """

    def __init__(
        self,
        features: Sequence[CostFunction],
        shared: Sequence[tuple[CostFunction, int]] = (),
        base: CostFunction = ZERO,
    ) -> None:
        self.features = tuple(features)
        self.shared = tuple(shared)
        self.base = base
        self._sums = [
            _subset_sums(self.features[start : start + BITS]) for start in range(0, max(len(self.features), 1), BITS)
        ]

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.features)

    def __call__(self, mask: int) -> CostFunction:
        """Return the cost function of one set."""
        a, b, c, d, e, f = self.weights(np.array([mask], dtype=np.int64))[0].tolist()
        return CostFunction((a, b, c, d, e, f))

    def weights(self, masks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of many sets, shape ``(n_sets, 6)``; O(n_sets · n_features / 8)."""
        rows = np.tile(np.array(self.base.weights), (len(masks), 1))
        for block, sums in enumerate(self._sums):
            rows += sums[masks >> BITS * block & (1 << BITS) - 1]
        for step, users in self.shared:
            rows += ((masks & users) != 0)[:, None] * np.array(step.weights)
        return rows


def _subset_sums(features: Sequence[CostFunction]) -> NDArray[np.float64]:
    """Return the weights of every subset of a few features, added in rising order, so that rounding lowers none."""
    sums = np.zeros((1, 6))
    for feature in features:
        sums = np.concatenate([sums, sums + np.array(feature.weights)])
    return sums
