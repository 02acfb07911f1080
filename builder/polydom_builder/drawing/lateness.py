"""The share of late answers at each deadline, with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from .labels import label_lines
from .style import LOOKS
from .ticks import log_axis, percent_axis

APART = 1.015
"""By this factor the points of two lines are apart, so that their intervals can be told apart."""


class LateCurve(NamedTuple):
    """The late answers of one policy or regime."""

    name: str
    deadlines: Sequence[float]
    shares: Sequence[float]
    """Deadlines in seconds; shares from 0 to 1."""
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """The ends of the interval of each share; empty if they are not known."""


def draw_late(axes: Axes, curves: Sequence[LateCurve]) -> None:
    """Draw a line for each policy or regime."""
    for k, (look, curve) in enumerate(zip(LOOKS, curves, strict=False)):
        beside = [deadline * APART**k for deadline in curve.deadlines]
        (line,) = axes.plot(beside, curve.shares, **look.line, label=curve.name)
        if curve.low:
            axes.vlines(beside, curve.low, curve.high, color=line.get_color(), linewidth=1.0)
    log_axis(axes.xaxis, "s", "deadline")
    percent_axis(axes.yaxis, "late answers")
    axes.set_ylim(bottom=0.0)
    label_lines(axes)
