"""Pictures of confidences: a panel for each task."""

import math
from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.paper.results import Row, where
from polydom_builder.drawing.curves import draw_reliability, draw_risks
from polydom_builder.drawing.style import headline
from polydom_runtime.costs import format_seconds

from .confidence import in_short, reliability, risks

COLUMNS = 3


def draw_reliabilities(rows: list[Row]) -> Figure:
    """Draw the share of right answers against the confidence, for each task; called inside the style of `drawing`."""

    def draw(axes: Axes, mine: list[Row]) -> None:
        (short,) = in_short(mine)
        draw_reliability(axes, reliability(mine))
        headline(axes, f"{short['task']}: {short['of the confidence']} points off in the mean")

    return _panels(rows, draw)


def draw_risk_curves(rows: list[Row]) -> Figure:
    """Draw the share of wrong answers against the share of answered items, for each task, at some deadlines."""

    def draw(axes: Axes, mine: list[Row]) -> None:
        (short,) = in_short(mine)
        draw_risks(axes, {format_seconds(deadline): curve for deadline, curve in risks(mine).items()})
        headline(axes, f"{short['task']}: {short['wrong of 100%']} % wrong, {short['wrong of 50%']} % of a half")

    return _panels(rows, draw)


def _panels(rows: list[Row], draw: Callable[[Axes, list[Row]], Any]) -> Figure:
    names = list(dict.fromkeys(row["task"] for row in rows))
    n_rows = math.ceil(len(names) / COLUMNS)
    figure = Figure(figsize=(12.0, 3.6 * n_rows), layout="constrained")
    panels = list(figure.subplots(n_rows, COLUMNS, squeeze=False).flat)
    for axes, name in zip(panels, names, strict=False):
        draw(axes, where(rows, task=name))
    for axes in panels[len(names) :]:
        axes.axis("off")
    return figure
