"""The cost of any feature set: its features, the steps they share, and a constant."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.costs import ZERO, CostFunction
from polydom_runtime.features import members


class SetCosts:
    """c(S, n) = base + cost of each feature in S + cost of each shared step that S uses, paid once.

    Adding a feature never lowers a weight, in floating point too, so c is monotone in S.

    Parameters
    ----------
    features : sequence of CostFunction
    shared : sequence of (CostFunction, int)
        A step's cost and the mask of the features that use it. The model is such a step, used by every feature.
    base : CostFunction
        What every set pays, also the empty one: selection and dispatch.

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

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.features)

    def __call__(self, mask: int) -> CostFunction:
        """Return the cost function of one set; O(n_features)."""
        cost = self.base
        for i in members(mask):
            cost += self.features[i]
        for step, users in self.shared:
            if mask & users:
                cost += step
        return cost

    def weights(self, masks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of many sets, shape ``(n_sets, 6)``; the same sums in the same order as a call."""
        rows = np.tile(np.array(self.base.weights), (len(masks), 1))
        for i, feature in enumerate(self.features):
            rows[(masks >> i & 1).astype(bool)] += feature.weights
        for step, users in self.shared:
            rows[(masks & users).astype(bool)] += step.weights
        return rows
