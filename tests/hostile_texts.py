"""Texts that would control a terminal, in every place of a file that takes them."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, load_bundle
from polydom_runtime.exceptions import PolyDomError

HOSTILE = "\x1b[2J\r\N{RIGHT-TO-LEFT OVERRIDE}\x9b"
"""Clears the screen, goes back to the start of the line, turns the text round, and begins a command in one byte."""

GOLDEN = Path(__file__).parent / "golden" / "format_1.bundle"


def controls(text: str) -> list[str]:
    """Return the characters of a text that control a terminal, other than ends of lines."""
    return [c for c in text if not (c.isprintable() or c == "\n")]


def printed(capsys: pytest.CaptureFixture[str], main: Callable[[list[str]], int], line: list[object]) -> str:
    """Return all that a command prints."""
    with suppress(SystemExit):  # of the parser
        main([str(word) for word in line])
    return "".join(capsys.readouterr())


def spoil(document: Any, load: Callable[[], object]) -> int:
    """Put `HOSTILE` into every text of a document, except where `load` refuses it then; return how often.

    A refusal must be printable itself.
    """
    spoilt = 0
    for key in [*document] if isinstance(document, dict) else range(len(document)):
        value = document[key]
        if isinstance(value, dict | list):
            spoilt += spoil(value, load)
        elif isinstance(value, str):
            document[key] = HOSTILE + value
            if message := refusal(load):
                assert controls(message.replace(HOSTILE, "")) == []  # the path may be hostile
                document[key] = value
            else:
                spoilt += 1
    for key in [*document] if isinstance(document, dict) else ():
        document[HOSTILE + key] = document.pop(key)
        if refusal(load):
            document[key] = document.pop(HOSTILE + key)
    return spoilt


def refusal(load: Callable[[], object]) -> str:
    """Return why a file is refused; an empty text if it is not."""
    try:
        load()
    except PolyDomError as e:
        return str(e)
    return ""


def spoilt_bundle(folder: Path) -> Path:
    """Make a bundle with `HOSTILE` wherever a node takes it."""
    shutil.copytree(GOLDEN, folder)
    document = msgpack.unpackb((folder / INDEX_FILE).read_bytes())

    def load() -> object:
        index = msgpack.packb(document)
        (folder / INDEX_FILE).write_bytes(index)
        (folder / DIGEST_FILE).write_bytes(digest_line(index))
        return load_bundle(folder)

    assert spoil(document, load) > 0
    load()
    return folder
