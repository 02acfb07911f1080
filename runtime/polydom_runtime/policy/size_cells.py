"""Classes of item sizes: tables are laid out for the largest size of each, so that they hold for all of it."""

import math
from collections.abc import Iterable

from polydom_runtime.costs import HUGE

GROWTH = 1.06
"""Between the ends of neighbouring cells: no size is taken for one more than 6 % larger."""

BEYOND = 16.0
"""Sizes are told apart up to this multiple of the largest measured one."""


def size_cells(sizes: tuple[float, float], exact: Iterable[float]) -> list[float]:
    """Return the ends of the cells, rising; cell k holds ends[k - 1] < n <= ends[k], and larger sizes are in none.

    Parameters
    ----------
    sizes : (float, float)
        The measured range.
    exact : iterable of float
        Sizes that must be ends, where the choice at the full deadline changes.

    Examples
    --------
    >>> ends = size_cells((100.0, 200.0), [150.0])
    >>> len(ends), 150.0 in ends, 200.0 in ends
    (62, True, True)
    """
    low, high = sizes
    if not 0.0 < high < HUGE:
        return []
    first = max(low, high * 1e-9)
    inside = math.ceil(math.log(high / first) / math.log(GROWTH)) if high > first else 0
    outside = math.ceil(math.log(BEYOND) / math.log(GROWTH))
    ends = {first * (high / first) ** (k / inside) for k in range(inside)} | {high}
    ends |= {high * BEYOND ** (k / outside) for k in range(1, outside + 1)}
    ends |= {size for size in exact if 0.0 < size < high * BEYOND}
    return sorted(ends)
