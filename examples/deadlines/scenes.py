"""The kind of scene, one of fifteen, that a photograph shows, at 65 to 250 pixels a side.

The picture set of the paper (Lazebnik, Schmid and Ponce 2006), as ``scene15/index.csv`` with the photos beside it; see
`examples.paper.scene_images`.  Each photo is squeezed to one square of 65 to 250 pixels a side, so that the number of
pixels differs by a factor of fifteen.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from examples.paper.scene_features import Vocabularies, scene_space
from examples.paper.scene_images import Image, Photo, read_photos, split, squares

from .task import Task
from .windows import varied_lengths

MIN_SIDE, MAX_SIDE = 65, 250  # pixels a side
PHOTOS = 1200
"""Number of photos to build with; the number to test is the same."""

_no_words = np.zeros((1, 1), dtype=np.float32)

space = scene_space(Vocabularies(_no_words, _no_words, _no_words)).part(
    [
        "tiny",
        "grey_histogram",
        "gist",
        "hog_fine",
        "hog_coarse",
        "geo_map8x8",
        "lines",
        "lbp",
        "lbp_fourier",
        "self_similarity",
    ]
)
"""The paper's features without the three that count words of a learned vocabulary."""


def load(data: Path, photos: int = PHOTOS, a_class: int | None = None, seed: int = 0) -> Task:
    """Return the photos, each at one size; no photo is used both to build and to test.

    `data`: holds ``scene15/index.csv``. `photos`: number of photos to build with, and number to test. `a_class`: read
    at most this number of photos of each class.
    """
    parts = split(read_photos(data / "scene15"), a_class, seed)
    rng = np.random.default_rng(seed)
    built, tested = parts.fitting[:photos], parts.test[:photos]
    return Task(
        "scenes",
        space,
        _images(built, rng),
        [photo.label for photo in built],
        None,
        _images(tested, rng),
        [photo.label for photo in tested],
    )


def _images(photos: Sequence[Photo], rng: np.random.Generator) -> list[Image]:
    sides = varied_lengths(len(photos), MIN_SIDE, MAX_SIDE, rng)
    return [next(squares(photo, [side])) for photo, side in zip(photos, sides, strict=True)]
