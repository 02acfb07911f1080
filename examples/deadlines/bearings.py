"""Which part of a motor's bearing is damaged, and how badly, from short windows of its vibration.

The bearing data of Case Western Reserve University, as ``cwru_bearing/cwru_de.npz``: drive-end accelerometer, arrays
signal (16-bit, all recordings end to end), offset, scale (g a count), label, fault_mil, load_hp and rate.  Only the
recordings at 12 kHz are used, which have faults of the ball, the inner and the outer race at four loads each; the one
recording of a sound bearing is at another rate.  An item is a window of 5 to 340 ms.
"""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.exceptions import ItemError

from .arrays import read_arrays, split_signal
from .spectra import TINY, Numbers, band_means, fast_length, log_edges, power_spectrum, shape
from .task import Task
from .windows import cut, varied_lengths

Signal = NDArray[np.float32]

MIN_LENGTH, MAX_LENGTH = 64, 4096  # samples
RATE, TESTED_LOAD = 12_000, 3  # Hz, hp
WINDOWS = 1200
"""Number of windows to build with; the number to test is the same."""

LINEAR_EDGES = np.arange(16) / 16
ENVELOPE_EDGES = log_edges(8, 0.02)


def level(x: Signal) -> list[float]:
    """Root mean square and peak, as logarithms; linear, the cheapest look at every sample."""
    return [float(np.log(x @ x / x.size + TINY)), float(np.log(np.abs(x).max() + TINY))]


def glance(x: Signal) -> list[float]:
    """Root mean square and mean strength of 64 samples from the middle; constant."""
    middle = x[(x.size - MIN_LENGTH) // 2 :][:MIN_LENGTH]
    return [float(np.log(middle @ middle / middle.size + TINY)), float(np.log(np.abs(middle).mean() + TINY))]


def moments(x: Signal) -> list[float]:
    """Skewness, kurtosis and crest, which tell how impulsive it is; linear, some passes."""
    centred = x - x.mean()
    squares = centred * centred
    deviation = float(squares.mean()) ** 0.5 + TINY
    skewness = float(squares @ centred) / x.size / deviation**3
    kurtosis = float(squares @ squares) / x.size / deviation**4
    return [skewness, float(np.log(kurtosis + TINY)), float(np.abs(centred).max()) / deviation]


def quantiles(x: Signal) -> Numbers:
    """Sorted strengths at seven ranks, relative to their mean; n log n."""
    strengths = np.sort(np.abs(x))
    ranks = [int(share * (x.size - 1)) for share in (0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)]
    return np.asarray(strengths[ranks] / (strengths.mean() + TINY))


def differences(x: Signal) -> list[float]:
    """Strength of the first and the second difference beside the signal's, and the share of turns; linear."""
    first = np.diff(x)
    second = np.diff(first)
    a, b, c = (float(y @ y) / y.size + TINY for y in (x, first, second))
    turns = float((first[1:] * first[:-1] < 0.0).mean())
    return [float(np.log(b / a)), float(np.log(c / b)), turns]


def autocorrelation(x: Signal) -> list[float]:
    """Likeness to itself 1 to 16 samples later; linear, sixteen products."""
    energy = float(x @ x) + TINY
    return [float(x[:-lag] @ x[lag:]) / energy for lag in range(1, 17)]


def bands(power: Numbers) -> Numbers:
    """Share of the power in sixteen bands; n log n with its transform."""
    means = band_means(power, LINEAR_EDGES)
    return np.log(means + TINY)


def envelope(x: Signal) -> Numbers:
    """Strength of the analytic signal at every sample, after Hilbert; n log n, two transforms."""
    x = x[: fast_length(x.size)]  # the end is left out, for a length that is transformed fast
    transform = np.fft.fft(x - x.mean())
    half = (x.size + 1) // 2
    transform[1:half] *= 2.0
    transform[x.size // 2 + 1 :] = 0.0
    return np.asarray(np.abs(np.fft.ifft(transform)))


def beats(strength: Numbers) -> Numbers:
    """Share of the slow changes of the envelope in eight bands of pitch; n log n, one more transform."""
    means = band_means(power_spectrum(strength), ENVELOPE_EDGES)
    return np.asarray(np.log(means + TINY) - np.log(float(strength.mean()) ** 2 + TINY))


def bursts(strength: Numbers) -> list[float]:
    """How uneven the envelope is; linear with it."""
    mean = float(strength.mean()) + TINY
    return [float(strength.std()) / mean, float(strength.max()) / mean, float(strength.min()) / mean]


PLACES = np.array([64, 16, 4, 1])
PATTERNS = np.array([order @ PLACES for order in permutations(range(4))])
"""The number of each order in which four samples can lie."""


def patterns(x: Signal) -> Numbers:
    """Shares of the 24 orders in which four samples in a row can lie; linear, a sort of every four."""
    windows = np.lib.stride_tricks.sliding_window_view(x, 4)
    codes = np.argsort(windows, axis=1, kind="stable") @ PLACES
    return np.asarray(np.bincount(codes, minlength=256)[PATTERNS] / len(codes))


def recurrence(x: Signal) -> list[float]:
    """How often two stretches of three samples are alike, within four distances; quadratic (of every eighth sample)."""
    tracks = np.lib.stride_tricks.sliding_window_view(x, 3)[::8]
    scaled = tracks / (np.float32(x.std()) + np.float32(TINY))
    squares = (scaled * scaled).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * scaled @ scaled.T
    return [float(np.count_nonzero(distances < reach)) / distances.size for reach in (0.1, 0.5, 2.0, 8.0)]


_spectrum = Step("spectrum", power_spectrum)
_envelope = Step("hilbert", envelope)

space = FeatureSpace(
    [
        Feature("glance", glance, 2),
        Feature("level", level, 2),
        Feature("moments", moments, 3),
        Feature("differences", differences, 3),
        Feature("quantiles", quantiles, 7),
        Feature("autocorrelation", autocorrelation, 16),
        Feature("bands", bands, 16, _spectrum),
        Feature("shape", shape, 4, _spectrum),
        Feature("bursts", bursts, 3, _envelope),
        Feature("beats", beats, 8, _envelope),
        Feature("patterns", patterns, 24),
        Feature("recurrence", recurrence, 4),
    ],
    size=len,
)


def load(data: Path, windows: int = WINDOWS, seed: int = 0) -> Task:
    """Return windows of the recordings: those at the highest load to test, the others to build, each load a group.

    `data`: holds ``cwru_bearing/cwru_de.npz``. `windows`: number of windows to build with, and number to test; the
    recordings take turns.
    """
    file = data / "cwru_bearing" / "cwru_de.npz"
    arrays = read_arrays(file, "signal", "offset", "scale", "label", "fault_mil", "load_hp", "rate")
    loads = arrays["load_hp"].tolist()
    usable = [i for i, rate in enumerate(arrays["rate"].tolist()) if rate == RATE]
    built, tested = ([i for i in usable if (loads[i] == TESTED_LOAD) == test] for test in (False, True))
    n_groups = len({loads[i] for i in built})
    if n_groups < 2 or not tested:
        raise ItemError(
            f"{file} must have {RATE} Hz at {TESTED_LOAD} hp and at two more loads. Got {sorted(set(loads))}."
        )
    rng = np.random.default_rng(seed)
    sources, items = _windows(arrays, built, windows, rng)
    test_sources, test_items = _windows(arrays, tested, windows, rng)
    labels = [f"{kind} {mil}" for kind, mil in zip(arrays["label"].tolist(), arrays["fault_mil"].tolist(), strict=True)]
    return Task(
        "bearings",
        space,
        items,
        [labels[i] for i in sources],
        [loads[i] for i in sources],
        test_items,
        [labels[i] for i in test_sources],
        folds=n_groups,
    )


def _windows(
    arrays: dict[str, Numbers], recordings: Sequence[int], count: int, rng: np.random.Generator
) -> tuple[list[int], list[Signal]]:
    """Return windows in g from recordings that take turns, each with its recording."""
    signals, scales = split_signal(arrays), arrays["scale"]
    sources = [recordings[k % len(recordings)] for k in range(count)]
    lengths = varied_lengths(count, MIN_LENGTH, MAX_LENGTH, rng)
    pairs = zip(sources, lengths, strict=True)
    return sources, [(cut(signals[i], length, rng) * scales[i]).astype(np.float32) for i, length in pairs]
