"""High quantiles of time samples, the part of the tail that so few samples cannot have seen included.

Peaks over threshold: what exceeds a high threshold follows, whatever the distribution, nearly a generalised Pareto
distribution (Pickands 1975, Balkema and de Haan 1974). Its shape needs more samples than one item size gives, so it is
pooled over the sizes, each scaled by its own mean excess (the index-flood method of hydrology, Hosking and Wallis
1997), and estimated by probability-weighted moments (Hosking and Wallis 1987), which hold up with few samples.
"""

import numpy as np

from polydom_runtime.arrays import Floats

THRESHOLD = 0.9
"""What lies above this quantile of its size counts as tail."""

MIN_SHAPE, MAX_SHAPE = -1.0, 0.5
"""From a uniform tail, as of a clock with two speeds, to infinite variance; beyond it, estimates are likely wrong."""

MIN_SAMPLES = 10
"""Samples a size below which there is no tail to fit."""

BATCHES = 8
T_95 = 2.365
"""Student's two-sided 95 % point with BATCHES - 1 degrees of freedom."""


def tail_quantile(samples: Floats, quantile: float) -> Floats:
    """Return the quantile at each size: that of the samples or that of the fitted tail, whichever is higher.

    Parameters
    ----------
    samples : float array of shape (n_sizes, n_rounds)
    quantile : float

    Examples
    --------
    >>> times = np.random.default_rng(0).exponential(size=(8, 200))
    >>> bool(abs(tail_quantile(times, 0.999).mean() - np.log(1000)) < 1.0)
    True
    """
    seen: Floats = np.quantile(samples, quantile, axis=1)
    if quantile <= THRESHOLD or quantile >= 1.0 or samples.shape[1] < MIN_SAMPLES:
        return seen
    threshold = np.quantile(samples, THRESHOLD, axis=1)
    excess = np.where(samples > threshold[:, None], samples - threshold[:, None], np.nan)
    counts = np.sum(~np.isnan(excess), axis=1)
    mean = np.nansum(excess, axis=1) / np.maximum(counts, 1)
    if not mean.any():
        return seen
    scaled = excess[mean > 0.0] / mean[mean > 0.0, None]
    shape = _pareto_shape(np.sort(scaled[~np.isnan(scaled)]))
    # With the shape s and the mean excess m, the scale of the Pareto distribution is m (1 - s).
    times_rarer = np.maximum(counts, 1) / samples.shape[1] / (1.0 - quantile)
    growth = np.log(times_rarer) if shape == 0.0 else (times_rarer**shape - 1.0) / shape
    fitted: Floats = threshold + mean * (1.0 - shape) * np.maximum(growth, 0.0)
    return np.maximum(seen, fitted)


def relative_error(samples: Floats, quantile: float) -> tuple[float, float]:
    """Return how far the median and the high quantile may be off, as fractions: 95 % intervals from batches of rounds.

    Batches are runs of rounds, so that slow changes of the machine count too; the largest over the sizes is returned
    for the median, the mean over the sizes for the quantile, which is noisier and covered jointly.
    """
    if samples.shape[1] < 2 * BATCHES:
        return np.inf, np.inf
    batches = np.array_split(samples, BATCHES, axis=1)
    medians = np.log([np.median(b, axis=1) for b in batches])
    highs = np.log([tail_quantile(b, quantile) for b in batches])
    spread = [np.std(logs, axis=0, ddof=1) * T_95 / np.sqrt(BATCHES) for logs in (medians, highs)]
    return float(np.expm1(spread[0].max())), float(np.expm1(spread[1].mean()))


def _pareto_shape(scaled: Floats) -> float:
    """Return the shape of sorted excesses."""
    n = len(scaled)
    weights = 1.0 - (np.arange(1, n + 1) - 0.35) / n
    a0, a1 = scaled.mean(), (weights * scaled).mean()
    if a0 <= 2.0 * a1:
        return MIN_SHAPE
    return float(np.clip(2.0 - a0 / (a0 - 2.0 * a1), MIN_SHAPE, MAX_SHAPE))
