"""A guess of the score of any feature set: a Gaussian process over sets, fitted to the trained ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.special import ndtr

from polydom_runtime.arrays import Floats, Masks

CEILINGS = (0.05, 0.2, 1.0)
"""Distances to choose from between the highest score and the ceiling, as shares of highest minus lowest score."""

USUAL = np.log((3.0, 3.0, 0.1, 3.0, 0.003))
"""The usual logarithms of `ProcessShape`, from which they differ with a standard deviation of `SPREAD`."""
SPREAD = 2.0

OFFSET = 10.0
"""Prior variance of a constant, in units of the scores' variance: that large means that nothing is known of it."""

MOST_FITTED = 300
"""The shape is fitted to at most this number of sets: the time grows with its cube."""

REFIT = 1.2
"""The shape is fitted anew when the number of trained sets has grown by this factor."""

LEAST_SPREAD = 1e-9

ABSURD = 1e10
"""A shape that is no covariance has this in place of its negative evidence."""


@dataclass(frozen=True, slots=True)
class ProcessShape:
    """How the scores of two sets go together."""

    scale: float
    slope: float
    """`scale`: size of the part to which each feature adds. `slope`: how fast additions shrink (the kernel of a neural
    network, Williams 1998)."""
    local: float
    length: float
    """`local`: variance that similar sets share. `length`: number of features over which it fades."""
    noise: float
    """Variance of what each set has for itself."""

    def between(self, some: Floats, others: Floats) -> Floats:
        """Return the covariances of sets given by their features as 0 and 1, shape ``(n_some, n_others)``."""
        own, theirs = some.sum(axis=1)[:, None], others.sum(axis=1)
        both = some @ others.T
        lengths = (2.0 + 2.0 * self.slope * own) * (2.0 + 2.0 * self.slope * theirs)
        angle = np.arcsin((1.0 + 2.0 * self.slope * both) / np.sqrt(lengths))
        near = np.exp((2.0 * both - own - theirs) / self.length)
        covariances: Floats = OFFSET + self.scale * angle + self.local * near
        return covariances

    def alone(self, sets: Floats) -> Floats:
        """Return the variances of sets, shape ``(n_sets,)``."""
        inner = 1.0 + 2.0 * self.slope * sets.sum(axis=1)
        variances: Floats = OFFSET + self.scale * np.arcsin(inner / (1.0 + inner)) + self.local
        return variances


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """How scores a become t = (-log((ceiling - a) / unit) - mean) / deviation: errors of features multiply."""

    ceiling: float
    unit: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: Floats, share: float) -> "ScoreScale":
        """Return the scale whose ceiling lies above all scores by a share of their range."""
        unit = float(np.ptp(scores)) + LEAST_SPREAD
        ceiling = float(scores.max()) + share * unit
        raw = -np.log((ceiling - scores) / unit)
        return cls(ceiling, unit, float(raw.mean()), float(raw.std()) + LEAST_SPREAD)

    def raised(self, scores: Floats) -> Floats:
        """Return t of scores; of those near or above the ceiling that of one just below it."""
        below = np.maximum((self.ceiling - scores) / self.unit, 1e-6)
        t: Floats = (-np.log(below) - self.mean) / self.deviation
        return t

    def lowered(self, t: Floats) -> Floats:
        """Return the scores."""
        scores: Floats = self.ceiling - self.unit * np.exp(-(self.mean + self.deviation * t))
        return scores


@dataclass(frozen=True, slots=True)
class Guesses:
    """Normal guesses of t of some sets."""

    scale: ScoreScale
    means: Floats
    deviations: Floats
    """`means`, `deviations`: shape (n_sets,)."""

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> "Guesses":
        """Return the guesses of the sets in some rows."""
        return Guesses(self.scale, self.means[rows], self.deviations[rows])

    def at(self, deviations: float) -> Floats:
        """Return the scores that lie some standard deviations above the mean guesses."""
        return self.scale.lowered(self.means + deviations * self.deviations)

    def above(self, levels: Floats) -> Floats:
        """Return the probability that each set scores above its level."""
        probability: Floats = ndtr((self.means - self.scale.raised(levels)) / self.deviations)
        return probability

    def gains(self, levels: Floats) -> Floats:
        """Return by how much each set is expected to exceed each level, 0 where it does not: ``(n_levels, n_sets)``."""
        scale, sd = self.scale, self.deviations
        d = (self.means - scale.raised(levels)[:, None]) / sd
        width = scale.deviation * sd
        tail = scale.unit * np.exp(-(scale.mean + scale.deviation * self.means) + 0.5 * width * width)
        gains: Floats = np.maximum((scale.ceiling - levels)[:, None] * ndtr(d) - tail * ndtr(d - width), 0.0)
        return gains


class SetProcess:
    """The scores of trained sets, and guesses of others, which only steer a search and say what it may have missed.

    The fit of the shape starts from an earlier one, `near`.
    """

    def __init__(self, trained: Mapping[int, float], n_features: int, near: ProcessShape | None = None) -> None:
        self._n_features, self._n_fitted = n_features, len(trained)
        self._known, scores = set(trained), np.array([*trained.values()])
        self._sets = bits(np.array([*trained], dtype=np.int64), n_features)
        self.scale, self.shape = _fitted(self._sets, scores, near)
        covariances = self.shape.between(self._sets, self._sets) + self.shape.noise * np.eye(len(trained))
        self._root = np.linalg.cholesky(covariances)
        self._solved = solve_triangular(self._root, self.scale.raised(scores), lower=True)
        self.watch(np.empty(0, dtype=np.int64))

    def after(self, trained: Mapping[int, float]) -> "SetProcess":
        """Add new sets and return this process; a new one if `trained` has over REFIT times those of the last fit."""
        if len(trained) > REFIT * self._n_fitted:
            return SetProcess(trained, self._n_features, self.shape)
        for mask in [mask for mask in trained if mask not in self._known]:
            self.learn(mask, trained[mask])
        return self

    def watch(self, masks: Masks) -> None:
        """Choose the sets to guess the scores of; O(n_trained² · n_sets)."""
        self._watched = bits(masks, self._n_features)
        rows = solve_triangular(self._root, self.shape.between(self._sets, self._watched), lower=True)
        self._rows = list(rows)
        self._mean = rows.T @ self._solved
        self._left = self.shape.alone(self._watched) - np.einsum("ij,ij->j", rows, rows)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Watch some of the watched sets only."""
        self._watched, self._mean, self._left = self._watched[rows], self._mean[rows], self._left[rows]
        self._rows = [row[rows] for row in self._rows]

    def learn(self, mask: int, score: float) -> None:
        """Add a trained set; O(n_trained · n_watched)."""
        self._known.add(mask)
        x = bits(np.array([mask], dtype=np.int64), self._n_features)
        line = solve_triangular(self._root, self.shape.between(self._sets, x)[:, 0], lower=True)
        own = math.sqrt(max(self.shape.alone(x)[0] + self.shape.noise - line @ line, LEAST_SPREAD))
        n = len(line)
        root = np.zeros((n + 1, n + 1))
        root[:n, :n], root[n, :n], root[n, n] = self._root, line, own
        z = (self.scale.raised(np.array([score]))[0] - line @ self._solved) / own
        row = self.shape.between(x, self._watched)[0]
        if n and len(row):
            row = row - line @ np.stack(self._rows)
        row = row / own
        self._root, self._solved = root, np.append(self._solved, z)
        self._sets = np.vstack([self._sets, x])
        self._rows.append(row)
        self._mean, self._left = self._mean + z * row, self._left - row * row

    def guesses(self) -> Guesses:
        """Return the guesses of the watched sets."""
        return Guesses(self.scale, self._mean, np.sqrt(np.maximum(self._left, 0.0) + self.shape.noise))


def _fitted(sets: Floats, scores: Floats, near: ProcessShape | None) -> tuple[ScoreScale, ProcessShape]:
    """Return scale and shape with the greatest evidence (marginal likelihood times prior)."""
    some = slice(None, None, math.ceil(len(scores) / MOST_FITTED))
    sets, few = sets[some], scores[some]
    start = USUAL if near is None else np.log([near.scale, near.slope, near.local, near.length, near.noise])
    best: tuple[float, ScoreScale, ProcessShape] | None = None
    for share in CEILINGS:
        scale = ScoreScale.of(scores, share)
        t = scale.raised(few)
        found = minimize(_minus_evidence, start, (sets, t), "L-BFGS-B", options={"maxiter": 40})
        # The density of scores is that of t, times dt/da: this compares different ceilings.
        log_slopes = -np.log((scale.ceiling - few) / scale.unit).sum() - len(few) * math.log(scale.deviation)
        evidence = float(log_slopes - found.fun)
        if best is None or evidence > best[0]:
            best = evidence, scale, ProcessShape(*np.exp(found.x).tolist())
    assert best is not None
    return best[1:]


def _minus_evidence(logs: Floats, sets: Floats, t: Floats) -> float:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # absurd shapes are tried, too
        shape = ProcessShape(*np.exp(logs))
        covariances = shape.between(sets, sets) + shape.noise * np.eye(len(t))
    try:
        root = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        return ABSURD
    if not np.isfinite(root).all():
        return ABSURD
    solved = solve_triangular(root, t, lower=True, check_finite=False)
    prior = (((logs - USUAL) / SPREAD) ** 2).sum()
    return float(0.5 * solved @ solved + np.log(np.diag(root)).sum() + 0.5 * prior)


def bits(masks: Masks, n_features: int) -> Floats:
    """Return which features each set has, as 0 and 1, shape ``(n_sets, n_features)``."""
    return (masks[:, None] >> np.arange(n_features) & 1).astype(np.float64)
