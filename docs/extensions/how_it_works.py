"""The picture of how it works: items, what feature sets cost at each size, the deadline, and the staircase.

``python -m docs.extensions.how_it_works`` draws it for light and for dark pages. Costs and scores are made up;
which set answers where follows from them.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from polydom_builder.drawing.saving import save
from polydom_builder.drawing.style import COLOURS, headline
from polydom_builder.drawing.ticks import log_axis
from polydom_runtime import CostFunction

DOCS = Path(__file__).parents[1]
SIZES = np.geomspace(100.0, 10_000.0, 60)
DEADLINE = 0.002
ITEMS = (160, 420, 1100, 2900, 7200)
"""The sizes of the items that are drawn."""


@dataclass(frozen=True, slots=True)
class Example:
    """A feature set: its name, its score, its colour, and its cost in seconds."""

    name: str
    score: float
    colour: str
    cost: CostFunction

    @property
    def last_size(self) -> float:
        """The largest size at which the set fits the deadline."""
        return min(self.cost.largest_size(DEADLINE), float(SIZES[-1]))


SETS = (
    Example("mean, bands, texture", 0.94, "blue", CostFunction.of(constant=250e-6, linear=2.2e-6)),
    Example("mean, bands", 0.88, "orange", CostFunction.of(constant=130e-6, linear=0.5e-6)),
    Example("mean", 0.79, "green", CostFunction.of(constant=50e-6, linear=0.06e-6)),
)
"""From the best to the cheapest."""


def steps() -> list[tuple[Example, float, float]]:
    """Return for each set between which sizes it answers: where it fits and no better one does.

    >>> [(example.name, round(low), round(high)) for example, low, high in steps()]
    [('mean, bands, texture', 100, 795), ('mean, bands', 795, 3740), ('mean', 3740, 10000)]
    """
    ends = [float(SIZES[0]), *(example.last_size for example in SETS)]
    return list(zip(SETS, ends[:-1], ends[1:], strict=True))


def draw() -> Figure:
    """Draw three panels over one axis of sizes."""
    figure = Figure(figsize=(8.0, 6.8), layout="constrained")
    items, costs, answers = figure.subplots(3, 1, sharex=True, height_ratios=(0.5, 2.0, 1.2))
    _draw_items(items)
    _draw_costs(costs)
    _draw_staircase(answers)
    answers.set(xscale="log", xlabel="size of the item", xlim=(SIZES[0], SIZES[-1]), xticks=ITEMS)
    answers.set_xticklabels([f"{n:,}" for n in ITEMS])
    for ax in (items, costs, answers):
        ax.xaxis.set_minor_locator(NullLocator())
    return figure


def _draw_items(ax: Axes) -> None:
    headline(ax, "Items differ in size")
    ax.axis("off")
    ax.set(ylim=(-1.3, 1.3))
    for n in ITEMS:
        half = 0.1 + 0.05 * math.log(n / ITEMS[0])  # of its width, on the log axis
        x = np.linspace(-1.0, 1.0, 40 + 20 * round(half / 0.02))
        wave = np.sin(x * half * 110) * (0.55 + 0.45 * np.cos(x * 7))
        ax.plot(n * np.exp(half * x), wave, color=COLOURS["grey"], linewidth=1.2)


def _draw_costs(ax: Axes) -> None:
    headline(ax, "Larger items take longer: fewer feature sets fit the deadline", "thick: the set that answers")
    for example, low, high in steps():
        own = np.array([low, *(n for n in SIZES.tolist() if low < n < high), high])
        for sizes, width, alpha in ((SIZES, 1.2, 0.55), (own, 4.5, 1.0)):
            times = [example.cost(n) for n in sizes]
            ax.plot(sizes, times, color=COLOURS[example.colour], linewidth=width, alpha=alpha)
        if example is not SETS[-1]:
            ax.plot([high], [example.cost(high)], "o", color=COLOURS[example.colour], markersize=6)
        place = (SIZES[0], example.cost(SIZES[0]))
        ax.annotate(example.name, place, (6, -16), textcoords="offset points")
    ax.axhline(DEADLINE, color=COLOURS["ink"], linewidth=1.6, linestyle="--")
    ax.annotate("deadline", (110, DEADLINE), (0, 4), textcoords="offset points")
    log_axis(ax.yaxis, "s", "time of an answer")
    ax.set(ylim=(25e-6, 6e-3))


def _draw_staircase(ax: Axes) -> None:
    headline(ax, "So the best set is a staircase: one look-up for each item", "costs and scores are made up")
    for example, low, high in steps():
        ax.plot([low, high], [example.score] * 2, color=COLOURS[example.colour], linewidth=4.5, solid_capstyle="butt")
        ax.annotate(
            example.name, (math.sqrt(low * high), example.score), (0, 6), textcoords="offset points", ha="center"
        )
        if example is not SETS[-1]:
            ax.axvline(high, color=COLOURS["grey"], linewidth=0.8, linestyle=":")
    ax.set(ylabel="score", ylim=(0.74, 1.0), yticks=[example.score for example in SETS])


def main() -> None:
    """Draw the picture; pages show the SVG files."""
    for file in save(draw, DOCS / "how-it-works"):
        if file.suffix == ".png":
            file.unlink()


if __name__ == "__main__":
    main()
