"""The figure: a panel for each task with the score of every system against the deadline."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.paper.results import Row, column, where
from polydom_builder.drawing.style import LineLook, headline
from polydom_builder.drawing.ticks import log_axis, percent_axis

from .replay import ANY_TIME, ORACLE, SINGLE, STRICT

LINES = {
    ORACLE: LineLook("rule"),
    ANY_TIME: LineLook("blue", "-", "o"),
    STRICT: LineLook("orange", "--", "s"),
    "Greedy": LineLook("pink", (0, (1, 1)), "D"),
    "Greedy-Acc": LineLook("green", "-.", "^"),
    "Greedy-Cost": LineLook("yellow", "--", "P"),
    SINGLE: LineLook("grey", ":", "X"),
}
"""How the line of each system looks."""

COLUMNS = 2


def draw(rows: Sequence[Row], kind: str = "tested") -> Figure:
    """Draw the real score on the test items, or the promised score; called inside the style of `drawing`."""
    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    n_rows = math.ceil((len(names) + 1) / COLUMNS)  # one panel more, for the names: all lines end in one point
    figure = Figure(figsize=(11.0, 3.3 * n_rows), layout="constrained")
    panels = list(figure.subplots(n_rows, COLUMNS, squeeze=False).flat)
    for axes, name in zip(panels, names, strict=False):
        mine = where(rows, task=name)
        _draw_task(axes, mine, kind)
        headline(axes, f"{name}: any-time {_finding(mine, kind)}")
        percent_axis(axes.yaxis)
    for axes in panels[::COLUMNS]:
        axes.set_ylabel("score on test items" if kind == "tested" else "promised score")
    for axes in panels[-COLUMNS - 1 :]:
        axes.set_xlabel("deadline")
    for axes in panels[len(names) :]:
        axes.axis("off")
    _draw_names(panels[len(names)])
    return figure


def _draw_task(axes: Axes, rows: Sequence[Row], kind: str) -> None:
    for system, look in LINES.items():
        mine = where(rows, system=system)
        (line,) = axes.plot(column(mine, "deadline"), column(mine, kind), **look.line, markersize=3.5, label=system)
        if system == ORACLE:
            line.set(linewidth=6.0, zorder=1.5, solid_capstyle="round")
    axes.set_ylim(0.0, 1.0)
    log_axis(axes.xaxis, "s")


def _draw_names(axes: Axes) -> None:
    """Write the name of each system beside a piece of its line."""
    for row, (system, look) in enumerate(LINES.items()):
        (line,) = axes.plot([0.0, 0.5, 1.0], [-row] * 3, **look.line, markersize=3.5, label=f"_{system}")
        if system == ORACLE:
            line.set(linewidth=6.0, solid_capstyle="round")
        axes.text(1.2, -row, system, va="center")
    axes.set(xlim=(-0.3, 6.0), ylim=(-len(LINES), 1.0))


def _finding(rows: Sequence[Row], kind: str) -> str:
    """Say how far the any-time policy is above or below the strict one, in the mean over the deadlines."""
    any_time, strict = (column(where(rows, system=system), kind) for system in (ANY_TIME, STRICT))
    gain = 100 * float(np.mean(np.subtract(any_time, strict)))
    return f"{abs(gain):.1f} points {'above' if gain >= 0.0 else 'below'} strict"
