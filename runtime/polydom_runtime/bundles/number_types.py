"""The types of the numbers of items: a feature that keeps the type gives other values where integers wrap."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{kind}{n}" for kind in "iu" for n in (2, 4, 8)), "<f2", "<f4", "<f8"])
"""The types of numbers that are told apart, and the arrays that are stored in a bundle."""

WIDE = frozenset(["<f4", "<f8"])
"""Floats in which features differ by their rounding at most."""

JSON_TYPE = "<f8"
"""The type of the numbers in lines of JSON."""


def number_type(item: Any) -> str:
    """Return the type of an array's numbers, as numpy writes it; empty for what is no array of them.

    >>> number_type(np.zeros(3, np.uint8)), number_type([1, 2])
    ('|u1', '')
    """
    dtype = getattr(item, "dtype", None)
    name = dtype.newbyteorder("<").str if isinstance(dtype, np.dtype) else ""
    return name if name in DTYPES else ""


def common_type(items: Iterable[Any]) -> str:
    """Return the type that the numbers of all items have; empty if they differ, or have none."""
    found = {number_type(item) for item in items}
    return found.pop() if len(found) == 1 else ""


def matters(one: str, other: str) -> bool:
    """Tell whether features may give other values for the same numbers of these types.

    >>> matters("|u1", "<f8"), matters("<f4", "<f8"), matters("<f4", "")
    (True, False, False)
    """
    return bool(one and other) and one != other and not {one, other} <= WIDE


def ramp_like(item: Any) -> Any:
    """Return an item of the same shape whose integers go from end to end of their type; other items as they are.

    >>> ramp_like(np.zeros((2, 2), np.int8)).tolist()
    [[-128, -43], [42, 127]]
    """
    if number_type(item)[1:] not in ("i1", "u1", "i2", "u2", "i4", "u4"):
        return item
    ends = np.iinfo(item.dtype)
    return np.linspace(ends.min, ends.max, item.size).astype(item.dtype).reshape(item.shape)


def retyped(item: Any, dtype: str) -> NDArray[Any] | None:
    """Return the same numbers in another type that matters; None if there are none."""
    if type(item) is not np.ndarray or not matters(number_type(item), dtype):
        return None
    with np.errstate(all="ignore"):
        other = item.astype(dtype)
    return other if np.array_equal(other, item) else None
