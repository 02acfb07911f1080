"""Writing packed items, which `packed.py` reads."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime.exceptions import ItemError
from polydom_runtime.files import replacing

from .packed import ARRAYS


def write_packed(
    file: str | Path,
    items: Iterable[np.ndarray[Any, Any]],
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    weights: Iterable[float] | None = None,
) -> None:
    """Write items of one dtype in the format of `read_packed`; without ``shape`` if all items are 1-D.

    The file is replaced in one step. As numpy does it, a name without ``.npz`` gets it. An item is copied as it comes,
    so a generator may fill one array again and again.

    Raises
    ------
    ItemError
        If the items are no arrays of one dtype and one number of dimensions, are masked, or there are none; if there
        are not as many labels, groups or weights as items, they are not all numbers or all texts, or an array cannot
        keep them apart.
    """
    path, copies = Path(file), list[np.ndarray[Any, Any]]()
    for item in items:
        _check_item(item, copies)
        copies.append(np.array(item))
    if not copies:
        raise ItemError("There must be at least one item. Got none.")
    arrays: dict[str, Any] = {
        "signal": np.concatenate([item.reshape(-1) for item in copies]),
        "offset": np.cumsum([0, *(item.size for item in copies)]),
    }
    if copies[0].ndim != 1:
        arrays["shape"] = np.array([item.shape for item in copies])
    for name, values in zip(ARRAYS[3:], (labels, groups, weights), strict=True):
        if values is not None:
            arrays[name] = _alike(name, list(values), len(copies))
    with replacing(path if path.suffix == ".npz" else f"{path}.npz") as stream:
        np.savez(stream, **arrays)


def _check_item(item: object, before: list[np.ndarray[Any, Any]]) -> None:
    """Check that an item can be kept beside those before it: a mask, objects and another type would be lost."""
    if not isinstance(item, np.ndarray) or isinstance(item, np.ma.MaskedArray) or item.dtype.hasobject:
        got = "an array of objects" if type(item) is np.ndarray else type(item).__name__
        raise ItemError(
            f"The items must be numpy arrays of numbers, without a mask. Got {got} as item {len(before)}. Make each "
            "one an array (np.asarray); fill what is masked."
        )
    if before and (_type(item), item.ndim) != (_type(before[0]), before[0].ndim):
        one, other = (f"{x.dtype} of {x.ndim} dimension{'s' * (x.ndim != 1)}" for x in (before[0], item))
        raise ItemError(
            f"The items must be arrays of one type. Item 0 is {one}, item {len(before)} is {other}. Convert all to one."
        )


def _type(item: np.ndarray[Any, Any]) -> object:
    """Return what must be the same in all items: of texts not the length, and in no type the order of the bytes."""
    return item.dtype.kind if item.dtype.kind in "US" else item.dtype.newbyteorder("=")


def _alike(name: str, values: list[Any], n_items: int) -> np.ndarray[Any, Any]:
    """Make an array of values of one kind that are the same in it: 1 and "1" would become equal, or 2**53 and 0.5."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain}
    if len(plain) != n_items or not (kinds <= {int, float} or kinds in ({str}, {bool})):
        raise ItemError(
            f"There must be one {name} for each item, all numbers, all texts or all booleans. Got {len(plain)} for "
            f"{n_items} items, of {sorted(kind.__name__ for kind in kinds)}."
        )
    array = np.array(plain)
    for value, kept in zip(plain, array.tolist(), strict=True):
        if value != kept or array.dtype.hasobject:
            changed = value if value != kept else max(plain, key=abs)
            raise ItemError(
                f"Each {name} must stay the same in one array of all. {changed!r} does not. Give integers of 64 bits, "
                "or floats without NaN, or texts that do not end with a zero."
            )
    return array
