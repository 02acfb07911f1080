"""Items and a feature space of what numpy computes by different code on each processor: sums, FFT, log, sorting."""

import numpy as np

from polydom_runtime import Feature, FeatureSpace, Step

power = Step("power", lambda x: np.abs(np.fft.rfft(x)) ** 2)


def level(x: np.ndarray) -> list[float]:
    return [x.mean(), x.std()]


def spread(x: np.ndarray) -> list[float]:
    return [*np.quantile(x, (0.1, 0.5, 0.9))]


def turns(x: np.ndarray) -> list[float]:
    d = np.diff(x)
    return [(d[1:] * d[:-1] < 0).mean()]


def bands(power: np.ndarray) -> list[float]:
    return [np.log1p(part.mean()) for part in np.array_split(power[1:], 4)]


def peak(power: np.ndarray) -> list[float]:
    return [power.argmax() / len(power)]


space = FeatureSpace(
    [
        Feature("level", level, width=2),
        Feature("spread", spread, width=3),
        Feature("turns", turns),
        Feature("bands", bands, width=4, step=power),
        Feature("peak", peak, step=power),
    ],
    size=len,
)


def items(count: int, seed: int) -> tuple[list[np.ndarray], list[str]]:
    """Return signals of 16 to 2,000 numbers: a low or a high tone in noise that is plain, louder or skewed."""
    rng = np.random.default_rng(seed)
    signals, labels = [], []
    for k in range(count):
        n = int(np.exp(rng.uniform(np.log(16), np.log(2000))))
        tone, noise = divmod(k % 6, 3)
        x = (rng.normal(size=n), 1.3 * rng.normal(size=n), rng.exponential(size=n) - 1.0)[noise]
        signals.append(x + 0.7 * np.sin((0.5 + tone) * np.arange(n)))
        labels.append(("low", "high")[tone] + " " + ("plain", "louder", "skewed")[noise])
    return signals, labels
