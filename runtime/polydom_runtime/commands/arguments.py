"""Values on the command line: the user's text, checked. What is wrong with it is an ArgumentTypeError."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from polydom_runtime.exceptions import DeadlineError

N = TypeVar("N", int, float)
MICRO = str.maketrans("µμ", "uu")
"""Both signs for micro: the unit and the Greek letter."""


def refused(must: str, text: str, remedy: str = "", names: Sequence[str] = ()) -> ArgumentTypeError:
    """Return the error of a text that is not as it must be; it may be like one of some names."""
    from polydom_runtime.codec.near_names import did_you_mean  # only here: it is about an error

    remedy = f" {remedy}" if remedy else did_you_mean(text, names)
    return ArgumentTypeError(f"must be {must}. Got {text or 'an empty text'}.{remedy}")


def number(kind: Callable[[str], N], holds: Callable[[N], bool], what: str) -> Callable[[str], N]:
    """Make a parser of numbers for which something holds.

    >>> number(float, lambda x: x > 0.0, "above 0")("60")
    60.0
    """

    def parsed(text: str) -> N:
        with suppress(ValueError):
            if holds(value := kind(text)):
                return value
        raise refused(what, text)

    return parsed


whole = number(int, lambda x: True, "a whole number")
real = number(float, lambda x: not math.isnan(x), "a number")
share = number(float, lambda x: 0.0 < x <= 1.0, "a number above 0, at most 1, such as 0.99")
positive = number(float, lambda x: 0.0 < x < math.inf, "a positive, finite number without a unit")


def _with_unit(text: str, parts: Mapping[str, float], what: str) -> float:
    """Read a number with a unit, of which so many make one whole: a division rounds 400 us to .0004 exactly."""
    plain = text.strip().translate(MICRO)
    if unit := next(filter(plain.endswith, parts), None):
        with suppress(ValueError):
            if 0.0 <= (value := float(plain.removesuffix(unit))) < math.inf:
                return value / parts[unit]
            raise refused(f"finite, and not below 0{unit}", text)
    raise refused(what, text, f"The units are {', '.join(parts)}.")


def duration(text: str) -> float:
    """Read seconds.

    >>> duration("2ms"), duration("400 µs")
    (0.002, 0.0004)
    """
    return _with_unit(text, {"ms": 1e3, "us": 1e6, "ns": 1e9, "s": 1.0}, "a time with a unit, such as 2ms")


def joules(text: str) -> float:
    """Read joules.

    >>> joules("5mJ")
    0.005
    """
    return _with_unit(text, {"mJ": 1e3, "uJ": 1e6, "J": 1.0}, "an energy with a unit, such as 5mJ")


def period(text: str) -> float:
    """Read the seconds of a duration from a microsecond to 10⁶ s."""
    if not 1e-6 <= (seconds := duration(text)) < 1e6:
        raise refused("at least 1us, and below 1000000s", text)
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
    raise refused("m/K, such as 1/20, whole numbers with 0 <= m < K", text)
