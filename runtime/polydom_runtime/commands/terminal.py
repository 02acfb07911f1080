"""Output that is readable on every terminal, and that goes nowhere else if there is none."""

import codecs
import io
import os
import sys
import time
from contextlib import suppress
from typing import TextIO

from polydom_runtime.causes import printable, uncontrolled

WIDTH = 30
"""Characters of a progress bar."""

PLAIN = {
    "\N{MICRO SIGN}": "u",
    "\N{GREEK SMALL LETTER MU}": "u",
    "\N{DEGREE SIGN}": "deg ",
    "\N{MIDDLE DOT}": "*",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{GREEK SMALL LETTER ALPHA}": "alpha",
}
"""Plain characters in place of those that a terminal cannot show."""


def in_plain_characters(error: UnicodeError) -> tuple[str, int]:
    r"""Replace characters that the encoding lacks by plain ones, such as µ by u; an error handler for `codecs`.

    >>> codecs.register_error("plain", in_plain_characters)
    >>> "30 \N{MICRO SIGN}s \N{LESS-THAN OR EQUAL TO} \N{GREEK SMALL LETTER OMEGA}".encode("ascii", "plain")
    b'30 us <= \\u03c9'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found), error.end


def show(text: object) -> None:
    """Print lines for people, with a question mark for each character that might control a terminal."""
    print("\n".join(map(uncontrolled, str(text).split("\n"))))


def say(text: object, program: str = "polydom-node") -> None:
    """Print one line on standard error, as `show`; a closed one is ignored."""
    with suppress(OSError):
        print(f"{program}: {printable(str(text))}", file=sys.stderr, flush=True)


def warn(text: object, program: str = "polydom-node") -> None:
    """Print a warning in one line on standard error, as `say`."""
    with suppress(OSError):
        print(striking(f"{program}: warning: {printable(str(text))}", sys.stderr), file=sys.stderr, flush=True)


def striking(line: str, stream: TextIO) -> str:
    """Return a line in bold and yellow if the stream is a terminal on which colours are wanted."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb" or not stream.isatty()
    return line if is_plain else f"\x1b[1;33m{line}\x1b[0m"


def prepare_streams() -> None:
    """Make standard output and error take every character, and take the place of those that are closed.

    Otherwise a file that is opened later would get the number of a closed one, and the messages of libraries.
    """
    codecs.register_error("plain", in_plain_characters)
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")


def close_output() -> None:
    """Write what is still to be written; if that is impossible, nothing more, also not when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:  # its reader has gone, or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class ProgressBar:
    """Shows a fraction from 0 to 1, with the time left, on standard error if that is a terminal."""

    def __init__(self, what: str) -> None:
        self._what, self._began, self._is_shown = what, time.monotonic(), sys.stderr.isatty()

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print(file=sys.stderr)

    def update(self, fraction: float) -> None:
        """Show a fraction."""
        if self._is_shown:
            print(f"\r{bar(self._what, fraction, time.monotonic() - self._began)}", end="", file=sys.stderr, flush=True)


def bar(what: str, fraction: float, spent: float) -> str:
    """Return a line of the bar; `spent` in seconds.

    >>> bar("costs measured", 0.25, 10.0)
    'costs measured  [#######-----------------------]  25 %  30 s left '
    """
    left = f"{spent / fraction - spent:.0f} s left " if fraction > 0.0 else ""
    full = int(WIDTH * fraction)
    return f"{what}  [{'#' * full}{'-' * (WIDTH - full)}] {int(100 * fraction):3} %  {left}"
