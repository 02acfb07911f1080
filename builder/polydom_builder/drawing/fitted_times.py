"""The measured times of one unit against item size, with the fits of its median and of its worst case."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from polydom_runtime.arrays import Floats

from .labels import label_lines
from .style import COLOURS, LOOKS
from .ticks import log_axis

MOST_SAMPLES = 40
"""Of each size so many samples are drawn, evenly from the shortest to the longest."""

Cost = Callable[[float], float]


def draw_fits(axes: Axes, sizes: Floats, times: Floats, typical: Cost, worst: Cost) -> None:
    """Draw samples as points, both fits as lines, and the band between them.

    `sizes` (shape (n_sizes,)): rising. `times` (shape (n_sizes, n_rounds)): in seconds. `typical`, `worst`: return
    seconds for a size.
    """
    chosen = np.linspace(0, times.shape[1] - 1, min(times.shape[1], MOST_SAMPLES)).round().astype(int)
    shown = np.sort(times, axis=1)[:, chosen]
    axes.plot(
        np.repeat(sizes, shown.shape[1]), shown.ravel(), "_", color=COLOURS["grey"], markersize=7.0, label="_samples"
    )
    grid = np.geomspace(sizes[0], sizes[-1], 60)
    middle, limit = ([cost(n) for n in grid.tolist()] for cost in (typical, worst))
    axes.fill_between(grid, middle, limit, color=COLOURS["blue"], alpha=0.15, linewidth=0.0)
    for look, name, line in zip(LOOKS, ("typical", "worst case"), (middle, limit), strict=False):
        axes.plot(grid, line, color=COLOURS[look.colour], linestyle=look.dashes, label=name)
    log_axis(axes.xaxis, label="item size")
    log_axis(axes.yaxis, "s", "time")
    label_lines(axes)
