"""Strict and bounded decoding of the index file: the type, size and range of every field are checked before its use.

A `document` is the decoded map of the index file. All bounds are inclusive.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import count as counter
from reprlib import Repr
from typing import Any, TypeVar

import msgpack
import numpy as np
from numpy.typing import NDArray

from polydom_runtime.causes import uncontrolled
from polydom_runtime.exceptions import BundleFormatError

MAX_INDEX_BYTES = 4 << 20
"""Decoded, an index takes up to twenty times as much memory. Thousands of models need one MiB."""

MAX_LIST, MAX_MAP, MAX_TEXT_BYTES = 200_000, 1000, 1 << 16
"""The most entries of a list and of a map, and the most bytes of a text."""

MAX_PLAIN = 1000
"""The most characters of a label."""

MAX_CONTAINERS = 100_000
"""The most lists and maps of an index. An empty one has one byte in the file, and takes seventy in memory."""

T = TypeVar("T")

_short = Repr()
_short.maxlevel, _short.maxlist, _short.maxtuple, _short.maxdict, _short.maxother = 3, 8, 8, 8, 120


def bad(what: str, got: object, remedy: str = "Export the bundle again.") -> BundleFormatError:
    """Return the error for a value that is not as it must be: the rule, the value and the remedy."""
    text = got[:120] if isinstance(got, str) else _short.repr(got)[:120]  # str of nested lists has no limit
    return BundleFormatError(f"{what}. Got {uncontrolled(text)}. {remedy}")


def unpack(data: bytes) -> Mapping[str, Any]:
    """Decode one msgpack map with string keys and without extension types; BundleFormatError if it is anything else.

    msgpack itself refuses lists in lists more than 1000 deep, and lengths that exceed the data.
    """
    if len(data) > MAX_INDEX_BYTES:
        raise bad(f"The index must have at most {MAX_INDEX_BYTES} bytes", len(data))
    containers = counter(1)

    def counted(container: T) -> T:
        if next(containers) > MAX_CONTAINERS:
            raise ValueError(f"more than {MAX_CONTAINERS} lists and maps")
        return container

    limits = {"max_array_len": MAX_LIST, "max_map_len": MAX_MAP, "max_str_len": MAX_TEXT_BYTES, "max_ext_len": 0}
    try:
        document = msgpack.unpackb(
            data, raw=False, strict_map_key=True, list_hook=counted, object_hook=counted, **limits
        )
    except Exception as e:  # msgpack raises many kinds
        raise bad("The index must be well-formed msgpack", repr(e)) from e
    if not isinstance(document, dict):
        raise bad("The index must be a map", type(document).__name__)
    return document


def field(document: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """Return a field if it is of exactly this type (a bool is not an int); BundleFormatError otherwise."""
    value = document.get(name)
    if type(value) is not kind:
        raise bad(f"Field {name!r} must be of type {kind.__name__}", type(value).__name__)
    return value


def count(document: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Return an integer field. As `in_range`, with the name of the field in `document` instead of a value."""
    return in_range(name, field(document, name, int), low, high)


def in_range(name: str, value: object, low: int, high: int) -> int:
    """Return a value if it is an integer from `low` to `high`.

    `name`: the name of the value, for the error message.

    Raises `BundleFormatError` if it is of another type or outside the range.
    """
    if type(value) is not int or not low <= value <= high:
        raise bad(f"{name} must be an integer from {low} to {high}", value)
    return value


def number(document: Mapping[str, Any], name: str, low: float, high: float = math.inf) -> float:
    """Return a float field; an infinite one only if `high` is infinite.

    `name`: the name of the field.

    Raises `BundleFormatError` if it is missing, of another type, NaN or outside the range.
    """
    value = field(document, name, float)
    if not low <= value <= high:
        raise bad(f"Field {name!r} must be from {low} to {high}", value)
    return value


def floats(document: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a field of raw little-endian float64 bytes as an array of this shape.

    Raises `BundleFormatError` if it is missing, holds another number of bytes, or holds NaN.
    """
    raw = field(document, name, bytes)
    if len(raw) != 8 * math.prod(shape):
        raise bad(f"Field {name!r} must hold {shape} float64 numbers", f"{len(raw)} bytes")
    array = np.frombuffer(raw, dtype="<f8").reshape(shape)
    if np.isnan(array).any():
        raise bad(f"Field {name!r} must not hold NaN", "NaN")
    return array


def ordered(name: str, pair: NDArray[np.float64], low: float) -> tuple[float, float]:
    """Return the two numbers of an array if low <= first <= second; BundleFormatError otherwise."""
    a, b = pair.tolist()
    if not low <= a <= b:
        raise bad(f"Field {name!r} must be a range from low to high, at least {low}", (a, b))
    return a, b


def text(name: str, value: object, longest: int = 200) -> str:
    """Return `value` if it is a string of 1 to `longest` characters; BundleFormatError otherwise."""
    if type(value) is not str or not 1 <= len(value) <= longest:
        raise bad(f"{name} must be a string of 1 to {longest} characters", value)
    return value


def printable_text(name: str, value: object) -> str:
    """Return `value` if it is a text as `text` and nothing in it controls a terminal; BundleFormatError otherwise."""
    if not (found := text(name, value)).isprintable():
        raise bad(f"{name} must have printable characters only", ascii(value))
    return found


def is_plain(text: str) -> bool:
    """Return whether a text has at most `MAX_PLAIN` characters, and none that controls a terminal."""
    return len(text) <= MAX_PLAIN and not re.search(r"[\x00-\x1f\x7f-\x9f]", text)


def row(value: object, length: int) -> Sequence[Any]:
    """Return `value` if it is a list of `length`; BundleFormatError otherwise."""
    if type(value) is not list or len(value) != length:
        raise bad(f"A row must be a list of {length}", value)
    return value


def pack_floats(array: object) -> bytes:
    """Return raw little-endian float64 bytes, the inverse of `floats`."""
    return np.ascontiguousarray(array, dtype="<f8").tobytes()
