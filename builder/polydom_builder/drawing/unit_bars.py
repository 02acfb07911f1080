"""How long each unit takes: from the median to the worst case, and the samples between."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from .style import COLOURS
from .ticks import log_axis

MOST_UNITS, MOST_CHARS = 30, 24


class UnitBar(NamedTuple):
    """The times of one unit at one item size, in seconds."""

    name: str
    typical: float
    worst: float
    """The median, and the worst case of the plan."""
    samples: Sequence[float] = ()
    """Some measured times; empty if they are not known."""


def short(name: str) -> str:
    """Return a name that fits beside an axis.

    >>> short("histogram of gradients, 8 by 8 cells")
    'histogram of gradients,…'
    """
    return name if len(name) <= MOST_CHARS else name[: MOST_CHARS - 1] + "…"


def draw_units(axes: Axes, units: Sequence[UnitBar]) -> None:
    """Draw a row for each unit, the dearest on top; of more than `MOST_UNITS`, the dearest."""
    shown = sorted(units, key=lambda unit: unit.worst)[-MOST_UNITS:]
    rows = range(len(shown))
    for row, unit in zip(rows, shown, strict=True):
        axes.plot(unit.samples, [row] * len(unit.samples), "|", color=COLOURS["grey"], alpha=0.35, markersize=9.0)
    typical, worst = [max(u.typical, 1e-12) for u in shown], [max(u.worst, 1e-12) for u in shown]
    axes.hlines(rows, typical, worst, color=COLOURS["blue"], linewidth=1.6)
    axes.plot(typical, rows, "o", color=COLOURS["blue"])
    axes.plot(worst, rows, "|", color=COLOURS["blue"], markersize=10.0, markeredgewidth=1.6)
    axes.set_yticks(rows, [short(unit.name) for unit in shown])
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.grid(visible=False, axis="y")
    log_axis(axes.xaxis, "s")
