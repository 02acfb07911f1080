"""The input of the lattice searches: parameters, scores and costs of feature sets, checked before a search starts."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polydom_builder.exceptions import LatticeError
from polydom_runtime.costs import BASIS, CostFunction
from polydom_runtime.features import MAX_FEATURES

ScoreSets = Callable[[list[int]], ArrayLike]
"""Trains a model on each feature set (a bit mask), at most a batch of them, and returns the scores in this order."""


class CostsOfSets(Protocol):
    """The cost function of any feature set. A set must cost at least as much as each of its subsets."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    def __call__(self, mask: int, /) -> CostFunction:
        """Return the cost function of one set."""


def weights_of(costs: CostsOfSets, masks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weights of many sets, shape ``(n_sets, 6)``, by ``costs.weights`` if it exists."""
    many: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = getattr(costs, "weights", None)
    if many is not None:
        return many(masks)
    return np.array([costs(mask).weights for mask in masks.tolist()], dtype=np.float64).reshape(-1, len(BASIS))


def cost_function(weights: NDArray[np.float64]) -> CostFunction:
    """Return the cost function of six weights."""
    a, b, c, d, e, f = weights.tolist()
    return CostFunction((a, b, c, d, e, f))


def check_parameters(n_features: int, alpha: float, tolerance: float, batch: int = 1) -> None:
    """Raise `LatticeError` if α of Problem 1, the tolerance e or the number of sets to train at a time is wrong."""
    if not 0 <= n_features <= MAX_FEATURES:
        raise LatticeError(f"A lattice must have 0 to {MAX_FEATURES} features. Got {n_features}.")
    if not 1.0 <= alpha < math.inf:
        raise LatticeError(f"The 'alpha' parameter of the lattice search must be finite and >= 1. Got {alpha}.")
    if not 0.0 <= tolerance < math.inf:
        raise LatticeError(f"The 'tolerance' parameter of the lattice search must be finite and >= 0. Got {tolerance}.")
    if batch < 1:
        raise LatticeError(f"The 'batch' parameter of the lattice search must be >= 1. Got {batch}.")


def ask(score: ScoreSets, masks: Sequence[int], alpha: float) -> list[float]:
    """Return the score of each set; `LatticeError` unless it is finite and, for bounds with alpha > 1, not negative."""
    values = np.asarray(score(list(masks)), dtype=np.float64)
    if values.shape != (len(masks),):
        raise LatticeError(f"`score` must return one number for each of {len(masks)} sets. Got shape {values.shape}.")
    for mask, value in zip(masks, values.tolist(), strict=True):
        if not math.isfinite(value):
            raise LatticeError(f"Every score must be finite. Got {value} for the set {mask:#b}.")
        if alpha > 1.0 and value < 0.0:
            raise LatticeError(
                f"With alpha > 1 no score may be negative. Got {value} for the set {mask:#b}; shift the scores."
            )
    return [float(value) for value in values]
