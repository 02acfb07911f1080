"""A table of HTML, as notebooks show it."""

from collections.abc import Iterable, Sequence
from html import escape

from polydom_runtime.causes import uncontrolled


def html_table(title: str, rows: Iterable[Sequence[str]], columns: Sequence[str] = ()) -> str:
    """Return a table with all texts escaped; the first cell of each row is its head.

    >>> html_table("<b>", [("size", "1 & 2")])
    '<table><caption>&lt;b&gt;</caption><tbody><tr><th scope="row">size</th><td>1 &amp; 2</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{_shown(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{_shown(first)}</th>{"".join(f"<td>{_shown(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{_shown(title)}</caption>{top}<tbody>{body}</tbody></table>"


def _shown(text: str) -> str:
    return escape(uncontrolled(text))
