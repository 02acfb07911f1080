"""Strict and bounded decoding of msgpack and JSON, before anything in it is used."""

import math
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, TypeVar

import msgpack

from .unsound import Unsound

MAX_LIST, MAX_MAP, MAX_TEXT_BYTES = 200_000, 1000, 1 << 16
"""The most entries of a list and of a map, and the most bytes of a text."""

MAX_CONTAINERS = 100_000
"""The most lists and maps of a document. An empty one has one byte in the file, and takes seventy in memory."""

MAX_DIGITS = 18
"""Of an integer in JSON: more digits are no count, and may be no float."""

Document = Mapping[str, Any]
Upgrades = Mapping[int, Callable[[Document], Document]]
T = TypeVar("T")


def unpack(data: bytes) -> dict[str, Any]:
    """Return the msgpack map with string keys and without extension types that some bytes hold.

    msgpack itself refuses lists in lists more than 1000 deep, and lengths that exceed the data.

    Raises `Unsound` if they hold anything else.
    """
    containers = count(1)

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
        raise Unsound("be well-formed msgpack", repr(e)) from e
    if not isinstance(document, dict):
        raise Unsound("be a map", type(document).__name__)
    return document


def unpack_json(data: bytes) -> dict[str, Any]:
    """Return the map that a JSON text holds.

    Raises `Unsound` if it holds anything else, or a number in it is not finite or too long.
    """
    import json  # only here: a bundle is not in JSON, and a node starts sooner

    try:
        document = json.loads(data, parse_constant=_finite, parse_float=_finite, parse_int=_count)
    except (ValueError, RecursionError) as e:
        raise Unsound("be sound JSON", repr(e)) from e
    if not isinstance(document, dict):
        raise Unsound("be a map", type(document).__name__)
    return document


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"a number that is not finite: {text[:40]}")
    return number


def _count(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def current(document: Document, version: int, again: str, upgrades: Upgrades) -> Document:
    """Return the content of a document of `version`, or of an older one after the upgrades from one to the next.

    Raises `Unsound` if no upgrades lead from its version to this one; `again` says how to make a new file.
    """
    found = document.get("version")
    while type(found) is int and found != version and found in upgrades:
        document, found = upgrades[found](document), found + 1
    check_version(found, version, again)
    return {name: value for name, value in document.items() if name not in ("format", "version")}


def after_line(data: bytes, what: str, magic: bytes, version: int, again: str) -> int:
    """Return where the line with format and version ends at the start of a file.

    `what`: such a file, in words.

    Raises `Unsound` if the file does not begin with `magic`, or is of another version.
    """
    line, newline, _ = data[:40].partition(b"\n")
    number = line.removeprefix(magic)
    if not (newline and line.startswith(magic) and number.isdigit()):
        raise Unsound(f"be {what}, which starts with {magic.decode()!r}", line)
    check_version(int(number), version, again)
    return len(line) + 1


def check_version(found: object, version: int, again: str) -> None:
    """Check that a file is of a version; `again` says how to make a new one.

    Raises `Unsound` if it is not.
    """
    if type(found) is not int or found != version:
        raise Unsound(f"have format version {version}", found, f"{again}, or upgrade polydom-runtime.")
