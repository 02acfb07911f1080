"""Tables and text that fit the terminal, and plain lines elsewhere."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polydom_runtime.causes import uncontrolled
from polydom_runtime.commands.terminal import show, striking
from polydom_runtime.tables import TextTable

if TYPE_CHECKING:
    from rich.console import Console

LEAST_TEXT = 16
"""The narrowest that a column of longer text becomes."""

GAP = 2
"""Spaces between columns."""


def print_table(table: TextTable) -> None:
    """Print a table, numbers to the right, and an empty line; texts may come from files.

    On a terminal long texts fold inside their columns. If all columns are too wide together, some follow in a further
    table, with the first column again.
    """
    after = [""] * bool(table.columns)
    if table.rows and sys.stdout.isatty():
        _print_rich(table)
        print_text("\n".join([*table.notes, *after]))
    else:
        print_text("\n".join([*table.lines(), *after]))


def print_text(text: str) -> None:
    """Print lines, which fold between words on a terminal; they may come from files."""
    if not sys.stdout.isatty():
        show(text)
        return
    from rich.text import Text

    for line in text.split("\n"):
        _console().print(Text(uncontrolled(line), overflow="fold"))


def print_warning(text: str) -> None:
    """Print a warning, in colour on a terminal; it may come from a file."""
    print(striking(f"warning: {uncontrolled(text)}", sys.stdout))


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")


def _print_rich(shown: TextTable) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    numbers = [column.startswith("#") for column in shown.columns]
    cells = [
        [uncontrolled(cell) if is_number else _foldable(cell) for cell in column]
        for is_number, column in zip(numbers, zip(*shown.rows, strict=True), strict=True)
    ]
    console = _console()
    print_text(shown.title)
    for part in _parts(shown.heads, numbers, cells, console.width):
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
        for k in part:
            table.add_column(Text(shown.heads[k]), justify="right" if numbers[k] else "left", overflow="fold")
        for row in zip(*(cells[k] for k in part), strict=True):
            table.add_row(*map(Text, row))
        console.print(table, *[""] * (part[-1] < len(cells) - 1))


def _foldable(text: str) -> str:
    """Return a text in which the name of a feature set has a space wherever it may fold."""
    return re.sub(r"(?<=\S)\+(?=\S)", " + ", uncontrolled(text))


def _parts(
    heads: Sequence[str], numbers: Sequence[bool], cells: Sequence[Sequence[str]], width: int
) -> Iterator[list[int]]:
    """Return the numbers of the columns that fit beside each other, each time after those that tell rows apart."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, [head, *column])) for head, column in zip(heads, cells, strict=True)]
    needs = [GAP + (w if is_number else min(w, LEAST_TEXT)) for w, is_number in zip(widths, numbers, strict=True)]
    n_keys = 1 if len({*cells[0]}) == len(cells[0]) or len(cells) == 1 else 2
    part = [*range(n_keys)]
    for k in range(n_keys, len(needs)):
        if len(part) > n_keys and sum(needs[j] for j in [*part, k]) - GAP > width:
            yield part
            part = [*range(n_keys)]
        part.append(k)
    yield part
