"""The features: from a glance at 256 samples to the search for hits in each band of the spectrum.

Host and node import this file; it needs numpy only.  A window has as many samples as eight revolutions take, so a line
of its spectrum stands for an eighth of an order: a multiple of the speed of the shaft.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_runtime import Feature, FeatureSpace, Step

from .machine import HITS, REVOLUTIONS, Signal

Numbers = NDArray[Any]

TINY = 1e-9  # keeps logarithms and divisions finite for a silent sensor
BANDS = 12
ORDERS = np.outer(list(HITS.values()), (1, 2)).ravel()  # where hits show: once and twice the hits in a revolution


class Spectrum(NamedTuple):
    """The Fourier transform of a window, and the revolutions that it spans."""

    values: NDArray[np.complex128]
    revolutions: float


def transform(x: Signal) -> Spectrum:
    """Half of the Fourier transform; the end is left out, for a length that is transformed fast; n log n."""
    shift = max(len(x).bit_length() - 5, 0)
    kept = x[: len(x) >> shift << shift]
    return Spectrum(np.fft.rfft(kept)[1:], REVOLUTIONS * len(kept) / len(x))


def glance(x: Signal) -> list[float]:
    """Strength and peak of 256 samples from the middle; constant."""
    return level(x[len(x) // 2 :][:256])


def level(x: Signal) -> list[float]:
    """Strength and peak, as logarithms; linear, the cheapest look at every sample."""
    return [float(np.log(x @ x / len(x) + TINY)), float(np.log(max(x.max(), -x.min()) + TINY))]


def impulses(x: Signal) -> list[float]:
    """Kurtosis and crest, which are high where there are hits; linear, some passes."""
    squares = x * x
    power = float(squares.mean()) + TINY
    return [float(np.log(squares @ squares / len(x) / power**2 + TINY)), float(squares.max()) ** 0.5 / power**0.5]


def wavelets(x: Signal) -> list[float]:
    """Strength and kurtosis of Haar's details at five scales; linear, a pass for each scale."""
    values: list[float] = []
    for _ in range(5):
        even, odd = x[: len(x) & ~1 : 2], x[1::2]
        values += [level(even - odd)[0], impulses(even - odd)[0]]
        x = (even + odd) * np.float32(0.5)
    return values


def bands(spectrum: Spectrum) -> Numbers:
    """Power in twelve bands, as logarithms; n log n with its transform."""
    power = spectrum.values.real**2 + spectrum.values.imag**2
    starts = np.arange(BANDS) * len(power) // BANDS
    return np.asarray(np.log(np.add.reduceat(power, starts) / len(power) + TINY))


def hits(spectrum: Spectrum) -> Numbers:
    """How far the beat of the upper half of the spectrum has lines where hits of a fault would be; n log n."""
    return beats(spectrum.values[len(spectrum.values) // 2 :], spectrum.revolutions)


def hits_by_band(spectrum: Spectrum) -> Numbers:
    """The strongest of these in eight bands, one of which holds the resonance; n log n, the dearest."""
    parts = np.split(spectrum.values[: len(spectrum.values) // 8 * 8], 8)
    return np.asarray(np.max([beats(part, spectrum.revolutions) for part in parts], axis=0))


def beats(part: NDArray[np.complex128], revolutions: float) -> Numbers:
    """Strength of the lines at `ORDERS` in the spectrum of the envelope of a band, against the median line.

    The inverse transform of a band alone is its oscillation at a lower rate; its square is the envelope's.
    """
    envelope = np.abs(np.fft.ifft(part)) ** 2
    lines = np.abs(np.fft.rfft(envelope))[1:]
    places = np.rint(ORDERS * revolutions).astype(int) - 1
    near = lines[np.minimum(places[:, None] + np.arange(-2, 3), len(lines) - 1)].max(axis=1)
    return np.asarray(np.log((near + TINY) / (float(np.median(lines)) + TINY)))


_transform = Step("transform", transform)

space = FeatureSpace(
    [
        Feature("glance", glance, width=2),
        Feature("level", level, width=2),
        Feature("impulses", impulses, width=2),
        Feature("wavelets", wavelets, width=10),
        Feature("bands", bands, width=BANDS, step=_transform),
        Feature("hits", hits, width=len(ORDERS), step=_transform),
        Feature("hits_by_band", hits_by_band, width=len(ORDERS), step=_transform),
    ],
    size=len,
)
