"""What a loop has done, and what was not in time."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .wakeups import Lateness

MAX_ERROR_CHARS = 200


class Miss(NamedTuple):
    """What was not in time.

    Attributes
    ----------
    reason : str
        ``late``: answered, but after the deadline; ``skipped``: periods began while an earlier item was in work;
        ``dropped``: items gave way to a newer one; ``no answer``: the predictor raised.
    period : int
        The (first) period that it concerns.
    n : int
        How many periods, or items.
    item : int or None
        The number of the (first) item; of a skipped period there is none.
    """

    reason: Literal["late", "skipped", "dropped", "no answer"]
    period: int
    n: int = 1
    item: int | None = None


@dataclass(slots=True)
class LoopCounts:
    """What a loop has done so far.

    Each period is one of: answered, unanswered, idle or skipped. Each item taken is one of: answered, unanswered or
    dropped.

    Parameters
    ----------
    answered, late : int
        Answers, and those of them after the deadline.
    unanswered : int
        Items at which the predictor raised.
    idle : int
        Periods in which the source had nothing, failed or was waited for.
    skipped : int
        Periods that were given up since an earlier item was still in work when they began, or the loop still asleep.
    overruns : int
        Items still in work when the next period began.
    dropped : int
        Items that gave way to a newer one.
    collections : int
        Garbage collections, all in slack.
    failures : dict of str to int
        What raised (source, predictor, on_answer, on_miss, on_slack, watchdog), how often.
    errors : dict of str to str
        What it raised last.
    """

    answered: int = 0
    late: int = 0
    unanswered: int = 0
    idle: int = 0
    skipped: int = 0
    overruns: int = 0
    dropped: int = 0
    collections: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def failed(self, what: str, error: Exception) -> None:
        """Count something that raised."""
        self.failures[what] = self.failures.get(what, 0) + 1
        self.errors[what] = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]


End = Literal["stopped", "the source ended", "the source broke"]


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """How a loop went.

    Parameters
    ----------
    ended : str
        ``stopped``, ``the source ended``, or ``the source broke``: it ended right after it raised, as a generator does.
    counts : LoopCounts
    lateness : Lateness
        Of the wake-ups.
    """

    ended: End
    counts: LoopCounts
    lateness: Lateness
