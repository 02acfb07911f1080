"""Photographs of fifteen kinds of scene, split by photo and shown at four sizes.

The picture set is not part of this project.  A folder of it holds the photos and an ``index.csv`` with the columns
``path`` (relative to the folder), ``label`` and ``dup_of`` (the path of an earlier identical file, else empty).
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from sklearn.model_selection import train_test_split

from polydom_runtime.exceptions import ItemError

SIDES = (65, 125, 187, 250)
"""Sides of the square images, in pixels; the paper's four sizes."""

FITTING, HELD_OUT = 1500, 500
"""Photos that models are fitted on, and photos that a(S) is estimated on: with four sizes the paper's 8000 images."""

COLUMNS = ("path", "label", "dup_of")

Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Photo:
    """One photograph and its label."""

    path: Path
    label: str

    def identity(self) -> tuple[str, str, int]:
        """Return an identity of this photo that does not depend on the place of its folder."""
        return f"{self.path.parent.name}/{self.path.name}", self.label, self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class Parts:
    """The photos by their use; no photo is in two of the parts."""

    fitting: tuple[Photo, ...]
    held_out: tuple[Photo, ...]
    test: tuple[Photo, ...]

    def identity(self) -> list[list[tuple[str, str, int]]]:
        """Return the identities of all photos, by part."""
        return [[photo.identity() for photo in part] for part in (self.fitting, self.held_out, self.test)]


def read_photos(data: str | Path) -> list[Photo]:
    """Return the photos that the index of a folder lists, without the copies of earlier ones.

    Parameters
    ----------
    data : str or Path
        Folder with ``index.csv`` and the photos.

    Raises
    ------
    ItemError
        If the index or a photo is missing, or the index lacks a column.
    """
    folder = Path(data)
    index = folder / "index.csv"
    if not index.is_file():
        raise ItemError(
            f"The folder of scenes must hold index.csv with the columns {', '.join(COLUMNS)}. "
            f"Got {str(data)!r}, which has none. Pass the folder that the picture set was unpacked into."
        )
    with index.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if missing := set(COLUMNS) - set(reader.fieldnames or ()):
            raise ItemError(
                f"{index} must have the columns {', '.join(COLUMNS)}. Got {reader.fieldnames}. "
                f"Add {', '.join(sorted(missing))}."
            )
        photos = [Photo(folder / row["path"], row["label"]) for row in reader if not row["dup_of"]]
    if absent := [photo.path for photo in photos if not photo.path.is_file()]:
        raise ItemError(
            f"Every photo of {index} must be there. Got {len(absent)} missing of {len(photos)}, the first {absent[0]}. "
            "Unpack the picture set again."
        )
    return photos


def first_of_each(photos: Iterable[Photo], count: int) -> list[Photo]:
    """Return the first `count` photos of each class, in their order.

    >>> [p.label for p in first_of_each([Photo(Path("a"), "x"), Photo(Path("b"), "x"), Photo(Path("c"), "y")], 1)]
    ['x', 'y']
    """
    seen: Counter[str] = Counter()
    chosen = []
    for photo in photos:
        seen[photo.label] += 1
        if seen[photo.label] <= count:
            chosen.append(photo)
    return chosen


def split(photos: Iterable[Photo], a_class: int | None = None, seed: int = 0) -> Parts:
    """Deal the photos out at random, with the same mixture of classes in each part.

    Parameters
    ----------
    photos : iterable of Photo
    a_class : int, optional
        Number of photos of each class to use: half of them for fitting, a sixth held out.  Without it all photos are
        used: 1500 for fitting, 500 held out.
    seed : int

    Raises
    ------
    ItemError
        If there are too few photos, in total or of a class.
    """
    photos = list(photos) if a_class is None else first_of_each(photos, a_class)
    fitting, held_out = (FITTING, HELD_OUT) if a_class is None else (len(photos) // 2, len(photos) // 6)
    try:
        building, test = _deal(photos, fitting + held_out, seed)
        fitted, held = _deal(building, fitting, seed)
    except ValueError as e:
        raise ItemError(
            f"There must be photos of every class for fitting ({fitting}), holding out ({held_out}) and testing. "
            f"Got {len(photos)} photos: {e} Use more photos."
        ) from e
    return Parts(tuple(fitted), tuple(held), tuple(test))


def _deal(photos: list[Photo], count: int, seed: int) -> tuple[list[Photo], list[Photo]]:
    labels = [photo.label for photo in photos]
    first, second = train_test_split(photos, train_size=count, stratify=labels, random_state=seed)
    return first, second


def squares(photo: Photo, sides: Iterable[int] = SIDES) -> Iterator[Image]:
    """Yield the whole photo, grey and squeezed to a square, at each size.

    Parameters
    ----------
    photo : Photo
    sides : iterable of int
        In pixels.

    Raises
    ------
    ItemError
        If the file is not a picture.
    """
    try:
        with Pillow.open(photo.path) as picture:
            grey = picture.convert("L")
    except OSError as e:
        raise ItemError(f"Every photo must be a picture. Reading {photo.path} raised {e!r}. Replace the file.") from e
    for side in sides:
        yield np.asarray(grey.resize((side, side), Pillow.Resampling.BICUBIC))


def images(photos: Iterable[Photo], sides: Iterable[int] = SIDES) -> Iterator[tuple[Image, str]]:
    """Yield the labelled images of all photos, one photo's sizes after another; one image at a time is in memory.

    Raises
    ------
    ItemError
        If a file is not a picture.
    """
    sides = tuple(sides)
    for photo in photos:
        for image in squares(photo, sides):
            yield image, photo.label
