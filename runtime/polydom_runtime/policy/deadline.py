"""The check of a deadline against the bundle that must keep it."""

import math
import warnings

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import DeadlineError

MAX_SECONDS = 1e6
"""Eleven days: short enough that a float holds every number of nanoseconds exactly."""

LONG_SECONDS = 60.0
"""A deadline of at least this is questioned: most likely milliseconds were meant."""

UNUSUAL = "The deadline is unusually long."
"""The begin of the question, if there is no other fault to tell."""

ANOTHER_CLOCK = "the time of arrival: another clock"
"""The error of an answer to an item whose time of arrival cannot be used: its deadline ran from the call."""

LONGEST_WAIT_NS, LONGEST_WAIT = 60_000_000_000, 1000
"""No item waits for more than a minute and for more than so many deadlines: its time of arrival is of another clock."""

ROUNDING = 1e-9
"""A deadline may be outside of the range by this share of it, which is mere rounding."""


def checked_deadline(bundle: Bundle, deadline: float | None) -> float:
    """Return a deadline in seconds, the bundle's longest if none is given. Warn if it is outside the bundle's range.

    A very long one is questioned, unless the bundle was built for it. `DeadlineError` if it is not a positive number
    below `MAX_SECONDS`, is shorter than dispatch typically takes, or is missing though the bundle has no longest one.
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
    if fault := too_short(bundle, seconds):
        raise DeadlineError(fault)
    if not low * (1.0 - ROUNDING) <= seconds <= high * (1.0 + ROUNDING):
        warnings.warn(
            f"The bundle was built for deadlines from {format_seconds(low)} to {format_seconds(high)}; for "
            f"{format_seconds(seconds)} it may lack the best models. Build it for a range that holds all deadlines."
            f"{doubt(seconds)}",
            stacklevel=4,
        )
    elif deadline is not None and high == math.inf and (question := doubt(seconds)):
        warnings.warn(UNUSUAL + question, stacklevel=4)
    return seconds


def longest_wait_ns(deadline_ns: int) -> int:
    """Return how long before the call an item may have arrived.

    >>> longest_wait_ns(5_000_000), longest_wait_ns(1_000_000_000)
    (60000000000, 1000000000000)
    """
    return max(LONGEST_WAIT_NS, LONGEST_WAIT * deadline_ns)


def doubt(seconds: float) -> str:
    """Return a question about a deadline of at least `LONG_SECONDS`, which is in seconds; an empty text for others.

    >>> doubt(60)
    ' Are 60 s meant, and not 60 ms?'
    """
    return f" Are {seconds:g} s meant, and not {seconds:g} ms?" if LONG_SECONDS <= seconds < math.inf else ""


def too_short(bundle: Bundle, deadline: float) -> str:
    """Return why a bundle cannot answer within a deadline in seconds, and what to do; an empty text if it can.

    It cannot if dispatch alone typically takes longer: then most answers are late, even those of the prior.
    """
    size, times = bundle.promise.sizes[0], bundle.times
    typical, worst = times.typical.dispatch(size), times.worst.dispatch(size)
    if deadline >= typical:
        return ""
    return (
        f"The deadline must be at least {format_seconds(typical)}, which dispatch alone typically takes "
        f"({format_seconds(worst)} at worst). Got {format_seconds(deadline)}. Choose a longer one."
    )


def too_short_for(what: str, deadline: float, *, typical: float, worst: float, or_else: str = "") -> str:
    """Return the message about a deadline that is shorter than the worst case of something that every answer needs.

    `typical`, `worst`: seconds that it takes. `or_else`: something else to choose than a longer deadline.

    Examples
    --------
    >>> print(too_short_for("dispatch alone", 10e-6, typical=13e-6, worst=40e-6))  # doctest: +NORMALIZE_WHITESPACE
    The deadline must be at least 40 µs, the worst case of dispatch alone, which typically takes 13 µs. Got 10 µs.
    Choose a longer one.
    """
    remedy = "Choose a longer one" + (f" or {or_else}" if or_else else "")
    if typical <= deadline:
        remedy += ", measure again while the machine is idle, or promise a smaller share of answers in time"
    return (
        f"The deadline must be at least {format_seconds(worst)}, the worst case of {what}, which typically takes "
        f"{format_seconds(typical)}. Got {format_seconds(deadline)}. {remedy}."
    )
