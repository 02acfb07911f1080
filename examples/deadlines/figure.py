"""The figure: one panel a task, score against deadline for every system."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.paper.figures import label_lines, panels, plain_numbers
from examples.paper.results import Row, column, where

from .replay import ANY_TIME, ORACLE, SINGLE, STRICT

LINES = {
    ORACLE: ("#BBBBBB", "-"),
    ANY_TIME: ("#0072B2", "-"),
    STRICT: ("#56B4E9", "-"),
    "Greedy": ("#CC79A7", "--"),
    "Greedy-Acc": ("#D55E00", "--"),
    "Greedy-Cost": ("#E69F00", "--"),
    SINGLE: ("#777777", ":"),
}
"""Colour, of the palette of the paper's figures, and dashes."""


def draw(rows: Sequence[Row], kind: str = "tested") -> Figure:
    """Draw the real score on the test items, or the promised one.

    Parameters
    ----------
    rows : sequence of Row
        From `Replay.rows`, of all tasks.
    kind : {"tested", "estimated"}
    """
    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    figure, axes = panels(names, "Score against deadline", width=4.2)
    for ax, name in zip(axes, names, strict=True):
        _draw_task(ax, where(rows, task=name), kind)
    axes[0].set_ylabel("score on test items (%)" if kind == "tested" else "promised score (%)")
    return figure


def _draw_task(ax: Axes, rows: Sequence[Row], kind: str) -> None:
    ax.set_xscale("log")
    for system, (colour, dashes) in LINES.items():
        mine = where(rows, system=system)
        milliseconds = [1e3 * x for x in column(mine, "deadline")]
        (line,) = ax.plot(milliseconds, [100 * y for y in column(mine, kind)], dashes, color=colour, label=system)
        if system == ORACLE:
            line.set(linewidth=6.0, zorder=1, solid_capstyle="round")
    plain_numbers(ax.xaxis)
    ax.set(xlabel="deadline (ms)", ylim=(0.0, 100.0))
    label_lines(ax)
