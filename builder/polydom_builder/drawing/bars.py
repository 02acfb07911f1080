"""A row for each unit: how long it takes, or what it is worth."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from .style import COLOURS
from .ticks import linear_axis, log_axis

MOST_BARS, MOST_CHARS = 30, 24


class UnitBar(NamedTuple):
    """The times of one unit at one item size, in seconds."""

    name: str
    typical: float
    worst: float
    """`typical`: the median. `worst`: the worst case of the plan."""
    samples: Sequence[float] = ()
    """Some measured times; empty if they are not known."""


def short_name(name: str) -> str:
    """Return a name that fits beside an axis.

    >>> short_name("histogram of gradients, 8 by 8 cells")
    'histogram of gradients,…'
    """
    return name if len(name) <= MOST_CHARS else name[: MOST_CHARS - 1] + "…"


def draw_units(axes: Axes, units: Sequence[UnitBar]) -> None:
    """Draw the median and the worst case, the dearest unit on top; of more than `MOST_BARS`, the dearest."""
    shown = sorted(units, key=lambda unit: unit.worst)[-MOST_BARS:]
    rows = range(len(shown))
    for row, unit in zip(rows, shown, strict=True):
        axes.plot(unit.samples, [row] * len(unit.samples), "|", color=COLOURS["grey"], alpha=0.35, markersize=9.0)
    typical, worst = [max(u.typical, 1e-12) for u in shown], [max(u.worst, 1e-12) for u in shown]
    axes.hlines(rows, typical, worst, color=COLOURS["blue"], linewidth=1.6)
    axes.plot(typical, rows, "o", color=COLOURS["blue"])
    axes.plot(worst, rows, "|", color=COLOURS["blue"], markersize=10.0, markeredgewidth=1.6)
    _label_rows(axes, [unit.name for unit in shown])
    log_axis(axes.xaxis, "s")


def draw_bars(axes: Axes, names: Sequence[str], values: Sequence[float], colour: str, label: str) -> None:
    """Draw a bar for each unit, from top to bottom; of more than `MOST_BARS`, the first.

    `values`: numbers of at least 0. `colour`: a key of `COLOURS`. `label`: a name for the values.
    """
    shown = list(zip(names, values, strict=True))[:MOST_BARS][::-1]
    axes.barh(range(len(shown)), [value for _, value in shown], height=0.62, color=COLOURS[colour])
    for row, (_, value) in enumerate(shown):
        text = f"{value:.4f}" if value >= 5e-5 else "0"
        axes.annotate(text, (value, row), (3.0, 0.0), textcoords="offset points", va="center", fontsize=8.0)
    _label_rows(axes, [name for name, _ in shown])
    axes.set_xlim(0.0, max(1.28 * max(values, default=0.0), 1e-4))
    linear_axis(axes.xaxis, label=label)


def _label_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short_name(name) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(visible=False, axis="y")
