"""The answers of a flight recording in their order: how much of the deadline each took, and which were late."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from .style import COLOURS
from .ticks import linear_axis, log_axis

MOST_COLUMNS, MOST_LATE = 240, 500


def draw_flight(axes: Axes, numbers: Sequence[int], shares: Sequence[float], slowdowns: Sequence[float]) -> None:
    """Draw the time of each answer as a share of the deadline, and the estimate of the slow-down.

    Of many answers, columns stand for some that follow each other: from the least to the largest share, with a line
    through the medians. Late answers are drawn one by one.

    `numbers`: of the items, rising.
    """
    x, y, slow = (np.asarray(values, dtype=np.float64) for values in (numbers, shares, slowdowns))
    groups = np.array_split(np.arange(len(x)), min(len(x), MOST_COLUMNS))
    at = np.array([x[group].mean() for group in groups])
    low, middle, high = (np.array([np.quantile(y[group], q) for group in groups]) for q in (0.0, 0.5, 1.0))
    axes.fill_between(at, low, high, color=COLOURS["sky"], alpha=0.35, linewidth=0.0)
    axes.plot(at, middle, color=COLOURS["blue"], linewidth=1.2)
    axes.plot(at, [slow[group].max() for group in groups], color=COLOURS["grey"], linestyle=":", linewidth=1.2)
    late = np.flatnonzero(y > 1.0)[:MOST_LATE]
    axes.plot(x[late], y[late], "x", color=COLOURS["orange"], markersize=4.0)
    axes.axhline(1.0, color=COLOURS["ink"], linewidth=0.8)
    linear_axis(axes.xaxis, label="number of the item")
    log_axis(axes.yaxis, label="time of the answer / deadline")
