"""Rows as a table in Markdown."""

from collections.abc import Sequence

from examples.paper.results import Row


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """Return a table with this head.

    >>> print(markdown_table(("task", "late"), [("digits", 3)]))
    | task | late |
    | --- | --- |
    | digits | 3 |
    """
    cells = [head, ["---"] * len(head), *([str(cell) for cell in line] for line in lines)]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def rows_as_table(rows: Sequence[Row]) -> str:
    """Return rows with the names of their columns as the head; there must be one at least."""
    return markdown_table(list(rows[0]), [list(row.values()) for row in rows])
