"""Size cells: narrow classes of item sizes. A decision table is made for the largest size of each.

Costs never fall when the size grows, so times that fit at the largest size fit at every size of the cell.
"""

import math
from collections.abc import Iterable

from polydom_runtime.costs import HUGE

GROWTH = 1.06
"""The largest ratio between the ends of neighbouring cells: an item is planned as at most 6 % larger than it is."""

BEYOND, GROWTH_BEYOND = 16.0, 1.25
"""There are cells up to this multiple of the largest measured size. Such items are rare, so the cells are wider there:
fewer cells are laid out sooner."""


def size_cells(sizes: tuple[float, float], exact: Iterable[float]) -> list[float]:
    """Return the rising ends of the cells. Cell k holds ends[k - 1] < n <= ends[k]; sizes above the last are in none.

    `sizes`: the measured range. `exact`: sizes at which the choice at the full deadline changes. Those in the measured
    range become ends, so that the choice is exact there.

    Examples
    --------
    >>> ends = size_cells((100.0, 200.0), [150.0])
    >>> len(ends), 150.0 in ends, 200.0 in ends
    (27, True, True)
    """
    low, high = sizes
    if not 0.0 < high < HUGE:
        return []
    first = max(low, high * 1e-9)
    inside = math.ceil(math.log(high / first) / math.log(GROWTH)) if high > first else 0
    outside = math.ceil(math.log(BEYOND) / math.log(GROWTH_BEYOND))
    ends = {first * (high / first) ** (k / inside) for k in range(inside)} | {high}
    ends |= {high * BEYOND ** (k / outside) for k in range(1, outside + 1)}
    ends |= {size for size in exact if 0.0 < size < high}
    return sorted(ends)
