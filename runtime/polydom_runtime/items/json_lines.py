"""Items as lines of JSON, from a stream that nobody vouches for: a bad line is counted, and never ends the stream."""

import json
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from polydom_runtime.exceptions import ItemError

UNREADABLE = object()
"""Stands for a line that is no item."""

MAX_LINE_BYTES = 1 << 26
"""The rest of a longer line is skipped."""

BAD_LINES_SHOWN = 10
"""Later ones only count."""


def json_lines(stream: IO[bytes] | None) -> Iterator[Any]:
    """Yield the item of each line: an array from a list of numbers, or a text; `UNREADABLE` if it is neither.

    Empty lines are skipped. The first bad lines are shown on stderr.
    """
    if stream is None:
        raise ItemError("Standard input must be open. It is closed. Give it a file or a pipe.")
    number = bad = 0
    while True:
        try:
            line = _line(stream)
        except (OSError, ValueError) as e:
            raise ItemError(f"Standard input must be a stream of lines. {e}. Give it a file or a pipe.") from e
        if not line:
            return
        number += 1
        if not line.strip():
            continue
        try:
            item: Any = _item(line)
        except Exception as e:  # whatever is in a line, the stream goes on
            bad, item = bad + 1, UNREADABLE
            if bad <= BAD_LINES_SHOWN:
                more = " Later ones only count." if bad == BAD_LINES_SHOWN else ""
                print(f"Line {number} must be a JSON array of numbers, or a text. {_short(e)}{more}", file=sys.stderr)
        yield item


def _line(stream: IO[bytes]) -> bytes:
    """Return the next line; in place of one that is too long a text that is no JSON."""
    line = part = stream.readline(MAX_LINE_BYTES)
    while len(part) == MAX_LINE_BYTES and not part.endswith(b"\n"):
        part = stream.readline(MAX_LINE_BYTES)
    return line if part is line else b"too long"


def _item(line: bytes) -> Any:
    value = json.loads(line.decode())
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError(f"Got {str(value)[:40]!r}.")
    return np.asarray(value, dtype=np.float64)


def _short(error: Exception) -> str:
    return ascii(str(error))[1:-1][:120] or type(error).__name__
