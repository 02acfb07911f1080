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
        counts: NDArray[np.uint8] = np.bitwise_count(masks)
        return counts
    return np.unpackbits(np.ascontiguousarray(masks).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.uint8)
