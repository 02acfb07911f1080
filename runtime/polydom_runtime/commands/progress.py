"""A progress bar with the time left, for the node."""

import sys
import time
from types import TracebackType

WIDTH = 30


class ProgressBar:
    """Shows a fraction on standard error if that is a terminal.

    `what`: the words before the bar.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            print(file=sys.stderr)

    def update(self, fraction: float) -> None:
        """Show a fraction from 0 to 1."""
        if self._shown:
            print(f"\r{bar(self._what, fraction, time.monotonic() - self._began)}", end="", file=sys.stderr, flush=True)


def bar(what: str, fraction: float, spent: float) -> str:
    """Return a line of the bar.

    >>> bar("costs measured", 0.25, 10.0)
    'costs measured  [#######-----------------------]  25 %  30 s left '
    """
    left = f"{spent / fraction - spent:.0f} s left " if fraction > 0.0 else ""
    full = int(WIDTH * fraction)
    return f"{what}  [{'#' * full}{'-' * (WIDTH - full)}] {100 * fraction:3.0f} %  {left}"
