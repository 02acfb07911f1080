"""Items that are copies of each other: one memory for several items, and copies on both sides of a fold.

A model knows a held-out item of which it was trained on a copy, so its score says nothing about new items.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_runtime.exceptions import ItemError
from polydom_runtime.tables import percent

from .folds import Splits
from .labels import Targets

WARNED = 0.01
"""The share of held-out items with copies from which on there is a warning."""

N_ASKED, N_NEAR = 300, 10
"""The number of held-out items whose nearest rows are looked for, and the most near copies of one."""

N_COMPARED = 30_000_000
"""The most pairs of rows that are compared, but with 100 held-out items at least."""

ROUNDING = 1e-6
"""Features that differ by less than this share of their largest value count as equal."""

NEAR = 0.01
"""A near copy is nearer than any other row by this factor."""

CHANCE, LUCK = 3.0, 3
"""The share that is expected by chance is multiplied by the first, and this number of rows more is left out."""


def check_memory(items: Sequence[Any], targets: Targets) -> None:
    """Check that each item has memory of its own, unlike an array that was filled again, and no mask beside it."""
    known: dict[Any, int] = {}
    for k, item in enumerate(items):
        if isinstance(item, np.ma.MaskedArray | memoryview):
            raise ItemError(
                f"Items must hold their numbers themselves. Item {k} is a {type(item).__name__}. Make each one an "
                "array, np.array(item); fill what is masked."
            )
        if isinstance(item, np.ndarray) and item.size:
            first = known.setdefault((item.ctypes.data, item.shape, item.strides, item.dtype.str), k)
        else:  # texts and numbers may be the same object
            first = known.setdefault(id(item), k) if isinstance(item, list | bytearray) else k
        if targets.numbers[first] != targets.numbers[k]:
            raise TrainingError(
                f"Items of different labels must not be the same memory. Items {first} and {k} are: an array that was "
                "filled again changes all items that are made of it. Append a copy of each, such as item.copy()."
            )


def warn_of_copies(digests: Sequence[bytes | None], rows: NDArray[np.float32], splits: Splits) -> None:
    """Warn if held-out items are copies of items that a fold is trained on: equal, or nearly equal in all features.

    `digests`: of each item. `rows` (shape (n_items, sum of widths)): their features.
    """
    equal, near = share_of_copies(digests, splits), share_of_near_copies(rows, splits)
    if max(equal, near) >= WARNED:
        what = f"{percent(equal)} equal" if equal >= near else f"{percent(near)} nearly equal"
        warnings.warn(
            f"Of the held-out items, {what} an item that the same fold is trained on. Scores on copies are too high "
            "for new items. Give groups, such as the recording that each item comes from: no fold divides a group. Or "
            "leave copies out.",
            stacklevel=4,
        )


def share_of_copies(digests: Sequence[bytes | None], splits: Splits) -> float:
    """Return the share of held-out items that equal an item of their fold's training; O(items · log items).

    Few-valued features are often equal by chance, so items are compared and not features.
    """
    known: dict[bytes, int] = {}
    numbers = np.array([-1 if d is None else known.setdefault(d, len(known)) for d in digests])
    found = [np.isin(numbers[test], numbers[train]) & (numbers[test] >= 0) for train, test in splits]
    return float(np.concatenate(found).mean())


def share_of_near_copies(rows: NDArray[np.float32], splits: Splits) -> float:
    """Return the share of held-out items that have near copies in their fold's training, of some that are asked.

    By chance, too, a row may be much nearer than the next ones. If features follow from d numbers, the nearest row is
    nearer by a factor x for a share x^d of the items, so the share at √x tells that at x, which is left out. Equal rows
    do not count: they are equal by chance where features have few values. O(items · columns).
    """
    spread = rows.std(axis=0, dtype=np.float64)
    spread[spread == 0.0] = 1.0
    scaled = ((rows - rows.mean(axis=0, dtype=np.float64)) / spread).astype(np.float32)
    rounding = (ROUNDING * np.abs(rows).max(axis=0) / spread).astype(np.float32)
    count = max(min(N_COMPARED // len(rows), N_ASKED), 100)
    rng, ratios = np.random.default_rng(0), list[float]()
    for train, test in splits:
        others = scaled[train]
        for k in rng.permutation(test)[: -(-count // len(splits))].tolist():
            distances = (np.abs(others - scaled[k]) - rounding).max(axis=1)
            nearest = np.sort(_smallest(distances[distances > 0.0], N_NEAR + 1))
            ratios.append(float((nearest[:-1] / nearest[1:]).min(initial=1.0)))
    near, between = np.less(ratios, NEAR), np.less(ratios, NEAR**0.5)
    return max(float(near.mean() - CHANCE * (between & ~near).mean() ** 2 - LUCK / len(ratios)), 0.0)


def _smallest(values: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    return values if len(values) <= count else np.partition(values, count - 1)[:count]
