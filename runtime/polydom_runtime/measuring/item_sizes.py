"""Sizes of items, and the choice of items that represent a range of sizes."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.causes import raised, shown
from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import FeatureSpace, as_failure
from polydom_runtime.items.sources import kept, not_items


def checked_items(items: Any) -> list[Any]:
    """Return the items as a list; `ItemError` if they are not iterable, or one array that is a single item."""
    if got := not_items(items):
        raise ItemError(f"The items must be a list of items. Got {got}. Put a single item into a list.")
    return [*map(kept, items)] if isinstance(items, Iterator) else list(items)


def checked_size(space: FeatureSpace, item: Any) -> float:
    """Return the size of an item; `ItemError` if the size function raises, or gives no positive, finite number."""
    try:
        size = space.size(item)
    except BaseException as e:
        if not isinstance(as_failure(e), Exception):
            raise
        raise ItemError(f"The space's size function must work on every item. {raised(e)}") from e
    try:
        n = float(size)
    except (TypeError, ValueError, OverflowError) as e:
        raise ItemError(f"The space's size function must return one number. Got {shown(size)}.") from e
    if not 0.0 < n < math.inf:
        raise ItemError(f"The size of an item must be a positive, finite number. Got {n}. Drop empty items first.")
    return n


def chosen_items(
    space: FeatureSpace, items: Sequence[Any], n_sizes: int, size_range: tuple[float, float] | None = None
) -> list[int]:
    """Return the positions of `n_sizes` items, evenly spread over log n within the size range, smallest first.

    Raises `ItemError` if there are no items, one has an impossible size, or they do not cover `size_range`.
    """
    sizes = [checked_size(space, item) for item in items]
    if not sizes:
        raise ItemError("There must be at least one item. Got none.")
    low, high = size_range or (min(sizes), max(sizes))
    within = [i for i, n in enumerate(sizes) if low <= n <= high]
    if not (min(sizes) <= low and high <= max(sizes)) or not within:
        raise ItemError(
            f"The items must cover the sizes {low:g} to {high:g}. Got items of {min(sizes):g} to {max(sizes):g}. "
            "Give larger and smaller items, or another range of sizes."
        )
    return [within[i] for i in spread_by_size([sizes[i] for i in within], n_sizes)]


def spread_by_size(sizes: Sequence[float], count: int) -> list[int]:
    """Return positions of up to `count` items of different sizes, evenly spread over log n, smallest first.

    >>> spread_by_size([100.0, 1.0, 90.0, 10.0], 3)
    [1, 3, 0]
    """
    different = {n: i for i, n in reversed(list(enumerate(sizes)))}
    rising = sorted(different)
    logs = np.log(rising)
    targets = np.linspace(logs[0], logs[-1], count)
    nearest = {int(np.abs(logs - t).argmin()) for t in targets}
    while len(nearest) < min(count, len(rising)):  # in clusters: add the size farthest from those chosen
        gaps: NDArray[np.float64] = np.abs(logs[:, None] - logs[sorted(nearest)]).min(axis=1)
        nearest.add(int(gaps.argmax()))
    return [different[rising[k]] for k in sorted(nearest)]


def drawn_items(
    space: FeatureSpace, items: Sequence[Any], count: int, seed: int, size_range: tuple[float, float] | None = None
) -> list[int]:
    """Return the positions of up to `count` items within a size range, drawn at random and in random order."""
    low, high = size_range or (0.0, math.inf)
    within = [i for i, item in enumerate(items) if low <= checked_size(space, item) <= high]
    return [within[k] for k in np.random.default_rng(seed).permutation(len(within))[:count].tolist()]
