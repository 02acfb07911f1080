"""Size bands: items of about the same size."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def size_bands(sizes: Sequence[float], count: int) -> list[NDArray[np.intp]]:
    """Return the positions of the items of each band, by rising size; none if all sizes are the same.

    The bands hold about the same number of items each; items of one size are in one band.

    >>> [band.tolist() for band in size_bands([9.0, 1.0, 2.0, 8.0], 2)]
    [[1, 2], [0, 3]]
    """
    n = np.asarray(sizes, dtype=np.float64)
    edges = np.unique([*np.quantile(n, np.linspace(0.0, 1.0, count + 1), method="higher")[:-1], np.inf])
    bands = [np.flatnonzero((low <= n) & (n < high)) for low, high in pairwise(edges.tolist())]
    return bands if len(bands) > 1 else []
