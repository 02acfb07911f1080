"""Spoken digits by six speakers; one speaker is used only for the test.

The Free Spoken Digit Dataset (Jakobovski and others, CC BY-SA 4.0): 3000 recordings of zero to nine at 8 kHz, packed as
``fsdd/fsdd.npz`` with the arrays signal (16-bit, end to end), offset, label, speaker and take.  An item is a whole
recording, 0.14 to 2.3 s long, so sizes differ by a factor of sixteen.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.exceptions import ItemError

from .arrays import read_arrays, split_signal
from .spectra import TINY, Numbers, band_means, log_edges, power_spectrum, shape
from .task import Task

Signal = NDArray[np.float32]

FRAME, HOP = 256, 64  # samples
WINDOW = np.hanning(FRAME).astype(np.float32)
MEL_EDGES = log_edges(20, 0.03)
TESTED = "theo"
"""The speaker who is used only for the test."""

TAKES = 40
"""Number of recordings of each digit and speaker to build with, of the fifty that there are."""


def loudness(x: Signal) -> list[float]:
    """Length, root mean square and peak, as logarithms; linear."""
    return [float(np.log(x.size)), float(np.log(x @ x / x.size + TINY)), float(np.log(np.abs(x).max() + TINY))]


def contour(x: Signal) -> Numbers:
    """Loudness of ten equal parts, relative to the whole; linear."""
    energies = band_means(x * x, np.arange(10) / 10)
    return np.asarray(np.log(energies + TINY) - np.log(energies.mean() + TINY))


def crossings(x: Signal) -> Numbers:
    """Share of neighbours of different sign in six equal parts; linear."""
    negative = x < 0.0
    return band_means((negative[1:] != negative[:-1]).astype(np.float32), np.arange(6) / 6)


def quantiles(x: Signal) -> Numbers:
    """How the strengths are distributed, relative to the strongest; n log n (a sort)."""
    strengths = np.sort(np.abs(x))
    ranks = [int(share * (x.size - 1)) for share in (0.1, 0.25, 0.5, 0.75, 0.9)]
    return np.asarray(strengths[ranks] / (strengths[-1] + TINY))


def prediction(x: Signal) -> Numbers:
    """Cepstrum of the linear prediction of order 12; linear (thirteen products of the signal with itself)."""
    order = 12
    lags = np.array([x[: x.size - lag] @ x[lag:] for lag in range(order + 1)], dtype=np.float64)
    lags[0] += 1e-4 * lags[0] + TINY
    a = np.linalg.solve(lags[np.abs(np.subtract.outer(range(order), range(order)))], lags[1:])
    cepstrum = np.zeros(order)
    for m in range(order):
        cepstrum[m] = a[m] + sum((k + 1) / (m + 1) * cepstrum[k] * a[m - k - 1] for k in range(m))
    return cepstrum


def long_bands(power: Numbers) -> Numbers:
    """Loudness in twenty bands of pitch over the whole recording; n log n with its transform."""
    loud = np.log(band_means(power, MEL_EDGES) + TINY)
    return np.asarray(loud - loud.mean())


def frames(x: Signal) -> Numbers:
    """Power spectra of overlapping frames of 32 ms, shape ``(n_frames, 129)``; linear."""
    parts = np.lib.stride_tricks.sliding_window_view(x, FRAME)[::HOP]
    transform = np.fft.rfft(parts * WINDOW, axis=1)
    return np.asarray(transform.real**2 + transform.imag**2)


def mel(x: Signal) -> Numbers:
    """Loudness of the frames in twenty bands of pitch, shape ``(n_frames, 20)``; linear."""
    return np.asarray(np.log(band_means(frames(x).T, MEL_EDGES).T + 1e-6))


def mel_mean(levels: Numbers) -> Numbers:
    """Mean loudness in each band; linear with its frames."""
    means = levels.mean(axis=0)
    return np.asarray(means - means.mean())


def mel_course(levels: Numbers) -> Numbers:
    """Loudness in each band in five equal parts of the recording; linear with its frames."""
    course = band_means(levels, np.arange(5) / 5)
    return np.asarray(course - course.mean()).ravel()


def cepstra(levels: Numbers) -> Numbers:
    """Mean and deviation of twelve cepstral coefficients; linear with its frames."""
    coefficients = np.asarray(dct(levels, axis=1, norm="ortho"))[:, 1:13]
    return np.concatenate([coefficients.mean(axis=0), coefficients.std(axis=0)])


def changes(levels: Numbers) -> Numbers:
    """How each band moves from frame to frame, up and down; linear with its frames."""
    if len(levels) < 2:
        return np.zeros(2 * levels.shape[1])
    steps = np.diff(levels, axis=0)
    return np.concatenate([np.maximum(steps, 0.0).mean(axis=0), np.maximum(-steps, 0.0).mean(axis=0)])


def recurrence(levels: Numbers) -> Numbers:
    """Distances between the frames of each two of six parts; quadratic (every frame with every other)."""
    squares = (levels * levels).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * levels @ levels.T, 0.0))
    blocks = band_means(band_means(distances, np.arange(6) / 6).T, np.arange(6) / 6)
    return np.asarray(blocks[np.triu_indices(6)])


_spectrum = Step("spectrum", power_spectrum)
_mel = Step("mel", mel)

space = FeatureSpace(
    [
        Feature("loudness", loudness, 3),
        Feature("contour", contour, 10),
        Feature("crossings", crossings, 6),
        Feature("quantiles", quantiles, 5),
        Feature("prediction", prediction, 12),
        Feature("long_bands", long_bands, 20, _spectrum),
        Feature("long_shape", shape, 4, _spectrum),
        Feature("mel_mean", mel_mean, 20, _mel),
        Feature("mel_course", mel_course, 100, _mel),
        Feature("cepstra", cepstra, 24, _mel),
        Feature("changes", changes, 40, _mel),
        Feature("recurrence", recurrence, 21, _mel),
    ],
    size=len,
)


def load(data: Path, takes: int = TAKES) -> Task:
    """Return the recordings: those of one speaker to test, the others to build with; each speaker is a group.

    `data`: holds ``fsdd/fsdd.npz``. `takes`: number of recordings of each digit and speaker to build with.
    """
    file = data / "fsdd" / "fsdd.npz"
    arrays = read_arrays(file, "signal", "offset", "label", "speaker", "take")
    signals = [(part / np.float32(32768)).astype(np.float32) for part in split_signal(arrays)]
    labels, speakers = arrays["label"].tolist(), arrays["speaker"].tolist()
    others = sorted(set(speakers) - {TESTED})
    if TESTED not in speakers or len(others) < 2:
        raise ItemError(f"{file} must have {TESTED} and two more speakers. Got {sorted(set(speakers))}.")
    test = [i for i, speaker in enumerate(speakers) if speaker == TESTED]
    build = [i for i, take in enumerate(arrays["take"].tolist()) if speakers[i] != TESTED and take < takes]
    return Task(
        "digits",
        space,
        [signals[i] for i in build],
        [labels[i] for i in build],
        [speakers[i] for i in build],
        [signals[i] for i in test],
        [labels[i] for i in test],
        folds=len(others),
    )
