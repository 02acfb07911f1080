"""Formats whose readers do what no reader may do, to show that it is found."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from .formats import Format


def _of(use: Callable[[], object]) -> Format:
    """Return a format of which every changed file lets its reader do something."""

    def read(data: bytes, folder: Path) -> None:
        if data:
            use()

    return Format(lambda: [b""], lambda data, rng: b"changed", read)


def _hang() -> None:
    while True:
        pass


FAULTS = {
    "hang": _of(_hang),
    "crash": _of(os.abort),
    "memory": _of(lambda: b"x" * (300 << 20)),
    "warning": _of(lambda: warnings.warn("odd", RuntimeWarning, stacklevel=1)),
    "error": _of(lambda: int("x")),
    "exit": _of(lambda: os._exit(3)),
}
