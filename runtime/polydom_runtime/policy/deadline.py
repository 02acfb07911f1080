"""Checking a deadline against the bundle that is to keep it."""

import math
import warnings

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import DeadlineError

MAX_SECONDS = 1e6
"""Eleven days; in nanoseconds still an integer that counts."""


def checked_deadline(bundle: Bundle, deadline: float | None) -> float:
    """Return a deadline in seconds, the bundle's longest if none is given; DeadlineError if it is impossible."""
    low, high = bundle.promise.budgets
    if deadline is None and high == math.inf:
        raise DeadlineError("A deadline must be given: the bundle was built for any budget. Got none.")
    try:
        seconds = float(high if deadline is None else deadline)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0.0 < seconds < MAX_SECONDS:
        raise DeadlineError(
            f"The deadline must be a positive number of seconds, less than {MAX_SECONDS:g}. Got {deadline!r}."
        )
    shortest = bundle.times.worst.dispatch(bundle.promise.sizes[0])
    if seconds < shortest:
        raise DeadlineError(
            f"The deadline must be at least {format_seconds(shortest)}, what dispatch alone may take here. "
            f"Got {format_seconds(seconds)}."
        )
    if not low <= seconds <= high:
        warnings.warn(
            f"The bundle was built for deadlines from {format_seconds(low)} to {format_seconds(high)}; for "
            f"{format_seconds(seconds)} it may lack the best models. Build it for a range that holds all deadlines.",
            stacklevel=4,
        )
    return seconds
