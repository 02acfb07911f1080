"""Tables that fit the terminal, and plain lines elsewhere."""

import os
import sys
from collections.abc import Sequence

from polydom_runtime.causes import uncontrolled
from polydom_runtime.commands.terminal import show


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, numbers to the right; texts may come from files.

    Parameters
    ----------
    title : str
    columns : sequence of str
        Their names; those of columns of text end with a space.
    rows : sequence of sequence of str
        A text for each column.
    """
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        _print_rich(title, columns, rows)
        return
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = zip(cells, columns, widths, strict=True)
        return "  ".join(f"{c:<{w}}" if name.endswith(" ") else f"{c:>{w}}" for c, name, w in padded).rstrip()

    show("\n".join([title, line(columns), *map(line, rows), ""]))


def _print_rich(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(uncontrolled(title)), title_justify="left", box=SIMPLE_HEAD)
    for name in columns:
        is_text = name.endswith(" ")
        table.add_column(
            Text(name.strip()), justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text
        )
    for row in rows:
        table.add_row(*(Text(uncontrolled(cell)) for cell in row))
    Console(highlight=False).print(table)
