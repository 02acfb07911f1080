"""Short names for the array types that annotations use."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Masks = NDArray[np.int64]
"""Feature sets as bit masks."""


def distinct(values: NDArray[T]) -> NDArray[T]:
    """Return the different values of an array, sorted. `numpy.unique` would import ``numpy.ma``: 10 ms of the start.

    >>> distinct(np.array([[3, 1], [1, 3]])).tolist()
    [1, 3]
    """
    ranked = np.sort(values, axis=None)
    found: NDArray[T] = ranked[np.append(np.ones(min(len(ranked), 1), bool), ranked[1:] != ranked[:-1])]
    return found


def bit_counts(masks: Masks) -> NDArray[np.uint8]:
    """Return the number of features in each set; numpy has a function for it from version 2 on.

    >>> bit_counts(np.array([0, 5, 255])).tolist()
    [0, 2, 8]
    """
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(masks), dtype=np.uint8)
    bits = np.unpackbits(np.asarray(masks, dtype=np.int64, order="C").view(np.uint8).reshape(-1, 8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.uint8))
