"""The check of a deadline against the bundle that must keep it."""

import math
import warnings

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import DeadlineError

MAX_SECONDS = 1e6
"""Eleven days: short enough that a float holds every number of nanoseconds exactly."""


def checked_deadline(bundle: Bundle, deadline: float | None) -> float:
    """Return a deadline in seconds, the bundle's longest if none is given. Warn if it is outside the bundle's range.

    Raises
    ------
    DeadlineError
        If it is not a positive number below `MAX_SECONDS`, is shorter than the worst case of dispatch, or is missing
        although the bundle has no longest deadline.
    """
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
            f"The deadline must be at least {format_seconds(shortest)}, the worst case of dispatch alone. "
            f"Got {format_seconds(seconds)}."
        )
    if not low <= seconds <= high:
        warnings.warn(
            f"The bundle was built for deadlines from {format_seconds(low)} to {format_seconds(high)}; for "
            f"{format_seconds(seconds)} it may lack the best models. Build it for a range that holds all deadlines.",
            stacklevel=4,
        )
    return seconds
