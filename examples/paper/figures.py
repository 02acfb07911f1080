"""The common style of all figures: a colour for each system, medians with quartiles, labels beside the lines."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from .results import Row

COLOURS = {
    "Poly-Dom": "#0072B2",
    "Poly-Dom, α = 1.2": "#56B4E9",
    "Poly-Dom, α = 1.3": "#882255",
    "Poly-Dom, c0 fixed": "#56B4E9",
    "layer by layer": "#009E73",
    "as printed": "#D55E00",
    "Naive-Expand-All": "#000000",
    "Naive-Lookup": "#000000",
    "Naive-Lookup, numpy": "#777777",
    "Index-All": "#D55E00",
    "staircase": "#56B4E9",
    "two-dimensional array": "#009E73",
    "Greedy": "#CC79A7",
    "Greedy-Acc": "#D55E00",
    "Greedy-Cost": "#E69F00",
    "Greedy, planned at 50": "#009E73",
    "least possible": "#777777",
    "optimum": "#BBBBBB",
}
"""The palette of Okabe and Ito, whose colours colour-blind readers can distinguish, and greys."""

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "poly-dom",
}


Panels = tuple[Figure, list[Axes]]


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of this project."""
    with matplotlib.rc_context(STYLE):
        yield


def panels(titles: Sequence[str], headline: str, *, rows: int = 1, width: float = 4.8, height: float = 3.5) -> Panels:
    """Return a figure and its panels in reading order, all with the same y axis.

    Parameters
    ----------
    titles : sequence of str
        One for each column.
    headline : str
        Title of the figure.
    rows : int
        Rows of panels.
    width, height : float
        Size of each panel in inches.
    """
    figure = Figure(figsize=(width * len(titles), 0.3 + height * rows), layout="constrained")
    axes = list(figure.subplots(rows, len(titles), sharex=rows > 1, sharey=True, squeeze=False).flat)
    figure.suptitle(headline, x=0.01, ha="left", fontsize=11, fontweight="bold")
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title)
    return figure, axes


def against_features(axes: Sequence[Axes], ylabel: str, bottom: float | None = None) -> None:
    """Finish panels of lines over the number of features: log scale, whole numbers, labels at the lines."""
    axes[0].set_yscale("log")
    plain_numbers(axes[0].yaxis)
    axes[0].set(ylabel=ylabel, ylim=(bottom, None))
    for ax in axes:
        ax.set_xlabel("number of features")
        ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        label_lines(ax)


def plain_numbers(axis: Axis) -> None:
    """Label a log axis with plain numbers, only at powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1.0 else f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def quartiles(rows: Sequence[Row], x: str, y: str) -> tuple[list[float], np.ndarray]:
    """Return the different values of x, and the quartiles of y at each of them, shape ``(3, n_x)``.

    >>> quartiles([{"n": 1, "t": 2.0}, {"n": 1, "t": 4.0}, {"n": 2, "t": 5.0}], "n", "t")[1].tolist()
    [[2.5, 5.0], [3.0, 5.0], [3.5, 5.0]]
    """
    groups: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        groups[float(row[x])].append(float(row[y]))
    return sorted(groups), np.array([np.percentile(groups[k], (25, 50, 75)) for k in sorted(groups)]).T


def band(
    axes: Axes,
    rows: Sequence[Row],
    x: str,
    y: str,
    label: str,
    *,
    system: str = "",
    dashes: str = "-",
    wide: bool = False,
) -> None:
    """Draw the median over seeds as a line and the quartiles as a band.

    Parameters
    ----------
    axes : Axes
    rows : sequence of Row
    x, y : str
        Names of the columns.
    label : str
        Label of the line.
    system : str
        Key of `COLOURS`; the label if not given.
    dashes : str
        Line style of matplotlib.
    wide : bool
        Draw a wide line behind the others.
    """
    if not rows:
        return
    places, (low, middle, high) = quartiles(rows, x, y)
    colour = COLOURS[system or label]
    (line,) = axes.plot(places, middle, dashes, color=colour, label=label)
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    if wide:
        line.set(linewidth=6.0, zorder=1, solid_capstyle="round")


def label_lines(axes: Axes, *, spacing: float = 0.058) -> None:
    """Write each line's label beside its right end, in its colour, moved up or down so that no two overlap.

    `spacing` is the least distance of two labels as a share of the height of the panel, whose limits must be final.
    """
    axes.autoscale_view()
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    ends = np.array([np.asarray(line.get_xydata())[-1] for line in lines])
    shares = (axes.transScale + axes.transLimits).transform(ends).clip(0.0, 1.0)
    heights = _spread(shares[:, 1].tolist(), spacing)
    for line, (x, y), height in zip(lines, shares.tolist(), heights, strict=True):
        colour = str(line.get_color())
        axes.plot([x, 1.03], [y, height], color=colour, linewidth=0.6, transform=axes.transAxes, clip_on=False)
        label = str(line.get_label())
        axes.text(1.04, height, label, color=_darker(colour), fontsize=8, va="center", transform=axes.transAxes)


def _spread(heights: Sequence[float], spacing: float) -> list[float]:
    """Return heights in the same order, at least `spacing` apart and at most 1 if there is room.

    >>> [round(h, 2) for h in _spread([0.5, 0.52, 0.0], 0.1)]
    [0.46, 0.56, 0.0]
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []  # sums and sizes of runs of labels that touch: each run is centred on its mean
    for height in np.array(heights)[order].tolist():
        groups.append([height, 1.0])
        while len(groups) > 1 and _bottom(groups[-1], spacing) < _top(groups[-2], spacing) + spacing:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    placed = [_bottom(g, spacing) + k * spacing for g in groups for k in range(int(g[1]))]
    result = [0.0] * len(placed)
    for place, i in zip(placed, order.tolist(), strict=True):
        result[i] = place
    return result


def _bottom(group: Sequence[float], spacing: float) -> float:
    return group[0] / group[1] - 0.5 * (group[1] - 1) * spacing


def _top(group: Sequence[float], spacing: float) -> float:
    return group[0] / group[1] + 0.5 * (group[1] - 1) * spacing


def _darker(colour: str) -> tuple[float, float, float]:
    """Return a shade that is legible as text on white."""
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return 0.75 * red, 0.75 * green, 0.75 * blue


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write ``name.png`` and ``name.svg``; the same figure gives the same files."""
    files = [out / f"{name}.png", out / f"{name}.svg"]
    figure.savefig(files[0])
    figure.set_layout_engine("none")  # keeps the layout of the first file for the second
    figure.savefig(files[1], metadata={"Date": None})
    return files


Draw = Callable[[Sequence[Row]], Figure]
"""Draws a figure from raw results."""
