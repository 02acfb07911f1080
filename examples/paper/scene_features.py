"""Thirteen features of a square grey image, after those usual in scene recognition.

They differ in cost and in how it grows with n, the number of pixels: *tiny* looks at a fixed number of pixels, *gist*
works on a fixed number after resizing, most others are linear, and the filters of *texton* grow with the image
(n^1.5).  Three of them count words of a vocabulary that is learned on photos (`scene_lattice.learn_words`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from scipy import fft, ndimage
from skimage.feature import local_binary_pattern

from polydom_runtime import Feature, FeatureSpace, Step

Floats = NDArray[np.float32]
Numbers = NDArray[Any]

ORIENTATIONS = 8
SIFT = 16 * ORIENTATIONS  # numbers of a descriptor: 4 x 4 cells
TEXTON_SCALES = (1 / 125, 2 / 125)  # standard deviations of the filters, in sides of the image
TEXTON_ORDERS = ((0, 1), (1, 0), (0, 2), (2, 0), (1, 1))  # derivatives down and across
GIST_SIDE, GIST_WAVES = 128, (0.06, 0.13, 0.25)  # pixels; cycles per pixel
FAINT = 4.0  # grey levels a pixel: gradients well below are taken for noise


class Gradients(NamedTuple):
    """Grey-level differences of an image, their strength and their direction, each array of shape (side, side)."""

    down: Floats
    across: Floats
    strength: Floats
    direction: NDArray[np.int64]  # 0 to 7; the middle of bin 0 is "brighter to the right"


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """The words that *sparse_sift*, *dense_sift* and *texton* count; rows are words."""

    sparse: Floats
    dense: Floats
    textons: Floats


def gradients(image: Numbers) -> Gradients:
    """Central differences with their strength and direction; linear."""
    down, across = (np.asarray(part) for part in np.gradient(image.astype(np.float32)))
    turns = np.arctan2(down, across) * np.float32(ORIENTATIONS / (2 * np.pi))
    direction = np.rint(turns).astype(np.int64) % ORIENTATIONS
    return Gradients(down, across, np.sqrt(down * down + across * across), direction)


def grid_means(values: Numbers, rows: int, columns: int) -> Numbers:
    """Return the means over a grid of cells that covers the first two axes.

    >>> grid_means(np.arange(16.0).reshape(4, 4), 2, 1)
    array([[ 3.5], [11.5]])
    """
    for axis, parts in enumerate((rows, columns)):
        edges = np.arange(parts + 1) * values.shape[axis] // parts
        counts = np.diff(edges).reshape((-1, *(1,) * (values.ndim - 1 - axis)))
        values = np.add.reduceat(values, edges[:-1], axis=axis) / counts.astype(np.float32)
    return values


def cell_histograms(g: Gradients, cell: int) -> Floats:
    """Return the strength in each direction for each square cell of pixels, shape (rows, columns, 8); linear."""
    rows, columns = (length // cell for length in g.strength.shape)
    inside = np.s_[: rows * cell, : columns * cell]
    place = np.add.outer(np.arange(rows * cell) // cell * columns, np.arange(columns * cell) // cell)
    bins = (place * ORIENTATIONS + g.direction[inside]).ravel()
    sums = np.bincount(bins, weights=g.strength[inside].ravel(), minlength=rows * columns * ORIENTATIONS)
    return (sums / cell**2).reshape(rows, columns, ORIENTATIONS).astype(np.float32)


def hog(g: Gradients, *, cell: int, grid: tuple[int, int]) -> Numbers:
    """Histograms of gradient directions, each cell relative to its neighbours, averaged over a grid; linear."""
    cells = cell_histograms(g, cell)
    energy = ndimage.uniform_filter((cells**2).sum(axis=2), 3)
    shares = cells / np.sqrt(energy + FAINT)[:, :, None]
    return grid_means(np.sqrt(np.minimum(shares, 1.0)), *grid).ravel()


def gist(image: Numbers) -> Numbers:
    """Energies of Gabor filters (three wavelengths, four directions) on a 2 x 2 grid; nearly constant."""
    picture = Pillow.fromarray(image.astype(np.float32)).resize((GIST_SIDE, GIST_SIDE), Pillow.Resampling.BILINEAR)
    small = np.asarray(picture)
    transform = fft.fft2((small - small.mean()) / (small.std() + 1.0))
    energies = np.abs(fft.ifft2(transform * gabor_bank()))
    return np.sqrt(grid_means(energies.transpose(1, 2, 0), 2, 2)).ravel()


@lru_cache
def gabor_bank() -> Floats:
    """Return the transfer functions of the Gabor filters, shape (12, 128, 128)."""
    waves = np.outer(GIST_WAVES, np.exp(0.25j * np.pi * np.arange(4))).reshape(12, 1, 1)
    frequency = np.fft.fftfreq(GIST_SIDE)
    distance = np.abs(frequency[:, None] * 1j + frequency - waves)
    return np.asarray(np.exp(-0.5 * (distance / (0.4 * np.abs(waves))) ** 2), dtype=np.float32)


def tiny(image: Numbers) -> Numbers:
    """The picture in 6 x 6 pixels, less its brightness and contrast, from 24 x 24 of its pixels; constant."""
    lines = [(np.arange(24) * 2 + 1) * length // 48 for length in image.shape]
    small = grid_means(image[np.ix_(*lines)].astype(np.float32), 6, 6).ravel()
    return np.asarray((small - small.mean()) / (small.std() + 1.0))


def grey_histogram(image: Numbers) -> Numbers:
    """Shares of the pixels in 16 grey levels; linear."""
    levels = np.clip(image, 0, 255).astype(np.uint8).ravel() >> 4
    return np.sqrt(np.bincount(levels, minlength=16) / levels.size)


def pattern_codes(image: Numbers, radius: int, method: str) -> NDArray[np.intp]:
    """Return the code of the eight neighbours at a radius for each pixel."""
    grey = np.clip(image, 0, 255).astype(np.uint8)
    return np.asarray(local_binary_pattern(grey, 8, radius, method), dtype=np.intp)  # type: ignore[no-untyped-call]


def lbp(image: Numbers) -> Numbers:
    """Histograms of the uniform local binary patterns in the top, middle and bottom third; linear."""
    codes = pattern_codes(image, 1, "uniform")
    bands = [np.bincount(band.ravel(), minlength=10) / band.size for band in np.array_split(codes, 3)]
    return np.sqrt(np.concatenate(bands))


def lbp_fourier(image: Numbers) -> Numbers:
    """LBP-HF: what turning the image leaves of the histogram of uniform patterns (Ahonen et al. 2009); linear."""
    codes = pattern_codes(image, 2, "nri_uniform")
    shares = np.bincount(codes.ravel(), minlength=59) / codes.size
    # Code 0 has no ones; 1 to 56 are 7 numbers of ones at 8 angles; 57 is all ones; 58 is not uniform.
    spectra = np.abs(np.fft.rfft(shares[1:57].reshape(7, 8), axis=1))
    return np.asarray(np.sqrt(np.concatenate([spectra.ravel(), shares[[0, 57, 58]]])))


def geo_map(g: Gradients) -> Numbers:
    """How far upright (+1) or lying (-1) edges rule on an 8 x 8 grid, 0 for smooth surfaces; linear."""
    upright, lying = (ndimage.gaussian_filter(part * part, 2.0) for part in (g.across, g.down))
    return grid_means((upright - lying) / (upright + lying + FAINT**2), 8, 8).ravel()


def lines(g: Gradients) -> Numbers:
    """Shares of the pixels in short and in long straight edges of eight directions; linear, eight labellings.

    Neighbouring pixels with strong gradients of one direction are the support of one line (Burns et al. 1986).
    """
    strong = g.strength > np.maximum(1.5 * g.strength.mean(), FAINT)
    shares = []
    for direction in range(ORIENTATIONS):
        labels, _ = ndimage.label(strong & (g.direction == direction))
        areas = np.bincount(labels.ravel())[1:]
        long = areas > len(labels) / 4
        shares += [areas[~long].sum() / labels.size, areas[long].sum() / labels.size]
    return np.sqrt(shares)


def self_similarity(image: Numbers) -> Numbers:
    """Likeness of 5 x 5 patches to those near by, in two distances, four directions, three bands; linear."""
    values = image.astype(np.float32)
    side, variance = len(values), float(values.var()) + FAINT
    likeness = []
    for distance in (max(1, side // 40), max(2, side // 12)):
        for down, across in ((0, 1), (1, 1), (1, 0), (1, -1)):
            shifted = np.roll(values, (down * distance, across * distance), axis=(0, 1))
            likeness.append(np.exp(ndimage.uniform_filter((values - shifted) ** 2, 5) * np.float32(-1 / variance)))
    return np.concatenate([grid_means(like, 3, 1).ravel() for like in likeness])


def unit(descriptors: Floats) -> Floats:
    """Return descriptors of nearly unit length in which no number rules, as Lowe does; faint ones stay short."""
    descriptors = descriptors / (np.linalg.norm(descriptors, axis=1, keepdims=True) + FAINT)
    return np.minimum(descriptors, np.float32(0.2))


def dense_descriptors(g: Gradients) -> Floats:
    """Return SIFT-like descriptors of 4 x 4 cells of 6 pixels, one every 6 pixels, shape (count, 128); linear."""
    windows = np.lib.stride_tricks.sliding_window_view(cell_histograms(g, 6), (4, 4), axis=(0, 1))
    return unit(windows.reshape(-1, SIFT))


def corners(g: Gradients) -> NDArray[np.intp]:
    """Return the strongest corners after Harris, at most one for 150 pixels, 8 pixels from the border; linear."""
    xx, yy, xy = (ndimage.gaussian_filter(a * b, 1.5) for a, b in ((g.across,) * 2, (g.down,) * 2, (g.across, g.down)))
    response = (xx * yy - xy * xy - 0.05 * (xx + yy) ** 2)[8:-8, 8:-8]
    peaks = (response == ndimage.maximum_filter(response, 5)) & (response > FAINT**2)
    places = np.argwhere(peaks)
    order = np.argsort(-response[peaks], kind="stable")
    return places[order[: g.strength.size // 150]] + 8


def sparse_descriptors(g: Gradients) -> Floats:
    """Return SIFT-like descriptors of the 16 x 16 pixels around corners, shape (count, 128); linear with them."""
    places, reach = corners(g), np.arange(-8, 8)
    window = (places[:, :1, None] + reach[:, None], places[:, 1:, None] + reach)
    cell = np.add.outer(np.arange(16) // 4 * 4, np.arange(16) // 4)
    bins = (np.arange(len(places))[:, None, None] * 16 + cell) * ORIENTATIONS + g.direction[window]
    sums = np.bincount(bins.ravel(), weights=g.strength[window].ravel(), minlength=len(places) * SIFT)
    return unit((sums / 16).reshape(-1, SIFT).astype(np.float32))


def texton_responses(image: Numbers) -> Floats:
    """Return the responses to ten derivatives of Gaussians that grow with the image, shape (n, 10); n^1.5."""
    values = image.astype(np.float32)
    contrast = float(values.std()) + 1.0
    responses = []
    for scale in TEXTON_SCALES:
        deviation = scale * len(values)
        for order in TEXTON_ORDERS:
            response = ndimage.gaussian_filter(values, deviation, order) * (deviation ** sum(order) / contrast)
            responses.append(response.ravel())
    return np.stack(responses, axis=1).astype(np.float32)


def word_shares(source: Any, describe: Callable[[Any], Floats], words: Floats) -> Numbers:
    """Return the root of the share of the descriptors that are nearest to each word; zeros without descriptors."""
    descriptors = describe(source)
    nearest = (descriptors @ (-2.0 * words.T) + (words**2).sum(axis=1)).argmin(axis=1)
    return np.sqrt(np.bincount(nearest, minlength=len(words)) / max(len(nearest), 1))


def scene_space(vocabularies: Vocabularies) -> FeatureSpace:
    """Return the thirteen features; items are square arrays of grey values 0 to 255, at least 65 pixels a side."""
    edges = Step("gradients", gradients)
    sparse = partial(word_shares, describe=sparse_descriptors, words=vocabularies.sparse)
    dense = partial(word_shares, describe=dense_descriptors, words=vocabularies.dense)
    textons = partial(word_shares, describe=texton_responses, words=vocabularies.textons)
    return FeatureSpace(
        [
            Feature("tiny", tiny, 36),
            Feature("grey_histogram", grey_histogram, 16),
            Feature("gist", gist, 48),
            Feature("hog_fine", partial(hog, cell=8, grid=(3, 2)), 48, edges),
            Feature("hog_coarse", partial(hog, cell=16, grid=(2, 2)), 32, edges),
            Feature("geo_map8x8", geo_map, 64, edges),
            Feature("lines", lines, 16, edges),
            Feature("dense_sift", dense, len(vocabularies.dense), edges),
            Feature("sparse_sift", sparse, len(vocabularies.sparse), edges),
            Feature("lbp", lbp, 30),
            Feature("lbp_fourier", lbp_fourier, 38),
            Feature("self_similarity", self_similarity, 24),
            Feature("texton", textons, len(vocabularies.textons)),
        ],
        size=np.size,
    )
