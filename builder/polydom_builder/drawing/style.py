"""The one style of all pictures: colours, fonts, lines that differ also in grey, and a context that draws with them."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

PALETTE = {
    "blue": ("#0072b2", "#5aa9e6"),
    "orange": ("#d55e00", "#f28e4b"),
    "green": ("#009e73", "#3cc79b"),
    "pink": ("#cc79a7", "#e3a5c7"),
    "sky": ("#56b4e9", "#8fd0f5"),
    "yellow": ("#e69f00", "#f0bf52"),
    "grey": ("#7f7f7f", "#a0a0a0"),
    "ink": ("#1a1a1a", "#e6e6e6"),
    "paper": ("#ffffff", "#0d1117"),
    "rule": ("#d9d9d9", "#3a3f46"),
}
"""Each colour on a light and on a dark page: those of Okabe and Ito, which colour-blind readers can distinguish, and a
grey; then those of text and axes, of the page behind them, and of grid lines."""

LIGHT, DARK = ({name: colours[k] for name, colours in PALETTE.items()} for k in range(2))


class PageColours:
    """The colours of the page that is drawn for, by name: see `style`."""

    def __getitem__(self, name: str) -> str:
        return to_hex(f"C{[*PALETTE].index(name)}")


COLOURS = PageColours()


class LineLook(NamedTuple):
    """How a line looks. Lines of different looks differ in grey too."""

    colour: str
    """A key of `COLOURS`."""
    dashes: str | tuple[float, tuple[float, ...]] = "-"
    """A line style of matplotlib."""
    marker: str = ""
    """A marker of matplotlib; empty for none."""

    @property
    def line(self) -> dict[str, Any]:
        """The arguments of `Axes.plot`."""
        return {"color": COLOURS[self.colour], "linestyle": self.dashes, "marker": self.marker or None}


LOOKS: Sequence[LineLook] = (
    LineLook("blue", "-", "o"),
    LineLook("orange", "--", "s"),
    LineLook("green", "-.", "^"),
    LineLook("pink", (0, (1, 1)), "D"),
    LineLook("sky", "-", "v"),
    LineLook("yellow", "--", "P"),
    LineLook("grey", ":", "X"),
)
"""Looks of lines that have no fixed one of their own, in the order of use."""

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "text.parse_math": False,  # names of features may have dollar signs
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "path",
    "svg.hashsalt": "poly-dom",
}

PANEL_WIDTH, PANEL_HEIGHT = 8.0, 4.5
"""Inches of a picture that is shown at 800 pixels, as in the README: text of 10 points has 14 pixels there."""

INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


@contextmanager
def style(colours: Mapping[str, str] = LIGHT, **changes: Any) -> Iterator[None]:
    """Draw in the style of this project.

    `colours`: `LIGHT` or `DARK`. `changes`: other settings of matplotlib.
    """
    own: dict[Any, Any] = {"axes.prop_cycle": cycler(color=[*colours.values()]), "grid.color": colours["rule"]}
    inked: dict[Any, Any] = dict.fromkeys(INKED, colours["ink"])
    with matplotlib.rc_context(STYLE | own | inked | changes), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # names may be in any script
        yield


def panel(width: float = PANEL_WIDTH, height: float = PANEL_HEIGHT) -> tuple[Figure, Axes]:
    """Return a figure of one panel, which no window shows; sizes in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def headline(axes: Axes, finding: str, note: str = "") -> None:
    """Title a panel: the finding in bold, and below it what the bands and points are, in plain."""
    axes.set_title(finding, pad=22.0 if note else 8.0)
    if note:
        axes.annotate(note, (0.0, 1.0), (0.0, 7.0), "axes fraction", "offset points", fontsize=9.0)
