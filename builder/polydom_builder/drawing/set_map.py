"""Which feature set answers at which item size and deadline, as a map."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from polydom_runtime.arrays import Bools, Floats

from .style import COLOURS
from .ticks import log_axis

LEAST_AREA = 0.012
"""The share of the map from which on there is room for the name of a region."""


class Region(NamedTuple):
    """The part of the map where one set answers."""

    name: str
    """Short, to be written into the region."""
    low: Floats
    high: Floats
    """`low`, `high`: shape (n_columns,). The sizes between which it answers in each column; NaN where it does not."""
    area: float
    """Its share of the map, on logarithmic scales."""


def draw_map(axes: Axes, edges: Floats, sizes: tuple[float, float], regions: Sequence[Region]) -> None:
    """Draw a map of item size against deadline.

    `edges` (shape (n_columns + 1,)): the deadlines, in seconds, between which the columns lie. `sizes`: the smallest
    and the largest item size. `regions`: the regions by rising score: the higher it is, the darker they are.
    """
    for k, region in enumerate(regions):
        fill = (COLOURS["blue"], 0.06 + 0.7 * k / max(len(regions) - 1, 1))
        for start, end in _runs(np.isfinite(region.low)):
            low, high = (np.append(of[start:end], of[end - 1]) for of in (region.low, region.high))
            style: dict[str, Any] = {"facecolor": fill, "edgecolor": COLOURS["paper"], "linewidth": 0.5}
            axes.fill_between(edges[start : end + 1], low, high, step="post", **style)
        if region.area >= LEAST_AREA:
            heights = np.nan_to_num(np.log(region.high / region.low)).cumsum()
            column = int(np.searchsorted(heights, 0.5 * heights[-1]))
            x, y = np.sqrt(edges[column] * edges[column + 1]), np.sqrt(region.low[column] * region.high[column])
            axes.text(x, y, region.name, ha="center", va="center", fontsize=9.0)
    log_axis(axes.xaxis, "s", "deadline")
    log_axis(axes.yaxis, label="item size")
    axes.set(xlim=(edges[0], edges[-1]), ylim=sizes)
    axes.grid(visible=False)


def _runs(there: Bools) -> list[tuple[int, int]]:
    """Return the start and the end of each run of True.

    >>> _runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    changes = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(int))).tolist()
    return list(zip(changes[::2], changes[1::2], strict=True))
