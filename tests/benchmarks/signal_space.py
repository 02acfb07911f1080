"""Twelve features of one-dimensional signals, of all kinds of growth, for measuring."""

import numpy as np
from numpy.typing import NDArray

from polydom_runtime import Feature, FeatureSpace, Step

Signal = NDArray[np.float64]

power = Step("power", lambda x: np.abs(np.fft.rfft(x)) ** 2)
steps = Step("steps", np.diff)


def moments(x: Signal) -> list[float]:
    centred = x - x.mean()
    variance = float(centred @ centred) / x.size + 1e-12
    return [float((centred**3).mean() / variance**1.5), float((centred**4).mean() / variance**2)]


def quantiles(x: Signal) -> list[float]:
    found: list[float] = np.sort(x)[[x.size // 10, x.size // 4, x.size // 2, -1 - x.size // 4]].tolist()
    return found


def histogram(x: Signal) -> Signal:
    return np.histogram(x, bins=8)[0] / x.size


def autocorrelation(x: Signal) -> list[float]:
    return [float(x[:-lag] @ x[lag:]) / x.size for lag in range(1, 9)]


def self_match(x: Signal) -> list[float]:
    """Quadratic: the smallest distance between the first 400 values and their shifts."""
    part = x[: min(x.size, 400)]
    return [float(np.abs(part[:, None] - part[None, :]).mean())]


def envelope(x: Signal) -> list[float]:
    smooth = np.convolve(np.abs(x), np.ones(15) / 15, mode="valid")
    return [float(smooth.max()), float(smooth.std())]


def bands(p: Signal) -> list[float]:
    return [float(np.log1p(part.sum())) for part in np.array_split(p, 8)]


def centroid(p: Signal) -> list[float]:
    return [float(np.arange(p.size) @ p / (p.sum() + 1e-12))]


def turns(d: Signal) -> list[float]:
    return [float((d[1:] * d[:-1] < 0).mean())]


space = FeatureSpace(
    [
        Feature("mean", lambda x: [x.mean()]),
        Feature("rms", lambda x: [float(x @ x) ** 0.5]),
        Feature("extremes", lambda x: [x.min(), x.max()], width=2),
        Feature("moments", moments, width=2),
        Feature("quantiles", quantiles, width=4),
        Feature("histogram", histogram, width=8),
        Feature("autocorrelation", autocorrelation, width=8),
        Feature("self_match", self_match),
        Feature("envelope", envelope, width=2),
        Feature("bands", bands, width=8, step=power),
        Feature("centroid", centroid, step=power),
        Feature("turns", turns, step=steps),
    ],
    size=len,
)


def windows(signals: list[Signal], count: int = 300, longest: int = 32768, seed: int = 0) -> list[Signal]:
    """Cut windows of 64 to `longest` values, evenly spread over log n."""
    rng = np.random.default_rng(seed)
    largest = min(longest, max(len(s) for s in signals))
    cut = []
    for n in np.geomspace(min(64, largest // 8), largest, count).astype(int):
        fitting = [s for s in signals if len(s) >= n]
        signal = fitting[rng.integers(len(fitting))]
        start = int(rng.integers(len(signal) - n + 1))
        cut.append(np.ascontiguousarray(signal[start : start + n], dtype=np.float64).reshape(n, -1)[:, 0].copy())
    return cut
