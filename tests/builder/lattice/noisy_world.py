"""Worlds whose true scores are known, with held-out parts that chance moves."""

from dataclasses import dataclass

import numpy as np

from polydom_builder.lattice.within_noise import PairedErrors
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import CostFunction


@dataclass(frozen=True)
class NoisyWorld:
    """All sets of some features.

    Parameters
    ----------
    truth : float array of shape (n_sets,)
        The score of each set on endless items.
    parts : float array of shape (n_sets, n_blocks)
        The scores on blocks of items; the measured score of a set is the mean of its row.
    costs : SetCosts
    region : QueryRegion
    """

    truth: Floats
    parts: Floats
    costs: SetCosts
    region: QueryRegion

    @property
    def measured(self) -> Floats:
        means: Floats = self.parts.mean(axis=1)
        return means

    @property
    def errors(self) -> PairedErrors:
        n = self.parts.shape[1]
        return PairedErrors(lambda masks: self.parts[list(masks)], np.full(n, 1.0 / n))

    def score(self, masks: list[int]) -> list[float]:
        return [float(self.measured[mask]) for mask in masks]


def noisy_world(seed: int, n_features: int = 8, n_blocks: int = 40, noise: float = 0.05) -> NoisyWorld:
    """Return a world in which features say partly the same, some disturb, and sets share most of their bad luck."""
    rng = np.random.default_rng(seed)
    sets = (np.arange(1 << n_features)[:, None] >> np.arange(n_features) & 1).astype(float)
    worth = rng.exponential(size=n_features)
    pairs = 0.3 * rng.exponential(size=(n_features, n_features)) / n_features
    t = sets @ worth - np.einsum("ij,jk,ik->i", sets, np.triu(pairs, 1), sets)
    truth = 0.4 + 0.5 * (1.0 - np.exp(-1.5 * np.maximum(t, 0.0) / worth.sum() * 2.0)) - 0.002 * sets.sum(axis=1)
    luck = noise * rng.normal(size=n_blocks) + noise * 0.5 * sets @ rng.normal(size=(n_features, n_blocks)) / n_features
    parts = truth[:, None] + luck + 0.5 * noise * rng.normal(size=(len(truth), n_blocks))
    costs = SetCosts([CostFunction.of(linear=w) for w in rng.lognormal(sigma=1.0, size=n_features)])
    whole = costs((1 << n_features) - 1)(100.0)
    return NoisyWorld(truth, parts, costs, QueryRegion((20.0, 100.0), (0.05 * whole, whole)))
