"""Labels beside the ends of lines, in place of a legend."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes


def label_lines(axes: Axes, *, spacing: float = 0.062) -> None:
    """Write each line's label beside its right end, moved up or down so that no two overlap.

    `axes`: the panel; its limits must be final. Lines whose labels begin with an underscore get none. `spacing`: the
    least distance of two labels, as a share of the height of the panel.
    """
    axes.autoscale_view()
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    ends = np.array([np.asarray(line.get_xydata())[-1] for line in lines]).reshape(-1, 2)
    shares = (axes.transScale + axes.transLimits).transform(ends).clip(0.0, 1.0)
    heights = np.array(spread(shares[:, 1].tolist(), spacing))
    if len(heights):  # inside the panel, as far as there is room
        heights -= max(heights.max() - 1.0, 0.0)
        heights += max(-heights.min(), 0.0) * (np.ptp(heights) <= 1.0)
    for line, (x, y), height in zip(lines, shares.tolist(), heights.tolist(), strict=True):
        away: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
        dashes = "-" if x > 0.8 else (0, (1, 4))  # a long leader must not look like a line
        leader: dict[str, Any] = {"color": line.get_color(), "linewidth": 0.7, "linestyle": dashes, "label": "_leader"}
        axes.plot([x, 1.03], [y, height], **leader, **away)
        axes.text(1.04, height, str(line.get_label()), fontsize=9.0, va="center", **away)


def spread(heights: Sequence[float], spacing: float) -> list[float]:
    """Return heights in the same order that are at least `spacing` apart, each as near to its own as that allows.

    >>> [round(h, 2) for h in spread([0.5, 0.52, 0.0], 0.1)]
    [0.46, 0.56, 0.0]
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []  # runs of labels that touch, each centred on its mean: sum and size
    for height in np.array(heights)[order].tolist():
        groups.append([height, 1.0])
        while len(groups) > 1 and _end(groups[-1], -spacing) < _end(groups[-2], spacing) + spacing:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    placed = [_end(group, -spacing) + k * spacing for group in groups for k in range(int(group[1]))]
    result = np.empty(len(placed))
    result[order] = placed
    return [float(height) for height in result]


def _end(group: Sequence[float], spacing: float) -> float:
    """Return the height of the last label of a run, or of the first one if the spacing is negative."""
    return group[0] / group[1] + 0.5 * (group[1] - 1.0) * spacing
