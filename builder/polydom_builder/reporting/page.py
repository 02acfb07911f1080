"""The page of a report: its parts as plain data, and the HTML of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from polydom_builder.drawing.extra import check_extra
from polydom_runtime.causes import uncontrolled

if TYPE_CHECKING:
    from jinja2 import Template

    from polydom_builder.drawing.saving import FigureMaker


class Picture(NamedTuple):
    """A picture with its title, which says what it shows, and a note on what is drawn."""

    title: str
    note: str
    draw: "FigureMaker"
    kind: str = "picture"


class Cell(NamedTuple):
    """A cell of a table with a shade from 0 to 1."""

    text: str
    shade: float

    def __str__(self) -> str:
        return self.text


class Table(NamedTuple):
    """A table."""

    title: str
    columns: Sequence[str]
    """One that begins with ``#`` holds numbers."""
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""
    kind: Literal["table", "wide table"] = "table"
    """``table``, or ``wide table``, which takes the whole width of the page."""


class Facts(NamedTuple):
    """Short texts by what they are about."""

    title: str
    rows: Sequence[tuple[str, str]]
    kind: str = "facts"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a title, a sentence or two, and blocks."""

    title: str
    lead: str
    blocks: Sequence[Picture | Table | Facts]


@dataclass(frozen=True, slots=True)
class Page:
    """A report."""

    kind: str
    """What it is about, such as ``bundle``."""
    title: str
    subtitle: str
    figures: Sequence[tuple[str, str]]
    """The few numbers that count, and what each is."""
    findings: Sequence[str]
    warnings: Sequence[str] = ()
    """Sentences."""
    sections: Sequence[Section] = field(default_factory=tuple)

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
    from polydom_builder.drawing.style import DARK, LIGHT

    def shown(value: Any) -> Any:
        return value if isinstance(value, Markup) else uncontrolled(str(value))

    def svg(picture: Picture, name: str) -> Markup:
        return Markup(inline_svg(picture.draw, name, uncontrolled(f"{picture.title}. {picture.note}")))

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
