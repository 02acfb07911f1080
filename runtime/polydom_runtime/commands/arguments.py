"""Values on the command line: the user's text, checked. What is wrong with it is an ArgumentTypeError."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from polydom_runtime.exceptions import DeadlineError

N = TypeVar("N", int, float)
MICRO = str.maketrans("µμ", "uu")
"""Both signs for micro: the unit and the Greek letter."""


def number(kind: Callable[[str], N], holds: Callable[[N], bool], what: str) -> Callable[[str], N]:
    """Make a parser of numbers for which something holds.

    >>> number(float, lambda x: x > 0.0, "above 0")("60")
    60.0
    """

    def parsed(text: str) -> N:
        with suppress(ValueError):
            if holds(value := kind(text)):
                return value
        raise ArgumentTypeError(f"must be {what}. Got {text!r}")

    return parsed


share = number(float, lambda x: 0.0 < x <= 1.0, "a number above 0, at most 1")
positive = number(float, lambda x: 0.0 < x < math.inf, "a positive, finite number")


def _with_unit(text: str, scales: Mapping[str, float], example: str) -> float:
    plain = text.strip().translate(MICRO)
    if unit := next(filter(plain.endswith, scales), None):
        with suppress(ValueError):
            if 0.0 <= (value := float(plain.removesuffix(unit))) < math.inf:
                return value * scales[unit]
            raise ArgumentTypeError(f"must be finite, and not below 0{unit}. Got {text!r}")
    raise ArgumentTypeError(f"must be a number with a unit ({', '.join(scales)}), such as {example}. Got {text!r}")


def duration(text: str) -> float:
    """Read seconds.

    >>> duration("2ms"), duration("500 µs")
    (0.002, 0.0005)
    """
    return _with_unit(text, {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0}, "2ms")


def joules(text: str) -> float:
    """Read joules.

    >>> joules("5mJ")
    0.005
    """
    return _with_unit(text, {"mJ": 1e-3, "uJ": 1e-6, "J": 1.0}, "5mJ")


def period(text: str) -> float:
    """Read the seconds of a duration from a microsecond to 10⁶ s."""
    if not 1e-6 <= (seconds := duration(text)) < 1e6:
        raise ArgumentTypeError(f"must be at least 1us. Got {text!r}")
    return seconds


def runs(text: str) -> tuple[int, int]:
    """Read a promise about late answers in a row.

    >>> runs("1/20")
    (1, 20)
    """
    from polydom_runtime.learning.runs import Runs  # only here, since most nodes promise no more than a share

    with suppress(ValueError, DeadlineError):
        most, window = map(int, text.split("/"))
        Runs.of((most, window))
        return most, window
    raise ArgumentTypeError(f"must be m/K, such as 1/20, whole numbers with 0 <= m < K. Got {text!r}")


def sizes(text: str) -> tuple[int, tuple[float, float] | None]:
    """Read the number of sizes to measure (12 if not written), and their range.

    >>> sizes("16"), sizes("100:5000"), sizes("100:5000:9")
    ((16, None), (12, (100.0, 5000.0)), (9, (100.0, 5000.0)))
    """
    parts = text.split(":")
    with suppress(ValueError):
        if len(parts) == 1:
            return int(text), None
        low, high, *count = parts
        if len(count) <= 1 and 0.0 < float(low) < float(high) < math.inf:
            return int(count[0]) if count else 12, (float(low), float(high))
    raise ArgumentTypeError(f"must be COUNT, LOW:HIGH or LOW:HIGH:COUNT. Got {text!r}")
