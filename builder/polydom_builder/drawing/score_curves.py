"""Score against deadline, one line for each way to choose the feature set of an item."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from .labels import label_lines
from .score_names import ANY_TIME, ORACLE, SINGLE, STRICT
from .style import COLOURS, Look
from .ticks import linear_axis, log_axis

LINES = {
    ORACLE: Look("rule"),
    ANY_TIME: Look("blue", "-", "o"),
    STRICT: Look("orange", "--", "s"),
    SINGLE: Look("grey", ":", "^"),
}


MOST_MARKS = 12


class ScoreCurve(NamedTuple):
    """A line."""

    name: str
    """`ANY_TIME`, `STRICT`, `SINGLE` or `ORACLE`."""
    deadlines: Sequence[float]
    """Rising, in seconds."""
    scores: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """The ends of an interval for each score; empty if they are not known."""
    late: Sequence[float] = ()
    """The share of late answers at each deadline; empty if nothing was replayed."""


def draw_scores(axes: Axes, curves: Sequence[ScoreCurve], budgets: tuple[float, float], score: str = "score") -> None:
    """Draw score against deadline.

    `budgets`: the deadlines that the bundle was built for, in seconds: marked if there are others in the picture.
    `score`: the name of the score.
    """
    for name, look in LINES.items():
        for curve in (curve for curve in curves if curve.name == name):
            marks = math.ceil(len(curve.scores) / MOST_MARKS)
            (line,) = axes.plot(curve.deadlines, curve.scores, **look.line, markevery=marks, label=name)
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
