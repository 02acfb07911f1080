"""Values on the command line of ``polydom``: the user's text, checked."""

import math
from argparse import ArgumentTypeError
from contextlib import suppress
from datetime import date

from polydom_runtime.commands.arguments import duration, number, positive, refused
from polydom_runtime.commands.options import Option

JOBS = Option("--jobs", "the number of worker processes; -1 for all processors (default 1)", int)

loss = number(float, lambda x: 0.0 <= x < math.inf, "a finite number of at least 0")


def deadlines(text: str) -> float | tuple[float, ...]:
    """Read one deadline, a range LOW:HIGH, or several rising deadlines A:B:C, in seconds.

    >>> deadlines("2ms"), deadlines("1ms:1s"), deadlines("1ms:2ms:1s")
    (0.002, (0.001, 1.0), (0.001, 0.002, 1.0))
    """
    texts = text.split(":")
    found = [*map(duration, texts)]
    if found != sorted(found):
        rising = ":".join(sorted(texts, key=duration))
        raise refused("rising, from the shortest deadline to the longest", text, f"Write {rising}.")
    return found[0] if len(found) == 1 else tuple(found)


def day(text: str) -> date:
    """Read a date, such as ``2027-06-01``."""
    with suppress(ValueError):
        return date.fromisoformat(text)
    raise refused("a date such as 2027-06-01", text)


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise refused("a whole number of at least 1", text)


def slack(text: str) -> float | str:
    """Read a number, or "auto".

    >>> slack("0.01"), slack("auto")
    (0.01, 'auto')
    """
    if text == "auto":
        return text
    with suppress(ValueError):
        return float(text)
    raise refused("a number, or auto", text, names=["auto"])


def size_range(text: str) -> tuple[float, float]:
    """Read a range of sizes LOW:HIGH, or one size.

    >>> size_range("100:5000"), size_range("64")
    ((100.0, 5000.0), (64.0, 64.0))
    """
    low, _, high = text.partition(":")
    with suppress(ArgumentTypeError):
        return positive(low), positive(high or low)
    raise refused("LOW:HIGH or one size, of positive numbers", text)
