"""Values on the command line of ``polydom``: the user's text, checked."""

import math
from argparse import ArgumentTypeError
from contextlib import suppress
from datetime import date

from polydom_runtime.commands.arguments import duration, number, positive
from polydom_runtime.commands.options import Option

JOBS = Option("--jobs", "the number of worker processes; -1 for all processors (default 1)", int)

loss = number(float, lambda x: 0.0 <= x < math.inf, "a finite number of at least 0")


def deadlines(text: str) -> float | tuple[float, float]:
    """Read one deadline, or a range LOW:HIGH, in seconds.

    >>> deadlines("2ms"), deadlines("1ms:1s")
    (0.002, (0.001, 1.0))
    """
    low, colon, high = text.partition(":")
    return (duration(low), duration(high)) if colon else duration(text)


def day(text: str) -> date:
    """Read a date, such as ``2027-06-01``."""
    with suppress(ValueError):
        return date.fromisoformat(text)
    raise ArgumentTypeError(f"must be a date such as 2027-06-01. Got {text!r}")


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise ArgumentTypeError(f"must be a whole number of at least 1. Got {text!r}")


def slack(text: str) -> float | str:
    """Read a number, or "auto".

    >>> slack("0.01"), slack("auto")
    (0.01, 'auto')
    """
    if text == "auto":
        return text
    with suppress(ValueError):
        return float(text)
    raise ArgumentTypeError(f"must be a number, or auto. Got {text!r}")


def size_range(text: str) -> tuple[float, float]:
    """Read a range of sizes LOW:HIGH, or one size.

    >>> size_range("100:5000"), size_range("64")
    ((100.0, 5000.0), (64.0, 64.0))
    """
    low, _, high = text.partition(":")
    with suppress(ArgumentTypeError):
        return positive(low), positive(high or low)
    raise ArgumentTypeError(f"must be LOW:HIGH or one size, of positive numbers. Got {text!r}")
