"""Short names for the array types that annotations use."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Masks = NDArray[np.int64]
"""Feature sets as bit masks."""


def bit_counts(masks: Masks) -> NDArray[np.uint8]:
    """Return the number of features in each set; numpy has a function for it from version 2 on.

    >>> bit_counts(np.array([0, 5, 255])).tolist()
    [0, 2, 8]
    """
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(masks), dtype=np.uint8)
    bits = np.unpackbits(np.asarray(masks, dtype=np.int64, order="C").view(np.uint8).reshape(-1, 8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.uint8))
