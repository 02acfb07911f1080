"""The figure: a panel for each task with the score of every system against the deadline."""

import math
from collections.abc import Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.paper.figures import plain_numbers
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
"""For each system its colour, from the palette of the paper's figures, and its dashes."""

COLUMNS = 3


def draw(rows: Sequence[Row], kind: str = "tested") -> Figure:
    """Draw the real score on the test items, or the promised score.

    Parameters
    ----------
    rows : sequence of Row
        From `Replay.rows`, of all tasks.
    kind : {"tested", "estimated"}
    """
    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    n_rows = math.ceil((len(names) + 1) / COLUMNS)  # one panel more, for the legend
    figure, grid = pyplot.subplots(n_rows, COLUMNS, figsize=(11.0, 3.4 * n_rows), layout="constrained", squeeze=False)
    for ax, name in zip(grid.flat, names, strict=False):
        _draw_task(ax, where(rows, task=name), kind)
        ax.set_title(name, loc="left")
    for ax in grid.flat[len(names) :]:
        ax.axis("off")
    for ax in grid[:, 0]:
        ax.set_ylabel("score on test items (%)" if kind == "tested" else "promised score (%)")
    grid.flat[len(names)].legend(*grid.flat[0].get_legend_handles_labels(), loc="center left", frameon=False)
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
