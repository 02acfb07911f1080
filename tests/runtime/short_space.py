"""The hostile space for shortages: memory that fails in a worker, and calls of the system that fail in a nursery.

An item is an array of two numbers of allocations and its own number: from the first one on memory fails, before the
second one it works again, or never if that is 0. A file that `SHORTAGE` names says which function fails at which of its
calls in the next nursery that starts, and how.
"""

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime import Feature, FeatureSpace

SPACE = "tests.runtime.short_space:space"
SHORTAGE = "POLYDOM_TEST_SHORTAGE"
ERRORS = {"OSError": OSError(12, "Cannot allocate memory"), "MemoryError": MemoryError()}
MEMORY_LASTS = 10**9


def item(number: int, first: int = MEMORY_LASTS, last: int = 0) -> np.ndarray:
    return np.array([first, last, number], dtype=float)


def short(x: np.ndarray) -> list[float]:
    first, last, number = map(int, x)
    if first != MEMORY_LASTS:
        importlib.import_module("_testcapi").set_nomemory(first, last)  # of CPython's own tests
    return [number]


def fail(name: str, at: int, error: str) -> None:
    """Let a function fail at one of its calls in this process."""
    module, _, function = name.rpartition(".")
    place, calls = importlib.import_module(module), [0]
    real = getattr(place, function)

    def failing(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == at:
            raise ERRORS[error]
        return real(*arguments, **named)

    setattr(place, function, failing)


if (file := Path(os.environ.get(SHORTAGE, "/nowhere"))).is_file():
    name, at, error = file.read_text().split()
    file.unlink()
    fail(name, int(at), error)

space = FeatureSpace([Feature("number", lambda x: [x[2]]), Feature("hostile", short)], size=len)
