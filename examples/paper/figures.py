"""What the figures of the experiments share: a look for each system, panels below a finding, medians with quartiles."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from polydom_builder.drawing import saving
from polydom_builder.drawing.labels import label_lines
from polydom_builder.drawing.style import PANEL_WIDTH, LineLook
from polydom_builder.drawing.ticks import log_axis

from .results import Row

LOOKS = {
    "optimum": LineLook("rule"),
    "least possible": LineLook("ink", (0, (1, 2))),
    "Poly-Dom": LineLook("blue", "-", "o"),
    "Poly-Dom, c0 fixed": LineLook("sky", "-", "v"),
    "Poly-Dom, α = 1": LineLook("blue", "-", "o"),
    "Poly-Dom, α = 1.02": LineLook("sky", "-", "v"),
    "Poly-Dom, α = 1.2": LineLook("green", "-.", "^"),
    "Poly-Dom, α = 1.3": LineLook("pink", (0, (1, 1)), "D"),
    "α = 1.2, all trained": LineLook("pink", (0, (1, 1)), "D"),
    "as printed": LineLook("orange", "--", "s"),
    "layer by layer": LineLook("green", "-.", "^"),
    "Naive-Expand-All": LineLook("grey", ":", "X"),
    "Naive-Lookup": LineLook("grey", ":", "X"),
    "Naive-Lookup, numpy": LineLook("yellow", "--", "P"),
    "Index-All": LineLook("orange", "--", "s"),
    "two-dimensional array": LineLook("green", "-.", "^"),
    "staircase": LineLook("sky", "-", "v"),
    "Greedy": LineLook("pink", (0, (1, 1)), "D"),
    "Greedy-Acc": LineLook("green", "-.", "^"),
    "Greedy-Cost": LineLook("yellow", "--", "P"),
    "Greedy, planned at 50": LineLook("sky", "-", "v"),
    "one set for all sizes": LineLook("grey", ":", "X"),
}
"""How the line of each system looks; those of one panel differ in grey too."""

MOST_MARKS = 12

Panels = tuple[Figure, list[Axes]]
Draw = Callable[[Sequence[Row]], Figure]
"""Draws a figure from raw results, inside the style of `drawing`."""


def panels(finding: str, rows: int = 1, columns: int = 1, *, height: float = 2.8) -> Panels:
    """Return a figure and its panels in reading order, with the same y axis, and the same x axis in each column.

    Parameters
    ----------
    finding : str
        Title of the figure.
    rows, columns : int
    height : float
        Height of each panel in inches.
    """
    figure = Figure(figsize=(PANEL_WIDTH, 0.4 + height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharex="col", sharey=True, squeeze=False).flat)
    figure.suptitle(finding, x=0.01, ha="left", fontsize=11.0, fontweight="bold")
    return figure, axes


def line(axes: Axes, x: Sequence[float], y: Sequence[float], name: str, look: LineLook | None = None) -> None:
    """Draw the line of a system, which of many points marks only some; that of the optimum is wide, behind the others.

    Parameters
    ----------
    axes : Axes
    x, y : sequence of float
        Nothing is drawn if they are empty.
    name : str
        Label of the line.
    look : LineLook, optional
        That of `LOOKS` if not given.
    """
    if not len(x):
        return
    style = (look or LOOKS[name]).line
    (drawn,) = axes.plot(x, y, **style, markersize=4.0, markevery=math.ceil(len(x) / MOST_MARKS), label=name)
    if name == "optimum":
        drawn.set(linewidth=7.0, zorder=1.5, solid_capstyle="round")


def quartiles(rows: Sequence[Row], x: str, y: str) -> tuple[list[float], np.ndarray]:
    """Return the different values of x, and the quartiles of y at each of them, shape ``(3, n_x)``.

    >>> quartiles([{"n": 1, "t": 2.0}, {"n": 1, "t": 4.0}, {"n": 2, "t": 5.0}], "n", "t")[1].tolist()
    [[2.5, 5.0], [3.0, 5.0], [3.5, 5.0]]
    """
    groups: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        groups[float(row[x])].append(float(row[y]))
    return sorted(groups), np.array([np.percentile(groups[k], (25, 50, 75)) for k in sorted(groups)]).T


def band(axes: Axes, rows: Sequence[Row], x: str, y: str, name: str, scale: float = 1.0) -> None:
    """Draw the median over seeds as a line and the quartiles as a band.

    Parameters
    ----------
    axes : Axes
    rows : sequence of Row
    x, y : str
        Names of the columns.
    name : str
        Key of `LOOKS`, the label of the line.
    scale : float
        Factor of y.
    """
    if not rows:
        return
    places, values = quartiles(rows, x, y)
    low, middle, high = scale * values
    line(axes, places, middle.tolist(), name)
    axes.fill_between(places, low, high, color=LOOKS[name].line["color"], alpha=0.15, linewidth=0.0)


def last_median(rows: Sequence[Row], x: str, y: str) -> float:
    """Return the median of y at the largest x.

    >>> last_median([{"n": 1, "t": 2.0}, {"n": 2, "t": 4.0}, {"n": 2, "t": 5.0}], "n", "t")
    4.5
    """
    return float(quartiles(rows, x, y)[1][1, -1])


def against_features(axes: Sequence[Axes], label: str, unit: str = "") -> None:
    """Finish panels, one above the other, of lines over the number of features."""
    for ax in axes:
        log_axis(ax.yaxis, unit, label)
        ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=3))
        label_lines(ax, spacing=0.085)
    axes[-1].set_xlabel("number of features")


def legend(axes: Axes, columns: int = 1) -> None:
    """Name the lines beside a panel, or in several columns above it: for lines that end in one point."""
    style: dict[str, Any] = {"ncols": columns, "fontsize": 9.0, "handlelength": 3.2, "columnspacing": 1.2}
    if columns == 1:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), **style)
    else:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.02), **style)


def save_figures(figures: Mapping[str, tuple[str, Draw]], tables: Mapping[str, Sequence[Row]], out: Path) -> None:
    """Write every figure to `out`, for light and for dark pages.

    Parameters
    ----------
    figures : mapping of str to (str, Draw)
        By name: the experiment it is drawn from, and how.
    tables : mapping of str to sequence of Row
        Raw results by experiment.
    out : Path
    """
    for name, (experiment, draw) in figures.items():
        saving.save(lambda draw=draw, rows=tables[experiment]: draw(rows), out / name)  # type: ignore[misc]
