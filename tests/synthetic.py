"""The paper's synthetic generator: random costs, random accuracies, combined in three ways."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder import SetCosts
from polydom_runtime import CostFunction

SIZES = (1.0, 500.0)


def costs(n_features: int, rng: np.random.Generator) -> SetCosts:
    """Return quadratic costs with many crossings, as in the paper's experiments."""
    a0 = rng.uniform(0, 100, n_features)
    a1 = rng.uniform(0, (100 - a0) / 10)
    a2 = rng.uniform(0, (100 - a0 - a1) / 4)
    return SetCosts([CostFunction.of(x, linear=y, square=z) for x, y, z in zip(a0, a1, a2, strict=True)])


def scores(kind: str, n_features: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a(S) for every mask, monotone: ``cf1``, ``cfinf`` or ``saturating`` (what real data looks like)."""
    masks = np.arange(1 << n_features)
    chosen = (masks[:, None] >> np.arange(n_features) & 1).astype(bool)
    helpful = rng.random(n_features) < 0.6
    single = np.where(helpful, rng.uniform(0.7, 0.8, n_features), rng.uniform(0.5, 0.6, n_features))
    if kind == "cf1":
        return np.where(chosen, single, 0.5).max(axis=1)
    if kind == "cfinf":
        result: NDArray[np.float64] = 1.0 - np.where(chosen, 1.0 - single, 1.0).prod(axis=1)
        result[0] = 0.5
        return result
    worth = (chosen * rng.exponential(1.0, n_features)).sum(axis=1)
    values = 0.5 + 0.45 * (1.0 - np.exp(-worth)) + rng.normal(0.0, 0.005, len(masks))
    for i in range(n_features):
        pairs = values.reshape(-1, 2, 1 << i)
        pairs[:, 1] = np.maximum(pairs[:, 1], pairs[:, 0])
    return values
