"""The guesses of scores that a margin rests on, computed again from the trained sets.

This is deliberately other code than that of the search, so that an error there is not repeated here.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import ndtr

from polydom_builder.lattice.grounds import Grounds
from polydom_builder.lattice.proof import Proof
from polydom_runtime.arrays import Floats, Masks

CONSTANT = 10.0
"""Prior variance of what all sets have in common."""

NEAREST = 1e-6
"""A score near or above the ceiling counts as one that lies this share of the unit below it."""

BLOCK = 4096
"""Sets that are guessed at a time, to limit the memory."""

POINTS = 32
"""Numerical integration over an error of a score takes this number of its values."""


@dataclass(frozen=True, slots=True)
class SetGuesses:
    """A Gaussian process over feature sets, given the scores t of the trained ones on its own scale."""

    grounds: Grounds
    trained: Masks
    """Shape (n_trained,)."""
    root: Floats
    """Shape (n_trained, n_trained). The lower triangle whose product with itself is the covariance."""
    solved: Floats
    """Shape (n_trained,). How many deviations each t lies off, guessed from those before it."""

    @classmethod
    def of(cls, proof: Proof, grounds: Grounds) -> "SetGuesses | None":
        """Return the guesses after the trained sets of a proof; None if they cannot be computed."""
        n = len(proof.expanded)
        covariance = _covariances(grounds, proof.expanded, proof.expanded) + grounds.shape[4] * np.eye(n)
        values = _values(grounds, proof.scores)
        try:
            root = cholesky(covariance, lower=True)
            return cls(grounds, proof.expanded, root, solve_triangular(root, values, lower=True))
        except (LinAlgError, ValueError):  # of a covariance that is singular, or not finite
            return None

    def surprise(self) -> float:
        """Return the mean square of how many deviations each trained set lies off, guessed from those before it.

        It is about 1 if the process fits. A set that lies more than three deviations off counts as three.
        """
        return float(np.minimum(self.solved * self.solved, 9.0).mean())

    def chances_below(self, masks: Masks, scores: Floats) -> Floats:
        """Return the logarithm of the probability that a set scores at most a score, shape ``(n_scores, n_sets)``.

        An error of the typical size is added to the score of each set.
        """
        places, weights = np.polynomial.hermite_e.hermegauss(POINTS)
        levels = scores[:, None] - self.grounds.noise * places
        limits = np.where(levels < self.grounds.scale[0], _values(self.grounds, levels), np.inf)
        found = np.empty((len(scores), len(masks)))
        for start in range(0, len(masks), BLOCK):
            block = slice(start, start + BLOCK)
            means, deviations = self._guessed(masks[block])
            for row, limit in enumerate(limits):
                chances = ndtr((limit - means[:, None]) / deviations[:, None]) @ (weights / weights.sum())
                found[row, block] = np.log(np.maximum(chances, 1e-300))
        return found

    def _guessed(self, masks: Masks) -> tuple[Floats, Floats]:
        noise = self.grounds.shape[4]
        rows = solve_triangular(self.root, _covariances(self.grounds, self.trained, masks), lower=True)
        means = rows.T @ self.solved
        left = _alone(self.grounds, masks) - (rows * rows).sum(axis=0)
        return means, np.sqrt(np.maximum(left, 0.0) + noise)


def _values(grounds: Grounds, scores: Floats) -> Floats:
    ceiling, unit, mean, deviation = grounds.scale
    values: Floats = -(np.log(np.maximum((ceiling - scores) / unit, NEAREST)) + mean) / deviation
    return values


def _covariances(grounds: Grounds, some: Masks, others: Masks) -> Floats:
    """Return what the t of sets have in common: a constant, sums of features that saturate, and what is near."""
    scale, slope, local, length, _ = grounds.shape
    common = np.bitwise_count(some[:, None] & others).astype(np.float64)
    apart = np.bitwise_count(some[:, None] ^ others).astype(np.float64)
    own, theirs = 1.0 + slope * np.bitwise_count(some)[:, None], 1.0 + slope * np.bitwise_count(others)
    saturating = np.arcsin(np.minimum((0.5 + slope * common) / np.sqrt(own) / np.sqrt(theirs), 1.0))
    covariances: Floats = CONSTANT + scale * saturating + local * np.exp(-apart / length)
    return covariances


def _alone(grounds: Grounds, masks: Masks) -> Floats:
    """Return the variances of sets."""
    scale, slope, local, _, _ = grounds.shape
    sizes = slope * np.bitwise_count(masks)
    variances: Floats = CONSTANT + scale * np.arcsin((0.5 + sizes) / (1.0 + sizes)) + local
    return variances
