"""Items that are copies of each other: one memory for several items, and copies on both sides of a fold.

A model knows a held-out item of which it was trained on a copy, so its score says nothing about new items.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.digests import item_digest
from polydom_runtime.tables import percent

from .folds import Splits
from .labels import Targets

WARNED = 0.01
"""The share of held-out items with copies from which on there is a warning."""

N_ASKED, N_NEAR = 300, 10
"""The number of held-out items whose nearest rows are looked for, and the most near copies of one."""

N_COMPARED = 1_000_000_000
"""The most numbers that held-out rows are compared with, but with 30 held-out items at least."""

ROUNDING = 1e-6
"""Features that differ by less than this share of their largest value count as equal."""

NEAR = 0.01
"""A near copy is nearer than any other row by this factor."""

FEWEST_BITS = 64
"""Items of less information may be equal by chance where there are many of them."""

CHANCE, LUCK = 3.0, 3
"""The share that is expected by chance is multiplied by the first. So many more copies are left to chance."""


def check_memory(items: Sequence[Any], targets: Targets) -> None:
    """Check that each item has memory of its own, unlike an array that was filled again, and no mask beside it."""
    known: dict[Any, list[int]] = {}
    for k, item in enumerate(items):
        if isinstance(item, np.ma.MaskedArray | memoryview):
            raise ItemError(
                f"Items must hold their numbers themselves. Item {k} is a {type(item).__name__}. Make each one an "
                "array, np.array(item); fill what is masked."
            )
        if (memory := _memory(item)) is not None:
            known.setdefault(memory, []).append(k)
    shared = [numbers for numbers in known.values() if len(numbers) > 1]
    # Few memories for many items were filled again. Many, each for few items, are items with several labels each.
    if len(shared) ** 2 >= sum(map(len, shared)):
        return
    for first, *others in shared:
        for k in others:
            if targets.numbers[first] != targets.numbers[k]:
                raise TrainingError(
                    f"Items of different labels must not be the same memory. Items {first} and {k} are: an array that "
                    "was filled again changes all items that are made of it. Append a copy of each, such as "
                    "item.copy()."
                )


def _memory(item: Any) -> Any:
    """Return what tells the memory of an item from that of others; None if it cannot be filled again."""
    if isinstance(item, np.ndarray):
        return (item.ctypes.data, item.shape, item.strides, item.dtype.str) if item.size else None
    if isinstance(item, tuple | dict):
        parts = [*item.values()] if isinstance(item, dict) else item
        if any(isinstance(part, np.ndarray | list | bytearray) for part in parts):
            return tuple(_memory(part) or id(part) for part in parts)
    # Texts, numbers and tuples of them may be the same object.
    return id(item) if isinstance(item, list | bytearray | dict) else None


def telling_digests(items: Sequence[Any]) -> list[bytes | None]:
    """Return the digest of each item; None for one that holds so little that another may equal it by chance.

    An item holds its length times log2 of the number of different values that short items have: 12 for twelve switches.
    Values that hardly repeat, such as readings of a fine sensor, hold 24 bits each, as in float32.

    >>> switches = [[k >> bit & 1 for bit in range(12)] for k in range(50)]
    >>> telling_digests(switches) == [None] * 50
    True
    """
    digests = [*map(item_digest, items)]
    short = dict[bytes, list[Any]]()
    for item, digest in zip(items, digests, strict=True):
        if digest is not None and digest not in short:
            flat = item if isinstance(item, str | bytes) else np.asarray(item).reshape(-1)
            if len(flat) < FEWEST_BITS:
                short[digest] = [*flat] if isinstance(flat, str | bytes) else flat.tolist()
    n_values = len({value for values in short.values() for value in values})
    repeats = 2 * n_values < sum(map(len, short.values()))
    fewest = FEWEST_BITS / (math.log2(max(n_values, 2)) if repeats else 24)
    return [None if d is None or len(short.get(d, ())) in range(1, math.ceil(fewest)) else d for d in digests]


def warn_of_copies(
    digests: Sequence[bytes | None], rows: NDArray[np.float32], targets: Targets, splits: Splits
) -> None:
    """Warn if held-out items are copies of items that a fold is trained on: equal, or nearly equal in all features.

    `digests`: of each item, by `telling_digests`. `rows` (shape (n_items, sum of widths)): their features.
    """
    equal, near = share_of_copies(digests, splits), share_of_near_copies(rows, targets, splits)
    if max(equal, near) >= WARNED:
        what = f"{percent(equal)} equal" if equal >= near else f"{percent(near)} nearly equal"
        warnings.warn(
            f"Of the held-out items, {what} an item that the same fold is trained on. Scores on copies are too high "
            "for new items, unless these repeat in the same way. Give groups, such as the recording that each item "
            "comes from: no fold divides a group. Or leave copies out.",
            stacklevel=4,
        )


def share_of_copies(digests: Sequence[bytes | None], splits: Splits) -> float:
    """Return the share of held-out items that equal an item of their fold's training; O(items · log items).

    Few-valued features are often equal by chance, so items are compared and not features. A few equal items are left to
    chance.
    """
    known: dict[bytes, int] = {}
    numbers = np.array([-1 if d is None else known.setdefault(d, len(known)) for d in digests])
    found = [np.isin(numbers[test], numbers[train]) & (numbers[test] >= 0) for train, test in splits]
    copies = np.concatenate(found)
    return float(copies.mean()) if np.count_nonzero(copies) > LUCK else 0.0


def share_of_near_copies(rows: NDArray[np.float32], targets: Targets, splits: Splits) -> float:
    """Return the share of held-out items that have near copies in their fold's training, of some that are asked.

    By chance, too, a row may be much nearer than the next ones. If features follow from d numbers, the nearest row is
    nearer by a factor x for a share x^d of the items, so the share at √x tells that at x, which is left out. Equal rows
    do not count: they are equal by chance where features have few values. Rows of one class are compared, since all of
    a small class may be nearer to each other than to any other row. O(items · columns).
    """
    spread = rows.std(axis=0, dtype=np.float64)
    spread[spread == 0.0] = 1.0
    scaled = ((rows - rows.mean(axis=0, dtype=np.float64)) / spread).astype(np.float32)
    rounding = (ROUNDING * np.abs(rows).max(axis=0) / spread).astype(np.float32)
    count = max(min(N_COMPARED // rows.size, N_ASKED), 30)
    kinds = targets.numbers if len(targets.classes) else np.zeros(len(rows))
    rng, ratios = np.random.default_rng(0), list[float]()
    for train, test in splits:
        others = {kind: scaled[train[kinds[train] == kind]] for kind in np.unique(kinds[test]).tolist()}
        for k in rng.permutation(test)[: -(-count // len(splits))].tolist():
            distances = (np.abs(others[kinds[k]] - scaled[k]) - rounding).max(axis=1)
            nearest = np.sort(_smallest(distances[distances > 0.0], N_NEAR + 1))
            ratios.append(float((nearest[:-1] / nearest[1:]).min(initial=1.0)))
    near, between = np.less(ratios, NEAR), np.less(ratios, NEAR**0.5)
    return max(float(near.mean() - CHANCE * (between & ~near).mean() ** 2 - LUCK / len(ratios)), 0.0)


def _smallest(values: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    return values if len(values) <= count else np.partition(values, count - 1)[:count]
