"""Values on the command line of ``polydom``: the user's text, checked."""

import argparse

from polydom_runtime.commands.arguments import duration, positive


def deadlines(text: str) -> float | tuple[float, float]:
    """Return one deadline, or a range written LOW:HIGH, in seconds.

    >>> deadlines("2ms"), deadlines("1ms:1s")
    (0.002, (0.001, 1.0))
    """
    low, colon, high = text.partition(":")
    return (duration(low), duration(high)) if colon else duration(text)


def count(text: str) -> int:
    """Return a whole number of at least 1; ArgumentTypeError for any other text.

    >>> count("20")
    20
    """
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"must be a whole number of at least 1. Got {text!r}")


def slack(text: str) -> float | str:
    """Return a number, or "auto".

    >>> slack("0.01"), slack("auto")
    (0.01, 'auto')
    """
    return text if text == "auto" else float(text)


def size_range(text: str) -> tuple[float, float]:
    """Return a range of sizes written LOW:HIGH, or one size twice.

    >>> size_range("100:5000"), size_range("64")
    ((100.0, 5000.0), (64.0, 64.0))
    """
    low, _, high = text.partition(":")
    return positive(low), positive(high or low)
