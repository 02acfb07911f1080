"""Power spectra, and the operations on them that the signals of several tasks need."""

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]

TINY = 1e-9
"""Added so that logarithms and divisions stay finite for a silent signal."""


FAST_LENGTHS: list[int] = sorted(2**i * 3**j * 5**k for i in range(24) for j in range(16) for k in range(11))


def fast_length(n: int) -> int:
    """Return the largest number up to n without a prime factor above 5.

    The Fourier transform of 3,064 = 8 * 383 numbers takes nine times as long as that of 3,000. A plan knows costs as
    functions of the size, so it would have to allow for the slow lengths at all sizes.

    >>> fast_length(3064), fast_length(8191), fast_length(1)
    (3000, 8100, 1)
    """
    return FAST_LENGTHS[bisect_right(FAST_LENGTHS, n) - 1]


def power_spectrum(signal: Numbers) -> Numbers:
    """Return the power of each frequency of a signal less its mean, along the first axis; n log n.

    The end of the signal is left out, for a length that is transformed fast.
    """
    signal = signal[: fast_length(len(signal))]
    transform = np.fft.rfft(signal - signal.mean(axis=0), axis=0)
    return np.asarray(transform.real**2 + transform.imag**2) / len(signal)


def band_means(power: Numbers, edges: Numbers) -> Numbers:
    """Return the mean over bands of the first axis; `edges` are shares of its length, from 0 up to below 1.

    A band narrower than one entry has the entry at its edge.

    >>> band_means(np.array([1.0, 3.0, 5.0, 7.0]), np.array([0.0, 0.5, 0.6]))
    array([2., 5., 6.])
    """
    starts = (np.asarray(edges) * len(power)).astype(np.intp)
    counts = np.maximum(np.diff(starts, append=len(power)), 1)
    return np.asarray(np.add.reduceat(power, starts, axis=0) / counts.reshape((-1, *(1,) * (power.ndim - 1))))


def log_edges(count: int, lowest: float) -> Numbers:
    """Return edges of a first band from 0 to `lowest` and of `count` - 1 bands, equally wide in pitch, above.

    >>> log_edges(3, 0.25)
    array([0.  , 0.25, 0.5 ])
    """
    return np.concatenate([[0.0], np.geomspace(lowest, 1.0, count)[:-1]])


def shape(power: Numbers) -> list[float]:
    """Return centre, width, flatness and strongest frequency of a spectrum, as shares of its length; linear."""
    total = float(power.sum()) + TINY
    place = np.arange(len(power)) / len(power)
    centre = float(place @ power) / total
    width = max(float(place**2 @ power) / total - centre**2, 0.0) ** 0.5
    flatness = float(np.log(power + TINY).mean()) - float(np.log(total / len(power)))
    return [centre, width, flatness, float(power.argmax()) / len(power)]
