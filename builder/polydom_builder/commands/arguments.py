"""Values on the command line of ``polydom``: the user's text, checked."""

import argparse
import math
from contextlib import suppress
from datetime import date

from polydom_builder.simulation.report import POLICIES
from polydom_runtime.commands.arguments import duration, positive


def deadlines(text: str) -> float | tuple[float, float]:
    """Return one deadline, or a range written LOW:HIGH, in seconds.

    >>> deadlines("2ms"), deadlines("1ms:1s")
    (0.002, (0.001, 1.0))
    """
    low, colon, high = text.partition(":")
    return (duration(low), duration(high)) if colon else duration(text)


def day(text: str) -> date:
    """Return a date; ArgumentTypeError for any other text.

    >>> str(day("2027-06-01"))
    '2027-06-01'
    """
    with suppress(ValueError):
        return date.fromisoformat(text)
    raise argparse.ArgumentTypeError(f"must be a date such as 2027-06-01. Got {text!r}")


def count(text: str) -> int:
    """Return a whole number of at least 1; ArgumentTypeError for any other text.

    >>> count("20")
    20
    """
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"must be a whole number of at least 1. Got {text!r}")


def loss(text: str) -> float:
    """Return a finite number of at least 0; ArgumentTypeError for any other text.

    >>> loss("0.01"), loss("0")
    (0.01, 0.0)
    """
    with suppress(ValueError):
        if 0.0 <= (value := float(text)) < math.inf:
            return value
    raise argparse.ArgumentTypeError(f"must be a finite number of at least 0. Got {text!r}")


def slack(text: str) -> float | str:
    """Return a number, or "auto"; ArgumentTypeError for any other text.

    >>> slack("0.01"), slack("auto")
    (0.01, 'auto')
    """
    if text == "auto":
        return text
    with suppress(ValueError):
        return float(text)
    raise argparse.ArgumentTypeError(f"must be a number, or auto. Got {text!r}")


def size_range(text: str) -> tuple[float, float]:
    """Return a range of sizes written LOW:HIGH, or one size twice; ArgumentTypeError for text of another form.

    >>> size_range("100:5000"), size_range("64")
    ((100.0, 5000.0), (64.0, 64.0))
    """
    low, _, high = text.partition(":")
    with suppress(argparse.ArgumentTypeError):
        return positive(low), positive(high or low)
    raise argparse.ArgumentTypeError(f"must be LOW:HIGH or one size, of positive numbers. Got {text!r}")


def add_replaying(command: argparse.ArgumentParser, *, deadlines: str, slower_than: str) -> None:
    """Add the arguments of every command that replays recorded times.

    `deadlines`: those taken if none are given, for the help. `slower_than`: the place of the recorded times, for the
    help.
    """
    command.add_argument(
        "--deadline",
        type=duration,
        nargs="+",
        help=f"the deadlines of an item, such as 2ms 5ms (default: {deadlines})",
    )
    command.add_argument("--policy", choices=POLICIES, help="the policy of the node (default: both in turn)")
    command.add_argument(
        "--slowdown",
        type=positive,
        default=1.0,
        help=f"the factor by which the device is slower than in {slower_than} (default 1)",
    )
