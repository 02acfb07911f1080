"""The page of a report: its parts as plain data, and the HTML of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from polydom_builder.drawing.extra import check_extra
from polydom_runtime.causes import uncontrolled
from polydom_runtime.tables import TextTable
from polydom_runtime.tables import percent as percent

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURE_WIDTH, PICTURE_HEIGHT = 5.7, 3.7
"""Inches of a picture: on a narrow screen, letters of 10 points are still 9 pixels high."""

SURE = 0.95
"""The confidence of each bound of a share of late answers."""


class Picture(NamedTuple):
    """A picture with its title, which says what it shows, and a note on what is drawn."""

    title: str
    note: str
    draw: "Callable[[Axes], object]"
    height: float = PICTURE_HEIGHT


class ShadedText(str):
    """A cell of a table with a shade from 0 to 1."""

    shade: float

    def __new__(cls, text: str, shade: float) -> "ShadedText":
        """Make a text with a shade."""
        made = super().__new__(cls, text)
        made.shade = shade
        return made


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a title, a sentence or two, and blocks."""

    title: str
    lead: str
    blocks: Sequence[Picture | TextTable]
    """Pictures and tables; a table without heads of columns holds pairs of a name and a short text."""


@dataclass(frozen=True, slots=True)
class Page:
    """A report."""

    kind: str
    """The kind of its subject, such as ``bundle``."""
    title: str
    subtitle: str
    figures: Sequence[tuple[str, str]]
    """The few numbers that count, and the name of each."""
    findings: Sequence[str]
    warnings: Sequence[str]
    """`findings`, `warnings`: sentences."""
    sections: Sequence[Section]

    def to_html(self) -> str:
        """Return the page: without scripts, and without anything to load. All texts are escaped.

        Raises `FitError` if jinja2 or matplotlib is not installed.
        """
        return _template().render(page=self)


@cache
def _template() -> "Template":
    check_extra("jinja2", "matplotlib")
    import jinja2
    from markupsafe import Markup

    from polydom_builder.drawing.saving import inline_svg
    from polydom_builder.drawing.style import DARK, LIGHT, panel

    def shown(value: Any) -> Any:
        return value if isinstance(value, Markup) else uncontrolled(str(value))

    def svg(picture: Picture, name: str) -> Markup:
        def drawn() -> "Figure":
            figure, axes = panel(PICTURE_WIDTH, picture.height)
            picture.draw(axes)
            return figure

        return Markup(inline_svg(drawn, name, uncontrolled(f"{picture.title}. {picture.note}")))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("polydom_builder.reporting", "."),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(svg=svg, light=LIGHT, dark=DARK)
    return environment.get_template("page.html.jinja")


def rows_high(rows: int) -> float:
    """Return the height in inches of a picture with a row for each of some names."""
    return 0.8 + 0.22 * max(rows, 2)
