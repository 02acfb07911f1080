"""The costs of feature sets: as a sum over features and the steps that they share, or as a table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_runtime.costs import ZERO, CostFunction

from .inputs import CostsOfSets, cost_function, weights_of

BLOCK_BITS = 8
"""The number of features in a block. The sums of all subsets of a block are stored in one table."""


class SetCosts:
    """c(S, n) = base + cost of each feature in S + cost of each shared step that S uses, paid once.

    A further feature never lowers a weight, in floating point too. So c never falls when a feature is added.

    Parameters
    ----------
    features : sequence of CostFunction
    shared : sequence of (CostFunction, int)
        The cost of a step and the mask of the features that use it. All use waking and the model run.
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
            _subset_sums(self.features[start : start + BLOCK_BITS])
            for start in range(0, max(len(self.features), 1), BLOCK_BITS)
        ]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    def __call__(self, mask: int) -> CostFunction:
        """Return the cost function of one set."""
        return cost_function(self.weights(np.array([mask], dtype=np.int64))[0])

    def weights(self, masks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of many sets, shape ``(n_sets, 6)``; O(n_sets · n_features / 8)."""
        rows = np.tile(np.array(self.base.weights), (len(masks), 1))
        for block, sums in enumerate(self._sums):
            rows += sums[masks >> BLOCK_BITS * block & (1 << BLOCK_BITS) - 1]
        for step, users in self.shared:
            rows += ((masks & users) != 0)[:, None] * np.array(step.weights)
        return rows


def _subset_sums(features: Sequence[CostFunction]) -> NDArray[np.float64]:
    """Return the weights of every subset of a few features, added in rising order, so that rounding lowers none."""
    sums = np.zeros((1, 6))
    for feature in features:
        sums = np.concatenate([sums, sums + np.array(feature.weights)])
    return sums


class TabledCosts:
    """The costs of some sets as data, weights (n_sets, 6): a proof cannot store costs that a program computes.

    >>> costs = TabledCosts(2, np.array([3, 0]), np.array([[5.0, 0, 2, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]]))
    >>> costs(3)(10.0), costs.knows(np.array([0, 1]))
    (25.0, array([ True, False]))
    """

    def __init__(self, n_features: int, masks: NDArray[np.int64], table: NDArray[np.float64]) -> None:
        order = np.argsort(masks, kind="stable")
        self.n_features = n_features
        self.masks, self.table = masks[order], table[order]

    @classmethod
    def of(cls, costs: CostsOfSets, masks: NDArray[np.int64]) -> "TabledCosts":
        """Tabulate the costs of some sets."""
        distinct = np.unique(masks)
        return cls(costs.n_features, distinct, weights_of(costs, distinct))

    def __call__(self, mask: int) -> CostFunction:
        """Return the cost function of one set."""
        return cost_function(self.weights(np.array([mask], dtype=np.int64))[0])

    def knows(self, masks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which sets are in the table, shape ``(n_sets,)``; O(n_sets · log table)."""
        return np.isin(masks, self.masks)

    def weights(self, masks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of sets of the table, shape ``(n_sets, 6)``; O(n_sets · log table)."""
        if not (known := self.knows(masks)).all():
            raise LatticeError(f"The table must hold the cost of every requested set. Missing: {masks[~known][0]:#b}.")
        rows: NDArray[np.float64] = self.table[np.searchsorted(self.masks, masks)]
        return rows


def smallest_outside(masks: NDArray[np.int64], n_features: int) -> NDArray[np.int64]:
    """Return the smallest sets outside `masks`, rising: `masks` hold every set with one feature less.

    Every set outside `masks` contains one of these. So a property that supersets inherit, such as exceeding the
    budget, holds for all if it holds for these. O(F² · n_sets · log n_sets).

    >>> smallest_outside(np.array([0, 0b01, 0b10, 0b100]), 3)
    array([3, 5, 6])
    """
    listed = np.unique(masks)
    found = [_grown(listed, 1 << i, n_features) for i in range(n_features)]
    empty = np.setdiff1d(np.zeros(1, dtype=np.int64), listed)
    return np.sort(np.concatenate([empty, *found]))


def _grown(listed: NDArray[np.int64], bit: int, n_features: int) -> NDArray[np.int64]:
    sets = listed[listed < bit] | bit
    sets = sets[~np.isin(sets, listed)]
    for other in (1 << i for i in range(n_features)):
        sets = sets[(sets & other == 0) | np.isin(sets & ~other, listed)]
    return sets
