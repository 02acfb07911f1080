"""The size of pictures in a page, and numbers in words."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polydom_builder.drawing.style import panel

WIDTH, HEIGHT = 5.7, 3.7
"""Inches: on a narrow screen, letters of 10 points are still 9 pixels high."""


def figure(height: float = HEIGHT) -> tuple[Figure, Axes]:
    """Return a figure of the size that pages have."""
    return panel(WIDTH, height)


def rows_high(rows: int) -> float:
    """Return the height in inches of a picture with a row for each of some names."""
    return 0.8 + 0.22 * max(rows, 2)


def megabytes(size_bytes: float) -> str:
    """Return a size in kB or MB.

    >>> megabytes(38_500), megabytes(93e6)
    ('38.5 kB', '93 MB')
    """
    return f"{size_bytes / 1e3:.3g} kB" if size_bytes < 1e6 else f"{size_bytes / 1e6:.3g} MB"


def percent(share: float) -> str:
    """Return a share in per cent, with two digits at least.

    >>> percent(0.5), percent(0.00123), percent(0.0), percent(0.98765)
    ('50 %', '0.12 %', '0 %', '99 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.4g} %"
