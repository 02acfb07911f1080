"""Values on the command line: the user's text, checked."""

import argparse
import math
from collections.abc import Mapping
from contextlib import suppress

MICRO = str.maketrans("µμ", "uu")
"""Both signs for micro: the unit and the Greek letter."""


def add_answering(command: argparse.ArgumentParser) -> None:
    """Add the arguments of every command that answers items: bundle, space, items, deadline and policy."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument("space", metavar="MODULE:SPACE", help="the feature space of the bundle")
    command.add_argument(
        "--items",
        required=True,
        help="the items: a packed .npz file, MODULE:FUNCTION, or - for lines of JSON on standard input",
    )
    add_deadline(command)
    add_tune(command)
    add_trust(command)


def add_deadline(command: argparse.ArgumentParser) -> None:
    """Add the deadline and the policy."""
    command.add_argument(
        "--deadline", type=duration, help="the deadline of each item, such as 2ms (default: the bundle's longest)"
    )
    command.add_argument(
        "--policy",
        choices=("anytime", "strict"),
        default="anytime",
        help="the use of the time: anytime plans again after each feature, strict plans once, by worst cases "
        "(default anytime)",
    )


def add_trust(command: argparse.ArgumentParser) -> None:
    """Add the option that names files of trusted keys."""
    command.add_argument(
        "--trust",
        metavar="KEYS",
        action="append",
        help="a file of public keys, one of which must have signed the bundle; may be given several times (default: "
        "the files that POLYDOM_TRUST names, or no signature is needed)",
    )


def add_tune(command: argparse.ArgumentParser) -> None:
    """Add the option that names a tune file."""
    command.add_argument(
        "--tune", metavar="NAME.tune", help="the times of this machine, from `polydom-node tune` (default none)"
    )


def duration(text: str) -> float:
    """Return seconds from ``2ms``, ``500 us`` or ``0.5s``; ArgumentTypeError without a unit, if negative or not finite.

    >>> duration("2ms"), duration("500 µs")
    (0.002, 0.0005)
    """
    return _with_unit(text, {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0}, "2ms")


def period(text: str) -> float:
    """Return the seconds of a duration; ArgumentTypeError if it is shorter than a microsecond, or above 10⁶ s.

    >>> period("20ms")
    0.02
    """
    if not 1e-6 <= (seconds := duration(text)) < 1e6:
        raise argparse.ArgumentTypeError(f"must be at least 1us. Got {text!r}")
    return seconds


def joules(text: str) -> float:
    """Return joules from ``5mJ``, ``200 uJ`` or ``0.1J``; ArgumentTypeError as `duration`.

    >>> joules("5mJ")
    0.005
    """
    return _with_unit(text, {"mJ": 1e-3, "uJ": 1e-6, "J": 1.0}, "5mJ")


def _with_unit(text: str, scales: Mapping[str, float], example: str) -> float:
    plain = text.strip().translate(MICRO)
    if unit := next(filter(plain.endswith, scales), None):
        with suppress(ValueError):
            if 0.0 <= (value := float(plain.removesuffix(unit))) < math.inf:
                return value * scales[unit]
            raise argparse.ArgumentTypeError(f"must be finite, and not below 0{unit}. Got {text!r}")
    raise argparse.ArgumentTypeError(
        f"must be a number with a unit ({', '.join(scales)}), such as {example}. Got {text!r}"
    )


def share(text: str) -> float:
    """Return a number above 0 and at most 1; ArgumentTypeError for any other.

    >>> share("0.99")
    0.99
    """
    with suppress(ValueError):
        if 0.0 < (value := float(text)) <= 1.0:
            return value
    raise argparse.ArgumentTypeError(f"must be a number above 0, at most 1. Got {text!r}")


def positive(text: str) -> float:
    """Return a finite number above 0; ArgumentTypeError for any other.

    >>> positive("60")
    60.0
    """
    with suppress(ValueError):
        if 0.0 < (value := float(text)) < math.inf:
            return value
    raise argparse.ArgumentTypeError(f"must be a positive, finite number. Got {text!r}")


def sizes(text: str) -> tuple[int, tuple[float, float] | None]:
    """Return the number of sizes to measure, and their range, from ``COUNT``, ``LOW:HIGH`` or ``LOW:HIGH:COUNT``.

    The number is 12 and the range None if not written; ArgumentTypeError for text of another form.

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
    raise argparse.ArgumentTypeError(f"must be COUNT, LOW:HIGH or LOW:HIGH:COUNT. Got {text!r}")
