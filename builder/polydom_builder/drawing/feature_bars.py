"""A bar for each feature: what it is worth."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from .style import COLOURS
from .ticks import linear_axis
from .unit_bars import short

MOST_FEATURES = 30


def draw_bars(axes: Axes, names: Sequence[str], values: Sequence[float], colour: str, label: str) -> None:
    """Draw a bar for each feature, from top to bottom; of more than `MOST_FEATURES`, the first.

    `values`: at least 0. `colour`: a key of `COLOURS`. `label`: what the values are.
    """
    shown = list(zip(names, values, strict=True))[:MOST_FEATURES][::-1]
    axes.barh(range(len(shown)), [value for _, value in shown], height=0.62, color=COLOURS[colour])
    for row, (_, value) in enumerate(shown):
        axes.annotate(
            f"{value:.4f}" if value >= 5e-5 else "0",
            (value, row),
            (3.0, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=8.0,
        )
    axes.set_yticks(range(len(shown)), [short(name) for name, _ in shown])
    axes.set(ylim=(-0.6, len(shown) - 0.4), xlim=(0.0, max(1.28 * max(values, default=0.0), 1e-4)))
    axes.grid(visible=False, axis="y")
    linear_axis(axes.xaxis, label=label)
