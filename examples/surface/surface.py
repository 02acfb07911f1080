"""Recognise the surface that a camera looks at: brick, grass or gravel.

A small rover, or a drone close to the ground, carries a camera that looks straight down.  Each frame yields one square
grey patch, 12 to 192 pixels wide, and the answer has to be ready before the next one arrives.  The exposure changes
from patch to patch and the sensor is noisy, so brightness alone does not distinguish the surfaces.  Texture does, but
the time that texture features take grows with the number of pixels.  A large patch leaves time for only a few of the
features below, a small patch for many.

``space`` lists the features for Poly-Dom; it needs numpy only.  ``patches`` cuts labelled patches from the
photographs that scikit-image ships (brick, grass and gravel, all CC0); only that function needs scikit-image.  The left
halves of the photographs are for training and the right halves for testing, so no test pixel is seen in training.
"""

import numpy as np
from numpy.typing import NDArray

from polydom_runtime import Feature, FeatureSpace, Step

Image = NDArray[np.float32]
Vector = NDArray[np.float64]
Levels = NDArray[np.intp]
Transform = NDArray[np.complex64]

SURFACES = ("brick", "grass", "gravel")
MIN_SIDE, MAX_SIDE = 12, 192  # sides of the patches, in pixels
GAIN, OFFSET, NOISE = (0.2, 1.0), (-0.2, 0.4), (0.0, 0.06)  # ranges of the exposure and of the sensor noise
TINY = 1e-6  # keeps divisions and logarithms finite on a constant patch
LEVELS = 8  # grey levels of the histogram and the co-occurrence matrix
RING_EDGES = np.array([1 / 40, 1 / 20, 1 / 11, 1 / 7, 1 / 5, 1 / 3.5, 1 / 2.5], dtype=np.float32) ** 2  # squared
# Wave vectors of the Gabor bank, in cycles per pixel: across is the real part, down the imaginary part.
WAVES = np.outer((0.08, 0.16, 0.32), np.exp(0.25j * np.pi * np.arange(4))).reshape(12, 1)


def _rms(image: Image) -> float:
    """Root mean square of the values; linear."""
    flat = image.ravel()
    return float(np.sqrt(flat @ flat / flat.size))


def level(patch: Image) -> list[float]:
    """Mean and standard deviation of the grey values; linear, the cheapest look at every pixel."""
    flat = patch.ravel()
    mean = float(flat.sum()) / flat.size
    variance = float(flat @ flat) / flat.size - mean * mean
    return [mean, max(variance, 0.0) ** 0.5]


def quantiles(patch: Image) -> list[float]:
    """Shape of the grey-value distribution from at most 16 x 16 pixels; nearly constant."""
    stride = -(-max(patch.shape) // 16)
    sample = patch[::stride, ::stride].ravel()
    ranks = [int(share * (sample.size - 1)) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
    q05, q25, q50, q75, q95 = np.partition(sample, ranks)[ranks].tolist()
    spread = q95 - q05 + TINY
    return [q50, spread, (q25 - q05) / spread, (q50 - q25) / spread, (q75 - q50) / spread]


def quantise(patch: Image) -> Levels:
    """Grey levels 0 to 7, centred on the mean and half a standard deviation wide; linear."""
    mean, deviation = level(patch)
    scaled = (patch - np.float32(mean)) * np.float32(2.0 / (deviation + TINY)) + np.float32(LEVELS / 2)
    return scaled.clip(0, LEVELS - 1).astype(np.intp)


def histogram(levels: Levels) -> Vector:
    """Share of the pixels in each grey level; linear."""
    return np.bincount(levels.ravel(), minlength=LEVELS) / levels.size


_row, _column = np.divmod(np.arange(LEVELS * LEVELS), LEVELS)
PAIR_STATISTICS = np.stack(
    [(_row - _column) ** 2, 1 / (1 + (_row - _column) ** 2), _row, _column, _row**2, _row * _column], axis=1
)


def cooccurrence(levels: Levels) -> list[float]:
    """Haralick's contrast, homogeneity, energy and correlation at two pixels' distance, in two directions; linear."""
    values: list[float] = []
    for first, second in ((levels[:, :-2], levels[:, 2:]), (levels[:-2], levels[2:])):
        counts = np.bincount((first * LEVELS + second).ravel(), minlength=LEVELS * LEVELS)
        share = counts / first.size
        contrast, homogeneity, row, column, squares, products = (share @ PAIR_STATISTICS).tolist()
        correlation = (products - row * column) / (squares - row * row + TINY)
        values += [contrast / 4, homogeneity, 8 * float(share @ share), correlation]
    return values


def sobel(patch: Image) -> tuple[Image, Image]:
    """Sobel's edge images across and down, on the pixels that have all their neighbours; linear, a dozen passes."""
    smooth_down = patch[:-2] + patch[1:-1] + patch[1:-1] + patch[2:]
    smooth_across = patch[:, :-2] + patch[:, 1:-1] + patch[:, 1:-1] + patch[:, 2:]
    return smooth_down[:, 2:] - smooth_down[:, :-2], smooth_across[2:] - smooth_across[:-2]


def gradients(edges: tuple[Image, Image]) -> list[float]:
    """Strength of the edges across and down, and how far a few strong ones dominate; linear."""
    values: list[float] = []
    for part in edges:
        strength = _rms(part)
        values += [strength, float(np.abs(part).sum()) / part.size / (strength + TINY)]
    return values


def orientations(edges: tuple[Image, Image]) -> Vector:
    """Histogram of the edge directions, weighted by squared strength; linear (an arctangent a pixel)."""
    across, down = (part.ravel() for part in edges)
    bins = (np.arctan2(down, across) * np.float32(8 / np.pi) + np.float32(8.5)).astype(np.intp) % 8
    strength = np.bincount(bins, weights=across * across + down * down, minlength=8)
    return np.asarray(8 * strength / (strength.sum() + TINY), dtype=np.float64)


def fourier(patch: Image) -> Transform:
    """Fourier transform of the patch less its mean, trimmed to a multiple of 12 pixels a side; n log n."""
    height, width = (side - side % 12 for side in patch.shape)
    trimmed = patch[:height, :width]
    return np.fft.fft2(trimmed - trimmed.mean()).astype(np.complex64, copy=False)


def power(transform: Transform) -> Image:
    """Power of each frequency as a share of the whole; linear."""
    squares: Image = transform.real**2 + transform.imag**2
    return squares * np.float32(1 / (float(squares.sum()) + TINY))


def spectrum(transform: Transform) -> Vector:
    """Share of the power in eight rings of spatial frequency, coarse to fine; n log n with its transform."""
    height, width = transform.shape
    down, across = np.fft.fftfreq(height) ** 2, np.fft.fftfreq(width) ** 2
    rings = np.searchsorted(RING_EDGES, np.add.outer(down, across).astype(np.float32).ravel())
    return np.sqrt(np.bincount(rings, weights=power(transform).ravel(), minlength=8))


def autocorrelation(transform: Transform) -> NDArray[np.float32]:
    """Likeness of the patch to itself shifted by 1 to 6 pixels, across and down; n log n (one more transform)."""
    correlation = np.fft.ifft2(power(transform)).real * np.float32(transform.size)
    lags = [1, 2, 3, 4, 6]
    return np.concatenate([correlation[0, lags], correlation[lags, 0]])


def gabor(transform: Transform) -> NDArray[np.float32]:
    """Mean response to a Gabor bank (three wavelengths, four directions); n log n, twelve transforms: the dearest."""
    height, width = transform.shape
    fall = -0.5 / (0.4 * np.abs(WAVES)) ** 2
    down = np.exp(fall * (np.fft.fftfreq(height) - WAVES.imag) ** 2).astype(np.float32)
    across = np.exp(fall * (np.fft.fftfreq(width) - WAVES.real) ** 2).astype(np.float32)
    responses = np.abs(np.fft.ifft2(transform * down[:, :, None] * across[:, None, :]))
    means: NDArray[np.float32] = responses.mean(axis=(1, 2))
    deviation = float(np.linalg.norm(transform)) / transform.size
    return means * np.float32(4 / (deviation + TINY))


def _uniform_codes() -> Levels:
    """For each of the 256 local binary patterns: its number of ones if it is uniform, else 9; computed once."""
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    changes = (bits != np.roll(bits, 1, axis=1)).sum(axis=1)
    return np.where(changes <= 2, bits.sum(axis=1), 9).astype(np.intp)


UNIFORM = _uniform_codes()


def binary_patterns(patch: Image) -> Vector:
    """Histogram of the uniform local binary patterns at radius two; linear (eight comparisons a pixel)."""
    height, width = patch.shape
    centre = patch[2:-2, 2:-2]
    codes = np.zeros(centre.shape, dtype=np.uint8)
    for down, across in ((0, 2), (1, 3), (2, 4), (3, 3), (4, 2), (3, 1), (2, 0), (1, 1)):
        codes += codes  # shift the code left by one bit
        codes += patch[down : height - 4 + down, across : width - 4 + across] > centre
    counts = np.bincount(codes.ravel(), minlength=256)
    return np.bincount(UNIFORM, weights=counts, minlength=10) / centre.size


def _running(extreme: np.ufunc, image: Image, window: int) -> Image:
    """Running minimum or maximum over squares whose side is a power of two, by doubling; linear."""
    shift = 1
    while shift < window:
        image = extreme(image[:, :-shift], image[:, shift:])
        image = extreme(image[:-shift], image[shift:])
        shift *= 2
    return image


def granulometry(patch: Image) -> list[float]:
    """How much of the texture openings and closings of side 2 and 4 remove; linear, some twenty passes."""
    mean, deviation = level(patch)
    values: list[float] = []
    for window in (2, 4):
        opened = _running(np.maximum, _running(np.minimum, patch, window), window)
        closed = _running(np.minimum, _running(np.maximum, patch, window), window)
        for filtered in (opened, closed):
            values.append(abs(float(filtered.sum()) / filtered.size - mean) / (deviation + TINY))
    return values


def local_median(patch: Image) -> list[float]:
    """Texture left after a 3 x 3 median filter has removed the noise; linear, a sort for every pixel."""
    windows = np.lib.stride_tricks.sliding_window_view(patch, (3, 3))
    middle = np.partition(windows.reshape(*windows.shape[:2], 9), 4, axis=2)[:, :, 4]
    mean, deviation = level(patch)
    parts = [middle - np.float32(mean), patch[1:-1, 1:-1] - middle]
    for lag in (1, 3):
        parts += [middle[:, lag:] - middle[:, :-lag], middle[lag:] - middle[:-lag]]
    return [_rms(part) / (deviation + TINY) for part in parts]


_quantise = Step("grey levels", quantise)
_sobel = Step("sobel", sobel)
_fourier = Step("fourier", fourier)

space = FeatureSpace(
    [
        Feature("level", level, width=2),
        Feature("quantiles", quantiles, width=5),
        Feature("histogram", histogram, width=8, step=_quantise),
        Feature("cooccurrence", cooccurrence, width=8, step=_quantise),
        Feature("gradients", gradients, width=4, step=_sobel),
        Feature("orientations", orientations, width=8, step=_sobel),
        Feature("binary_patterns", binary_patterns, width=10),
        Feature("granulometry", granulometry, width=4),
        Feature("spectrum", spectrum, width=8, step=_fourier),
        Feature("autocorrelation", autocorrelation, width=10, step=_fourier),
        Feature("local_median", local_median, width=6),
        Feature("gabor", gabor, width=12, step=_fourier),
    ],
    size=np.size,
)


def patches(part: str, count: int = 1500, seed: int = 0) -> tuple[list[Image], list[str]]:
    """Cut ``count`` labelled patches from the left ("train") or right ("test") halves of the photographs.

    Sides are spread evenly on a logarithmic scale and the surfaces take turns.  Each patch is turned by a
    multiple of 90 degrees, gets its own exposure (gain and offset) and sensor noise, and is clipped to 0..1.
    """
    from skimage import data

    if part not in ("train", "test"):
        raise ValueError(f'part must be "train" or "test", not {part!r}')
    random = np.random.default_rng([seed, part == "test"])
    halves: dict[str, Image] = {}
    for surface in SURFACES:
        picture = getattr(data, surface)().astype(np.float32) / np.float32(255)
        middle = picture.shape[1] // 2
        halves[surface] = picture[:, :middle] if part == "train" else picture[:, middle:]
    cut: list[Image] = []
    labels: list[str] = []
    for index in range(count):
        surface = SURFACES[index % len(SURFACES)]
        half = halves[surface]
        side = round(float(np.exp(random.uniform(np.log(MIN_SIDE), np.log(MAX_SIDE)))))
        top, left = (int(random.integers(0, limit - side + 1)) for limit in half.shape)
        patch = np.rot90(half[top : top + side, left : left + side], int(random.integers(4)))
        noise = random.normal(0.0, random.uniform(*NOISE), patch.shape)
        exposed = random.uniform(*GAIN) * patch + random.uniform(*OFFSET) + noise
        cut.append(np.ascontiguousarray(exposed.clip(0.0, 1.0), dtype=np.float32))
        labels.append(surface)
    return cut, labels
