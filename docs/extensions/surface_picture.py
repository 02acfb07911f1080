"""The picture of the example `surface`: right answers at each deadline, from the table in the gallery.

``python -m docs.extensions.surface_picture`` draws it for light and for dark pages. The picture takes its numbers from
the page that shows it, so both always say the same.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from polydom_builder.drawing.labels import label_lines
from polydom_builder.drawing.saving import save
from polydom_builder.drawing.style import COLOURS, LOOKS, headline, panel
from polydom_builder.drawing.ticks import log_axis, percent_axis
from polydom_runtime.costs import format_seconds

DOCS = Path(__file__).parents[1]
ROW = re.compile(r"^ +([\d.]+) (µs|ms) +(0\.\d+) +(0\.\d+) +(0\.\d+) .*/(\d+)$", re.MULTILINE)
UNITS = {"µs": 1e-6, "ms": 1e-3}
NAMES = ("Poly-Dom", "cheapest first", "one fixed set")
Z = 1.645
"""Standard errors on either side of a 90 % interval."""


class Row(NamedTuple):
    """The shares of right answers at a deadline in seconds, and from how many items."""

    deadline: float
    poly_dom: float
    cheap_first: float
    single: float
    items: int

    def interval(self) -> tuple[float, float]:
        """Return a 90 % interval of the share of Poly-Dom: Wilson's.

        >>> [round(end, 3) for end in Row(1e-3, 0.9, 0.8, 0.7, 1500).interval()]
        [0.887, 0.912]
        """
        share, n = self.poly_dom, self.items
        middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
        return middle - half, middle + half


def rows_of(page: str) -> list[Row]:
    """Return the rows of the first table that the demo printed.

    Raises
    ------
    ValueError
        If the page has none.
    """
    found = [
        Row(float(number) * UNITS[unit], float(own), float(cheap), float(single), int(items))
        for number, unit, own, single, cheap, items in ROW.findall(page)
    ]
    if not found:
        raise ValueError("The page must have the table that `make demo` prints. Found no row of it. Copy it there.")
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a line for each way to choose the feature set."""
    figure, axes = panel(height=4.0)
    deadlines = [row.deadline for row in rows]
    lines = zip(*((row.poly_dom, row.cheap_first, row.single) for row in rows), strict=True)
    for look, name, shares in zip(LOOKS, NAMES, lines, strict=False):
        axes.plot(deadlines, shares, **look.line, label=name)
    low, high = zip(*(row.interval() for row in rows), strict=True)
    axes.fill_between(deadlines, low, high, color=COLOURS[LOOKS[0].colour], alpha=0.18, linewidth=0.0)
    log_axis(axes.xaxis, "s", "deadline of an item")
    percent_axis(axes.yaxis, "right answers")
    best = max(rows, key=lambda row: row.poly_dom - row.single)
    gain = 100 * (best.poly_dom - best.single)
    finding = f"At {format_seconds(best.deadline)}, {gain:.0f} points more than one fixed feature set"
    headline(axes, finding, f"brick, grass or gravel: {best.items:,} patches; band: 90 % interval")
    label_lines(axes, spacing=0.075)
    return figure


def main() -> None:
    """Draw the picture; pages show the SVG files."""
    rows = rows_of((DOCS / "gallery.md").read_text(encoding="utf-8"))
    for file in save(lambda: draw(rows), DOCS / "surface"):
        if file.suffix == ".png":
            file.unlink()


if __name__ == "__main__":
    main()
