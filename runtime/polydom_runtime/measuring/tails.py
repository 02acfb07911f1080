"""High quantiles of time samples, including the part of the tail that a few hundred samples do not show.

The method is peaks over threshold: the amounts by which samples exceed a high threshold nearly follow a generalised
Pareto distribution, whatever the distribution of the samples (Balkema and de Haan 1974, Pickands 1975). Its shape
needs more samples than one item size has, so it is estimated from all sizes together, the excesses of each divided by
their mean (the index-flood method, Hosking and Wallis 1997). Probability-weighted moments (Hosking and Wallis 1987)
are more stable for few samples than maximum likelihood.
"""

import numpy as np

from polydom_runtime.arrays import Floats

THRESHOLD = 0.9
"""Samples above this quantile of their size count as the tail."""

MIN_SHAPE, MAX_SHAPE = -1.0, 0.5
"""Limits of the shape, from a uniform tail (as of a processor clock with two speeds) to infinite variance; an estimate
outside of them is likely an accident of few samples."""

MIN_SAMPLES = 10
"""The fewest samples for each size with which there is a tail to fit."""

BATCHES = 8
T_95 = 2.365
"""The two-sided 95 % point of Student's t distribution with BATCHES - 1 degrees of freedom."""


def tail_quantile(samples: Floats, quantile: float) -> Floats:
    """Return the quantile of times (n_sizes, n_rounds) at each size: of the samples or, if higher, of their tail.

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
    # A Pareto distribution with the shape s and the mean m has the scale m (1 - s). One in t = `times_rarer` samples of
    # the tail exceeds scale * (t ** s - 1) / s, which is scale * log(t) in the limit s = 0.
    times_rarer = np.maximum(counts, 1) / samples.shape[1] / (1.0 - quantile)
    growth = np.log(times_rarer) if shape == 0.0 else (times_rarer**shape - 1.0) / shape
    fitted: Floats = threshold + mean * (1.0 - shape) * np.maximum(growth, 0.0)
    return np.maximum(seen, fitted)


def pooled_quantile(samples: Floats, quantile: float) -> float:
    """Return the quantile of all samples together, whatever their shape, or of their tail if that is higher."""
    return float(tail_quantile(samples.reshape(1, -1), quantile)[0])


def relative_error(samples: Floats, quantile: float) -> tuple[float, float]:
    """Return the relative errors of the median (at the worst size) and of the high quantile (in the mean of sizes).

    They are half widths of 95 % intervals, infinite with too few rounds. The intervals come from batches of
    consecutive rounds, so that slow changes of the machine count, too.
    """
    if samples.shape[1] < 2 * BATCHES:
        return np.inf, np.inf
    batches = np.array_split(samples, BATCHES, axis=1)
    medians = np.log([np.median(b, axis=1) for b in batches])
    highs = np.log([tail_quantile(b, quantile) for b in batches])
    spread = [np.std(logs, axis=0, ddof=1) * T_95 / np.sqrt(BATCHES) for logs in (medians, highs)]
    return float(np.expm1(spread[0].max())), float(np.expm1(spread[1].mean()))


def _pareto_shape(scaled: Floats) -> float:
    """Return the shape of sorted excesses, by probability-weighted moments (Hosking and Wallis 1987)."""
    n = len(scaled)
    weights = 1.0 - (np.arange(1, n + 1) - 0.35) / n
    a0, a1 = scaled.mean(), (weights * scaled).mean()
    if a0 <= 2.0 * a1:
        return MIN_SHAPE
    return float(np.clip(2.0 - a0 / (a0 - 2.0 * a1), MIN_SHAPE, MAX_SHAPE))
