"""A guess of the score of an untrained set, from the scores of the trained ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats

CEILINGS = np.array((0.003, 0.02, 0.1, 0.5))
"""Distances to choose from between the highest score and the ceiling, as shares of highest minus lowest score."""

NOISES, WIDTHS = (grid.ravel() for grid in np.meshgrid((0.03, 0.1, 0.3), (1.0, 2.0, 4.0)))
"""Standard deviations to choose from: of the noise, and of a feature's contribution relative to its prior mean."""

POINTS = np.array((-1.3, 0.0, 1.3))
POINT_SHARES = np.array((0.25, 0.5, 0.25))
"""A guess consists of three points, in standard deviations from its mean, with these probabilities."""


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Bayesian linear model of t(S) = -log(ceiling - a(S)) on the features of S.

    If features err independently, their error rates multiply, so their contributions to t add up. The prior gives each
    feature an equal share of t(full) - t(∅). Ceiling, noise and width are those with the greatest evidence (marginal
    likelihood). A guess only steers the search; no promise depends on it.
    """

    ceiling: float
    """A score that no set reaches."""
    start: float
    """t of the empty set."""
    span: float
    """The range of t: one unit of `parts`, `covariance` and `noise`."""
    parts: Floats
    """Shape (n_features,). Expected contribution of each feature, >= 0."""
    covariance: Floats
    """Shape (n_features, n_features). Of the contributions."""
    noise: float
    """Standard deviation of t around the sum of the contributions."""

    @classmethod
    def fit(cls, masks: NDArray[np.int64], scores: Floats, n_features: int) -> "Surrogate":
        """Fit to trained sets, the empty one first; O(n_sets · n_features² + n_features³)."""
        x = bits(masks, n_features)
        spread = np.ptp(scores) + 1e-9
        raw = -np.log((scores.max() - scores) / spread + CEILINGS[:, None])
        start, span = raw[:, 0], np.maximum(np.ptp(raw, axis=1), 1e-3)
        residual = (raw - start[:, None]) / span[:, None] - x.mean(axis=1)
        pull = residual @ x
        prior = np.eye(n_features) * (n_features / WIDTHS[:, None, None]) ** 2
        precision = x.T @ x / NOISES[:, None, None] ** 2 + prior
        covariance = np.linalg.inv(precision)
        fit = (residual**2).sum(axis=1) / NOISES[:, None] ** 2
        fit = fit - np.einsum("ei,gij,ej->ge", pull, covariance, pull) / NOISES[:, None] ** 4
        volume = len(masks) * np.log(NOISES) + 0.5 * np.linalg.slogdet(precision)[1] + n_features * np.log(WIDTHS)
        evidence = raw.sum(axis=1) - len(masks) * np.log(span) - volume[:, None] - 0.5 * fit
        g, e = np.unravel_index(evidence.argmax(), evidence.shape)
        parts = np.maximum(1.0 / n_features + covariance[g] @ pull[e] / NOISES[g] ** 2, 0.0)
        ceiling = scores.max() + CEILINGS[e] * spread
        return cls(ceiling, start[e] - np.log(spread), span[e], parts, covariance[g], float(NOISES[g]))

    def guess(self, masks: NDArray[np.int64]) -> Floats:
        """Return the three points of each guess, shape ``(3, n_sets)``; O(n_sets · n_features²)."""
        x = bits(masks, len(self.parts))
        deviation = np.sqrt(np.einsum("ij,ij->i", x @ self.covariance, x) + self.noise**2)
        t = x @ self.parts + POINTS[:, None] * deviation
        result: Floats = self.ceiling - np.exp(-(self.start + self.span * t))
        return result


def bits(masks: NDArray[np.int64], n_features: int) -> Floats:
    """Return which features each set has, as 0 and 1, shape ``(n_sets, n_features)``."""
    return (masks[:, None] >> np.arange(n_features) & 1).astype(np.float64)
