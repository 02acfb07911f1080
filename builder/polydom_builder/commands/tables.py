"""Tables and text that fit the terminal, and plain lines elsewhere."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polydom_runtime.causes import uncontrolled
from polydom_runtime.commands.terminal import show

if TYPE_CHECKING:
    from rich.console import Console

LEAST_TEXT = 16
"""The narrowest that a column of longer text becomes."""

GAP = 2
"""Spaces between columns."""


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, notes: Sequence[str] = ()
) -> None:
    """Print a table, numbers to the right; texts may come from files.

    On a terminal long texts fold inside their columns. If all columns are too wide together, some follow in a further
    table, with the first column again.

    `columns`: their names; those of columns of text end with a space. `rows`: a text for each column. `notes`: lines
    under the table.
    """
    if sys.stdout.isatty():
        _print_rich(title, columns, rows)
        print_text("\n".join([*notes, ""]))
        return
    names = [name.strip() for name in columns]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = zip(cells, columns, widths, strict=True)
        return (" " * GAP).join(f"{c:<{w}}" if name.endswith(" ") else f"{c:>{w}}" for c, name, w in padded).rstrip()

    show("\n".join([title, line(names), *map(line, rows), *notes, ""]))


def print_text(text: str) -> None:
    """Print lines, which fold between words on a terminal; they may come from files."""
    if not sys.stdout.isatty():
        show(text)
        return
    from rich.text import Text

    for line in text.split("\n"):
        _console().print(Text(uncontrolled(line), overflow="fold"))


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False, color_system=None if "NO_COLOR" in os.environ else "auto")


def _print_rich(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [
        [_foldable(cell) if name.endswith(" ") else uncontrolled(cell) for cell in column]
        for name, *column in zip(columns, *rows, strict=True)
    ]
    console = _console()
    print_text(title)
    for part in _parts(columns, cells, console.width):
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
        for k in part:
            name = columns[k]
            table.add_column(Text(name.strip()), justify="left" if name.endswith(" ") else "right", overflow="fold")
        for row in zip(*(cells[k] for k in part), strict=True):
            table.add_row(*map(Text, row))
        console.print(table, *[""] * (part[-1] < len(columns) - 1))


def _foldable(text: str) -> str:
    """Return a text in which the name of a feature set has a space wherever it may fold."""
    return re.sub(r"(?<=\S)\+(?=\S)", " + ", uncontrolled(text))


def _parts(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Iterator[list[int]]:
    """Return the numbers of the columns that fit beside each other, each time after the first one."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, [name.strip(), *column])) for name, column in zip(columns, cells, strict=True)]
    needs = [GAP + (min(w, LEAST_TEXT) if n.endswith(" ") else w) for n, w in zip(columns, widths, strict=True)]
    part = [0]
    for k in range(1, len(needs)):
        if len(part) > 1 and sum(needs[j] for j in [*part, k]) - GAP > width:
            yield part
            part = [0]
        part.append(k)
    yield part
