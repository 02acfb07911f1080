"""Risk against coverage, and confidence against the share of right answers."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from .labels import label_lines
from .style import COLOURS, LOOKS
from .ticks import percent_axis


def draw_risks(axes: Axes, curves: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw the share of wrong answers against the share of items that get an answer.

    `curves`: by the name of the line; at most as many as `LOOKS`.
    """
    for look, (name, points) in zip(LOOKS, curves.items(), strict=False):
        axes.plot(*zip(*sorted(points), strict=True), **look.line, label=name)
    percent_axis(axes.xaxis, "items that get an answer, the surest first")
    percent_axis(axes.yaxis, "wrong answers")
    axes.set_ylim(bottom=0.0)
    label_lines(axes)


def draw_reliability(axes: Axes, points: Sequence[tuple[float, float, float]]) -> None:
    """Draw the share of right answers against the confidence; on the diagonal, answers are as right as they say.

    `points`: by rising confidence; the weight, from 0 to 1, is the area of a point.
    """
    low = min((min(x, y) for x, y, _ in points), default=0.0)
    axes.plot([low, 1.0], [low, 1.0], color=COLOURS["rule"], linewidth=5.0, zorder=1.5, label="_diagonal")
    x, y, weights = zip(*points, strict=True)
    axes.plot(x, y, color=COLOURS["blue"], linewidth=1.0)
    axes.scatter(x, y, s=[12.0 + 160.0 * weight for weight in weights], color=COLOURS["blue"], zorder=3)
    percent_axis(axes.xaxis, "confidence")
    percent_axis(axes.yaxis, "right answers")
