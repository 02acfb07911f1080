"""The paper's synthetic generator: random costs, random accuracies, and how these combine."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder import SetCosts
from polydom_runtime import CostFunction

SIZES = (1.0, 500.0)
"""Smallest and largest item."""

N_FEATURES = 12
"""The paper's default; its experiments go from 1 to 15."""

HELPFUL = 0.6
"""p, the share of features whose own accuracy is in [.7, .8] instead of [.5, .6]."""

CHANCE = 0.5
"""a(∅): with two classes, guessing."""


def costs(n_features: int, rng: np.random.Generator) -> SetCosts:
    """Return quadratic costs with many crossings, as in the paper's experiments.

    c(f, n) = a0 + a1·n + a2·n², a0 in [0, 100], a1 in [0, (100 - a0)/10], a2 in [0, (100 - a0 - a1)/4].

    Examples
    --------
    >>> cost = costs(3, np.random.default_rng(0))
    >>> round(cost(0b001)(1.0)), round(cost(0b001)(500.0)), cost(0)(500.0)
    (69, 1374269, 0.0)
    """
    a0 = rng.uniform(0, 100, n_features)
    a1 = rng.uniform(0, (100 - a0) / 10)
    a2 = rng.uniform(0, (100 - a0 - a1) / 4)
    return SetCosts([CostFunction.of(x, linear=y, square=z) for x, y, z in zip(a0, a1, a2, strict=True)])


def scores(kind: str, n_features: int, rng: np.random.Generator, helpful: float = HELPFUL) -> NDArray[np.float64]:
    """Return a(S) for every mask; monotone.

    Parameters
    ----------
    kind : {"cf1", "cfinf", "saturating"}
        The paper's combiners: a set is as accurate as its best feature (``cf1``), or is wrong only where all its
        features are (``cfinf``). ``saturating`` is not from the paper but resembles real data: every feature adds
        something, the less the more features there are, with a little noise.
    n_features : int
    rng : numpy.random.Generator
    helpful : float
        p.

    Returns
    -------
    array of shape (2 ** n_features,)

    Examples
    --------
    >>> scores("cfinf", 2, np.random.default_rng(0)).round(2)
    array([0.5 , 0.58, 0.7 , 0.88])
    """
    masks = np.arange(1 << n_features)
    chosen = (masks[:, None] >> np.arange(n_features) & 1).astype(bool)
    is_helpful = rng.random(n_features) < helpful
    single = np.where(is_helpful, rng.uniform(0.7, 0.8, n_features), rng.uniform(0.5, 0.6, n_features))
    if kind == "cf1":
        best: NDArray[np.float64] = np.where(chosen, single, CHANCE).max(axis=1)
        return best
    if kind == "cfinf":
        result: NDArray[np.float64] = 1.0 - np.where(chosen, 1.0 - single, 1.0).prod(axis=1)
        result[0] = CHANCE
        return result
    return _saturating(chosen, rng)


def _saturating(chosen: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.float64]:
    n_sets, n_features = chosen.shape
    worth = (chosen * rng.exponential(1.0, n_features)).sum(axis=1)
    values: NDArray[np.float64] = CHANCE + 0.45 * (1.0 - np.exp(-worth)) + rng.normal(0.0, 0.005, n_sets)
    for i in range(n_features):
        pairs = values.reshape(-1, 2, 1 << i)
        pairs[:, 1] = np.maximum(pairs[:, 1], pairs[:, 0])
    return values
