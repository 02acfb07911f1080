"""The page about boards: a line ``<!-- boards -->`` becomes what the reports in ``device_profiles/boards`` say."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sphinx.application import Sphinx

from polydom_runtime.boards.profile import refusals
from polydom_runtime.boards.report import BoardReport
from polydom_runtime.boards.summary import tables
from polydom_runtime.causes import uncontrolled
from polydom_runtime.tables import TextTable

from .commands import plain

FOLDER = Path(__file__).parents[2] / "device_profiles" / "boards"
PLACE = "<!-- boards -->"
NONE = (
    "No owner of a board has sent a report yet. So nothing on this page is measured, and the profiles stay estimates."
)


def filled(text: str, folder: Path = FOLDER) -> str:
    """Return a page with the boards in their place."""
    if PLACE not in text:
        return text
    return text.replace(PLACE, "\n".join(_boards([*map(BoardReport.read, sorted(folder.glob("*.board.json")))])))


def _boards(reports: Sequence[BoardReport]) -> Iterator[str]:
    if not reports:
        yield NONE
    for report in reports:
        first, *others = tables(report)
        reasons = refusals(report)
        yield from (f"### {_shown(first.title)}\n", f"{'Not fit' if reasons else 'Fit'} to be a profile.\n")
        yield from (f"- {_shown(sentence)}" for sentence in (*reasons, *first.notes))
        yield from ("", *_table(first))
        for table in others:
            yield from (f"{_shown(table.title)}:\n", *_table(table))


def _table(table: TextTable) -> Iterator[str]:
    """Return a table in Markdown, with numbers to the right."""
    yield _row(table.heads)
    yield _row("--:" if column.startswith("#") else ":--" for column in table.columns)
    yield from map(_row, table.rows)
    yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_shown, cells))} |"


def _shown(text: str) -> str:
    return plain(uncontrolled(text))


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill the place when the page is read."""

    def fill(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = filled(source[0])

    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
