"""Items as lines of JSON."""

import json
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from polydom_runtime.exceptions import ItemError

from . import UNREADABLE

MAX_LINE_BYTES = 1 << 26
"""The rest of a longer line is skipped."""

BAD_LINES_SHOWN = 10


def json_lines(stream: IO[bytes] | None) -> Iterator[Any]:
    """Yield the item of each line of a stream: an array, a text, or `UNREADABLE`, which never ends the stream."""
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
                got = ascii(str(e))[1:-1][:120] or type(e).__name__
                print(f"Line {number} must be a JSON array of numbers, or a text. {got}{more}", file=sys.stderr)
        yield item


def _line(stream: IO[bytes]) -> bytes:
    line = part = stream.readline(MAX_LINE_BYTES)
    while len(part) == MAX_LINE_BYTES and not part.endswith(b"\n"):
        part = stream.readline(MAX_LINE_BYTES)
    return line if part is line else b"too long"  # which is no JSON


def _item(line: bytes) -> Any:
    value = json.loads(line.decode())
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or b'"' in line:
        raise ValueError(f"Got {str(value)[:40]!r}.")
    if b"true" not in line and b"false" not in line:
        return np.asarray(value, dtype=np.float64)
    if (item := np.asarray(value)).dtype != np.bool_:
        raise ValueError(f"Got booleans among numbers, {str(value)[:40]!r}.")
    return item
