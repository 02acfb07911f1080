"""High quantiles of time samples, including the part of the tail that a few hundred samples do not show.

A deadline is planned with quantiles such as 0.999, while a measurement has a few hundred rounds: the largest samples
say little about the next larger ones. The method is peaks over threshold. The amounts by which samples exceed a high
threshold nearly follow a generalised Pareto distribution, whatever the distribution of the samples is (Balkema and de
Haan 1974, Pickands 1975). Its shape needs more samples than one item size has. It is therefore estimated from all sizes
together, the excesses of each divided by their mean (as in the index-flood method of hydrology, Hosking and Wallis
1997). The estimator is that of probability-weighted moments (Hosking and Wallis 1987), which is more stable for few
samples than maximum likelihood.
"""

import numpy as np

from polydom_runtime.arrays import Floats

THRESHOLD = 0.9
"""Samples above this quantile of their size count as the tail."""

MIN_SHAPE, MAX_SHAPE = -1.0, 0.5
"""Limits of the shape, from a uniform tail (as of a processor clock with two speeds) to infinite variance.

An estimate outside these limits is likely an accident of few samples.
"""

MIN_SAMPLES = 10
"""With fewer samples for each size there is no tail to fit."""

BATCHES = 8
T_95 = 2.365
"""The two-sided 95 % point of Student's t distribution with BATCHES - 1 degrees of freedom."""


def tail_quantile(samples: Floats, quantile: float) -> Floats:
    """Return the quantile at each size, shape ``(n_sizes,)``: of the samples or of the tail, whichever is higher.

    `samples` (shape (n_sizes, n_rounds)): times in any unit; the result has the same unit. `quantile`: above 0 and at
    most 1. Up to `THRESHOLD`, and at 1, it is that of the samples alone.

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
    """Return the relative errors of the median and of the high quantile: half widths of 95 % intervals, as fractions.

    The intervals come from the spread between batches of rounds. A batch consists of consecutive rounds, so that slow
    changes of the machine count, too. Of the median, the error at the worst size is returned. Of the quantile, which is
    noisier and fitted over all sizes together, it is the mean over the sizes. Both are infinite with too few rounds.
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
