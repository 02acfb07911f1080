"""Lines: scores, late answers, risks, the course of a flight, and fitted times."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from polydom_runtime.arrays import Floats

from .labels import label_lines
from .score_names import ANY_TIME, ORACLE, SINGLE, STRICT
from .style import COLOURS, LOOKS, LineLook
from .ticks import linear_axis, log_axis, percent_axis

LINES = {
    ORACLE: LineLook("rule"),
    ANY_TIME: LineLook("blue", "-", "o"),
    STRICT: LineLook("orange", "--", "s"),
    SINGLE: LineLook("grey", ":", "^"),
}
MOST_MARKS = 12

POINTS_APART = 1.015
"""The factor by which the points of two lines are apart, so that their intervals can be told apart."""

MOST_COLUMNS, MOST_LATE = 240, 500
"""In the picture of a flight: the most columns, and the most late answers drawn one by one."""

DRAWN_SAMPLES = 40
"""The number of times that are drawn of each size, evenly from the shortest to the longest."""


class Curve(NamedTuple):
    """Shares or scores at rising deadlines in seconds."""

    name: str
    """The label of the line; for scores `ANY_TIME`, `STRICT`, `SINGLE` or `ORACLE`."""
    deadlines: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """`low`, `high`: the ends of an interval for each value; empty if they are not known."""


def draw_scores(axes: Axes, curves: Sequence[Curve], budgets: tuple[float, float], score: str = "score") -> None:
    """Draw score against deadline, a line for each way to choose the feature set of an item.

    `budgets`: the deadlines that the bundle was built for, in seconds: marked if there are others in the picture.
    `score`: the name of the score.
    """
    for name, look in LINES.items():
        for curve in (curve for curve in curves if curve.name == name):
            marks = math.ceil(len(curve.values) / MOST_MARKS)
            (line,) = axes.plot(curve.deadlines, curve.values, **look.line, markevery=marks, label=name)
            if name == ORACLE:
                line.set(linewidth=7.0, zorder=1.5, solid_capstyle="round")
            if curve.low:
                band: dict[str, Any] = {"color": line.get_color(), "alpha": 0.14, "linewidth": 0.0}
                axes.fill_between(curve.deadlines, curve.low, curve.high, **band)
    log_axis(axes.xaxis, "s", "deadline")
    linear_axis(axes.yaxis, label=score)
    shown = [deadline for curve in curves for deadline in curve.deadlines]
    for end in {*budgets}:
        if min(shown) * 1.001 < end < max(shown) * 0.999:
            axes.axvline(end, color=COLOURS["ink"], linewidth=0.8, linestyle=(0, (1, 3)), label="_budget")
    label_lines(axes)


def draw_late(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw the share of late answers against the deadline, a line for each policy or regime."""
    for k, (look, curve) in enumerate(zip(LOOKS, curves, strict=False)):
        beside = [deadline * POINTS_APART**k for deadline in curve.deadlines]
        (line,) = axes.plot(beside, curve.values, **look.line, label=curve.name)
        if curve.low:
            axes.vlines(beside, curve.low, curve.high, color=line.get_color(), linewidth=1.0)
    log_axis(axes.xaxis, "s", "deadline")
    percent_axis(axes.yaxis, "late answers")
    axes.set_ylim(bottom=0.0)
    label_lines(axes)


def draw_risks(axes: Axes, curves: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw the share of wrong answers against the share of items that get an answer.

    `curves`: the points (items, wrong answers) of each line, by its name; at most as many lines as `LOOKS`.
    """
    for look, (name, points) in zip(LOOKS, curves.items(), strict=False):
        axes.plot(*zip(*sorted(points), strict=True), **look.line, label=name)
    percent_axis(axes.xaxis, "items that get an answer, the surest first")
    percent_axis(axes.yaxis, "wrong answers")
    axes.set_ylim(bottom=0.0)
    label_lines(axes)


def draw_reliability(axes: Axes, points: Sequence[tuple[float, float, float]]) -> None:
    """Draw the share of right answers against the confidence; on the diagonal, answers are as right as they say.

    `points`: triples (confidence, right answers, weight) by rising confidence; the weight, from 0 to 1, is the area of
    a point.
    """
    low = min((min(x, y) for x, y, _ in points), default=0.0)
    axes.plot([low, 1.0], [low, 1.0], color=COLOURS["rule"], linewidth=5.0, zorder=1.5, label="_diagonal")
    x, y, weights = zip(*points, strict=True)
    axes.plot(x, y, color=COLOURS["blue"], linewidth=1.0)
    axes.scatter(x, y, s=[12.0 + 160.0 * weight for weight in weights], color=COLOURS["blue"], zorder=3)
    percent_axis(axes.xaxis, "confidence")
    percent_axis(axes.yaxis, "right answers")


def draw_flight(axes: Axes, numbers: Sequence[int], shares: Sequence[float], slowdowns: Sequence[float]) -> None:
    """Draw the time of each answer as a share of the deadline, and the estimate of the slow-down.

    Of many answers, columns stand for some that follow each other: from the least to the largest share, with a line
    through the medians. Late answers are drawn one by one.

    `numbers`: the numbers of the items, rising.
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


def draw_fits(
    axes: Axes, sizes: Floats, times: Floats, typical: Callable[[float], float], worst: Callable[[float], float]
) -> None:
    """Draw the times of one unit as points, the fits of the median and of the worst case as lines, and their band.

    `sizes` (shape (n_sizes,)): rising sizes. `times` (shape (n_sizes, n_rounds)): seconds. `typical`, `worst`:
    functions that return the seconds for a size.
    """
    chosen = np.linspace(0, times.shape[1] - 1, min(times.shape[1], DRAWN_SAMPLES)).round().astype(int)
    shown = np.sort(times, axis=1)[:, chosen]
    marks: dict[str, Any] = {"color": COLOURS["grey"], "markersize": 7.0, "label": "_samples"}
    axes.plot(np.repeat(sizes, shown.shape[1]), shown.ravel(), "_", **marks)
    grid = np.geomspace(sizes[0], sizes[-1], 60)
    middle, limit = ([cost(n) for n in grid.tolist()] for cost in (typical, worst))
    axes.fill_between(grid, middle, limit, color=COLOURS["blue"], alpha=0.15, linewidth=0.0)
    for look, name, line in zip(LOOKS, ("typical", "worst case"), (middle, limit), strict=False):
        axes.plot(grid, line, color=COLOURS[look.colour], linestyle=look.dashes, label=name)
    log_axis(axes.xaxis, label="item size")
    log_axis(axes.yaxis, "s", "time")
    label_lines(axes)
