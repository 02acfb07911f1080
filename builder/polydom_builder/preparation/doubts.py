"""Features that give other numbers for the same item: when they are computed again, or for another type of numbers."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.number_types import JSON_TYPE, WIDE, number_type, retyped
from polydom_runtime.bundles.references import RELATIVE
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.features import FeatureSpace

N_TRIED = 8
"""The number of items that features are computed again on."""

AGAIN = 1e-12
"""Features may differ by this share of their value when they are computed again, besides `RELATIVE` of their spread:
threads of linear algebra may add up in another order."""


def unsteady_features(
    space: FeatureSpace, items: Sequence[Any], sizes: Sequence[float], spreads: Floats
) -> tuple[str, ...]:
    """Return the features that do not give the same numbers again for the same item, and warn of them.

    Items of all sizes are tried twice, the second time in the other direction: a state is then another one. `spreads`
    (shape (sum of widths,)): the standard deviations of features.
    """
    by_size = np.argsort(sizes, kind="stable")
    tried = by_size[np.linspace(len(items) - 1, 0, min(N_TRIED, len(items))).astype(int)].tolist()
    before = {k: space.extract_all(items[k], np.float64) for k in tried}
    found: dict[str, str] = {}
    for k in reversed(tried):
        once, again = before[k], space.extract_all(items[k], np.float64)
        for name, column in _differing(space, np.abs(again - once) > RELATIVE * spreads + AGAIN * np.abs(once)):
            found.setdefault(name, f"item {k} has {once[column]:.10g}, and {again[column]:.10g} when computed again")
    for name, difference in found.items():
        warnings.warn(
            f"Feature {name!r} must give the same numbers again for the same item: {difference}. It keeps a state, or "
            "reads a clock or random numbers, so that on the node it gives others than those that models are trained "
            "on. Compute it from the item alone; give random numbers a seed for each item.",
            stacklevel=4,
        )
    return tuple(name for name in space.names if name in found)


def typed_items(space: FeatureSpace, items: Sequence[Any], rows: NDArray[np.float32], limits: Floats) -> list[int]:
    """Return items on which features give other numbers if the item's are floats, and warn of these features.

    Only integers, booleans and float16 are tried: on the largest ones, which wrap, and on some of all. `rows` (shape
    (n_items, sum of widths)): the features. `limits` (shape (sum of widths,)): how much they may differ, besides
    `RELATIVE` of their value.
    """
    arrays = [k for k, item in enumerate(items) if number_type(item) not in ("", *WIDE)]
    largest = sorted(arrays, key=lambda k: -_largest(items[k]))[: N_TRIED // 2]
    some = arrays[:: max(len(arrays) // (N_TRIED - len(largest)), 1)] if arrays else []
    found: dict[str, int] = {}
    for k in list(dict.fromkeys([*largest, *some]))[:N_TRIED]:
        if (floats := retyped(items[k], JSON_TYPE)) is None:
            continue
        as_floats = _tolerant(space, floats)
        differs = np.abs(as_floats - rows[k]) > limits + RELATIVE * np.abs(rows[k])
        for name, column in _differing(space, differs):
            if name in found:
                continue
            found[name] = k
            warnings.warn(
                f"Feature {name!r} must give the same for numbers of all types. For item {k} of {items[k].dtype} it "
                f"gives {rows[k][column]:.6g}, for the same numbers as float64 {as_floats[column]:.6g}: integers wrap "
                "where floats do not, and lines of JSON become float64. Let it convert, as by np.asarray(item, "
                "np.float64).",
                stacklevel=4,
            )
    return list(dict.fromkeys(found.values()))


def _tolerant(space: FeatureSpace, item: Any) -> NDArray[np.float32]:
    """Return the features of an item; NaN for one that fails, which a node does not overlook."""
    try:
        return space.extract_all(item)
    except FeatureError:
        if len(space) == 1:
            return np.full(space.widths[0], np.nan, dtype=np.float32)
    return np.concatenate([_tolerant(space.part([name]), item) for name in space.names])


def _differing(space: FeatureSpace, differs: NDArray[np.bool_]) -> list[tuple[str, int]]:
    """Return the features that differ in a column, each with the first such column."""
    slices = zip(space.names, space.column_slices(), strict=True)
    return [(name, s.start + int(np.argmax(differs[s]))) for name, s in slices if differs[s].any()]


def _largest(item: NDArray[Any]) -> float:
    return max(float(item.max()), -float(item.min())) if item.size else 0.0
