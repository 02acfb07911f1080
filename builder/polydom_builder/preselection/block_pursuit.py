"""Block-orthogonal matching pursuit: the gain of adding each block of columns to a linear model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from polydom_runtime.arrays import Floats

Columns = NDArray[np.intp]

CONSTANT_BELOW = 1e-12
"""A column that varies by less than this share of its largest value is constant up to rounding."""

NEGLIGIBLE = 1e-6
"""Below this, the degrees of freedom that a block adds, or the unexplained share of the target, are rounding errors."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of adding one more block."""

    share: float
    """Share of the target's variance that the block explains, less the expected share of as many columns of noise."""
    chance: float
    """Probability that as many columns of noise explain at least as much."""


class BlockPursuit:
    """A least-squares model on the blocks added so far, and the gain of each further block.

    Adding a block projects it out of the target and of all other columns: then these hold only what would be new, and
    the target only its unexplained part. The gain of a block is the share that a ridge regression explains of it.

    `rows` (shape (n_rows, n_columns)): numbers of the blocks, centred and scaled. `target` (shape (n_rows, n_targets)):
    numbers to explain, centred, not all zero. `add` changes both in place. `blocks`: the columns of each block,
    disjoint. `ridge`: the penalty for each row.

    Examples
    --------
    The first two columns sum to the target, and the second block repeats the first:

    >>> a, b = np.random.default_rng(0).choice([-1.0, 1.0], (2, 100))
    >>> pursuit = BlockPursuit(np.stack([a, a, b], axis=1), (a + b)[:, None], [np.array([i]) for i in range(3)], 1e-9)
    >>> pursuit.add(0)
    >>> [round(gain.share, 2) + 0.0 for gain in pursuit.assess([1, 2]).values()]
    [0.0, 0.54]
    """

    def __init__(self, rows: Floats, target: Floats, blocks: Sequence[Columns], ridge: float) -> None:
        self._rows, self._target, self._blocks = rows, target, blocks
        self._penalty = ridge * len(rows)
        self._total = float((target * target).sum())
        self._free = float(len(rows) - 1)  # dimensions that neither the mean nor the blocks use

    def assess(self, blocks: Iterable[int]) -> dict[int, Gain]:
        """Return the gain of adding each block now; O(n_rows · width · (width + n_targets)) for each."""
        squares = (self._target * self._target).sum(axis=1)
        left = _Moments(
            float(squares.sum()), float(((self._target.T @ self._target) ** 2).sum()), float(squares @ squares)
        )
        if left.trace <= NEGLIGIBLE * self._total or self._free < 4.0:
            return dict.fromkeys(blocks, Gain(0.0, 1.0))
        return {block: self._assess(block, left) for block in blocks}

    def _assess(self, block: int, left: "_Moments") -> Gain:
        rows = self._rows[:, self._blocks[block]]
        values, vectors = np.linalg.eigh(rows.T @ rows)
        basis = rows @ (vectors / np.sqrt(values.clip(0.0) + self._penalty))
        leverages = (basis * basis).sum(axis=1)
        freedom = values.clip(0.0) / (values.clip(0.0) + self._penalty)
        if freedom.sum() <= NEGLIGIBLE:
            return Gain(0.0, 1.0)
        raw = float(((basis.T @ self._target) ** 2).sum())
        hat = _Moments(float(freedom.sum()), float(freedom @ freedom), float(leverages @ leverages))
        mean, variance = _permuted(hat, left, self._free + 1.0)
        chance = float(gammaincc(mean * mean / variance, mean * raw / variance)) if variance > 0.0 else 1.0
        return Gain((raw - mean) / self._total, chance)

    def add(self, block: int) -> None:
        """Add a block to the model; O(n_rows · n_columns · width)."""
        basis, values, _ = np.linalg.svd(self._rows[:, self._blocks[block]], full_matrices=False)
        basis = basis[:, values * values > NEGLIGIBLE * self._penalty]
        for part in (self._rows, self._target):
            part -= basis @ (basis.T @ part)
        self._free -= basis.shape[1]


@dataclass(frozen=True, slots=True)
class _Moments:
    """Moments of a symmetric matrix A: tr A, tr A², and the sum of the squares of its diagonal."""

    trace: float
    squared: float
    diagonal: float


def _permuted(a: _Moments, b: _Moments, n: float) -> tuple[float, float]:
    """Return mean and variance of tr(A P B Pᵀ) over all permutations P of `n` rows, A and B centred.

    They are right even for heavy tails and rare classes, where the χ² distribution of normal noise is not. The
    distribution is close to a gamma distribution with the same mean and variance (Kazi-Aoual and others, 1995,
    "Refined approximations to permutation tests for multivariate inference").
    """

    def spread(m: _Moments) -> float:
        return (n - 1) * m.squared - m.trace**2

    def tails(m: _Moments) -> float:
        return n * (n + 1) * m.diagonal - (n - 1) * (m.trace**2 + 2 * m.squared)

    even = 2 * spread(a) * spread(b) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    uneven = tails(a) * tails(b) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return a.trace * b.trace / (n - 1), even + uneven


def standardised(rows: Floats) -> Floats:
    """Return each column with mean 0 and variance 1, or all 0 if the column is constant up to rounding."""
    largest = np.abs(rows).max(axis=0)
    scaled = rows / np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    scaled -= scaled.mean(axis=0)
    spread = scaled.std(axis=0)
    scaled /= np.where(spread > CONSTANT_BELOW, spread, np.inf)
    result: Floats = scaled
    return result
