"""Tables of texts as plain data, and how files and notebooks show them."""

from collections.abc import Sequence
from html import escape
from math import floor, isfinite, log10
from typing import NamedTuple

from polydom_runtime.causes import uncontrolled


class TextTable(NamedTuple):
    """A table of texts, made once and shown on terminals, in pages and in notebooks."""

    title: str
    columns: Sequence[str] = ()
    """Heads of columns; one that begins with ``#`` stands above numbers."""
    rows: Sequence[Sequence[str]] = ()
    """The cells; without rows, there are no heads of columns either."""
    notes: Sequence[str] = ()
    is_wide: bool = False
    """Whether it takes the whole width of a page."""

    @property
    def heads(self) -> list[str]:
        """The names of the columns."""
        return [column.removeprefix("#") for column in self.columns]

    def lines(self, indent: str = "") -> list[str]:
        """Return aligned lines, numbers to the right; those below the title are indented.

        >>> TextTable("Sets", ("#deadline", "set"), [("2 ms", "mean"), ("10 ms", "(prior)")]).lines("  ")
        ['Sets', '  deadline  set', '      2 ms  mean', '     10 ms  (prior)']
        """
        cells = [self.heads, *self.rows] if self.rows else []
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        aligned = [f"{'>' if name.startswith('#') else '<'}{w}" for name, w in zip(self.columns, widths, strict=False)]
        body = ["  ".join(map(format, row, aligned)).rstrip() for row in cells]
        return [self.title, *(f"{indent}{line}" for line in (*body, *self.notes))]

    def to_html(self) -> str:
        """Return a table with all texts escaped; the first cell of each row is its head.

        >>> TextTable("<b>", (), [("size", "1 & 2")]).to_html()
        '<table><caption>&lt;b&gt;</caption><tbody><tr><th scope="row">size</th><td>1 &amp; 2</td></tr></tbody></table>'
        """
        head = "".join(f'<th scope="col">{_shown(head)}</th>' for head in self.heads)
        body = "".join(
            f'<tr><th scope="row">{_shown(first)}</th>{"".join(f"<td>{_shown(cell)}</td>" for cell in cells)}</tr>'
            for first, *cells in self.rows
        )
        top = f"<thead><tr>{head}</tr></thead>" if head else ""
        return f"<table><caption>{_shown(self.title)}</caption>{top}<tbody>{body}</tbody></table>"


def format_bytes(size_bytes: float) -> str:
    """Return a size in kB, MB or GB.

    >>> format_bytes(38_500), format_bytes(93e6), format_bytes(999_900), format_bytes(1.5e9)
    ('38.5 kB', '93 MB', '1000 kB', '1.5 GB')
    """
    unit, name = next(((u, n) for u, n in ((1e3, "kB"), (1e6, "MB")) if size_bytes < 1000.0 * u), (1e9, "GB"))
    return f"{float(f'{size_bytes / unit:.3g}'):g} {name}"


LEAST_SHARE = 1e-6
"""A smaller share is printed as less than this one, and the same from 100 % downwards."""


def percent(share: float, digits: int = 2) -> str:
    """Return a share in per cent with this number of significant digits; from 99.5 % on, those of the rest to 100 %.

    Only 0 is 0 %, and only 1 is 100 %.

    >>> percent(0.5), percent(0.00123), percent(0.0), percent(0.98765), percent(1.234), percent(0.12345, 3)
    ('50 %', '0.12 %', '0 %', '99 %', '123 %', '12.3 %')
    >>> percent(0.9987), percent(0.9999999), percent(1.0), percent(1e-12), percent(float("nan"))
    ('99.87 %', '> 99.9999 %', '100 %', '< 0.0001 %', 'nan %')
    """
    if not isfinite(100.0 * share):
        return f"{share} %"
    rest = abs(1.0 - share) if 0.995 <= share < 1.0 else abs(share)
    if 0.0 < rest < LEAST_SHARE:
        return f"> {100.0 * (1.0 - LEAST_SHARE):.4f} %" if share > 0.5 else f"< {100.0 * LEAST_SHARE:.4f} %"
    decimals = max(digits - 1 - floor(log10(100.0 * rest)), 0) if rest else 0
    return f"{round(100.0 * share, decimals):.10g} %"


def _shown(text: str) -> str:
    return escape(uncontrolled(text))
