"""Counts of a loop: answers, periods and items by outcome, misses and failures."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from polydom_runtime.causes import error_text, report_failure

from .rehearsals import RehearsalCounts
from .wakeups import Lateness


class Miss(NamedTuple):
    """Periods or items that were not answered in time.

    Attributes
    ----------
    reason : str
        ``late``: answered after the deadline; ``skipped``: periods began while an earlier item was still processed;
        ``dropped``: items were replaced by a newer one; ``no answer``: the predictor raised.
    period : int
        The period, or the first of several.
    n : int
        The number of periods, or of items.
    item : int or None
        The number of the item, or of the first of several; None for skipped periods.
    """

    reason: Literal["late", "skipped", "dropped", "no answer"]
    period: int
    n: int = 1
    item: int | None = None


@dataclass(slots=True)
class LoopCounts:
    """Counts of a loop since its start.

    Each period counts as exactly one of answered, unanswered, idle and skipped; each item that was taken as one of
    answered, unanswered and dropped.

    Parameters
    ----------
    answered, late : int
        Answers, and how many of them came after the deadline.
    abstained : int
        How many of the answers were withheld, since their confidence was too low.
    unanswered : int
        Items for which the predictor raised.
    idle : int
        Periods in which the source had no item, failed or blocked.
    skipped : int
        Periods that were given up because, when they began, an earlier item was still processed or the loop still
        slept.
    overruns : int
        Items that were still processed when the next period began.
    dropped : int
        Items that were replaced by a newer one.
    collections : int
        Garbage collections, all of them in slack.
    failures : dict of str to int
        The number of exceptions of each part: source, predictor, rehearsal, on_answer, on_miss, on_slack, watchdog.
    errors : dict of str to str
        The first exception of each part.
    """

    answered: int = 0
    late: int = 0
    abstained: int = 0
    unanswered: int = 0
    idle: int = 0
    skipped: int = 0
    overruns: int = 0
    dropped: int = 0
    collections: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def failed(self, what: str, error: Exception) -> None:
        """Count an exception of the part named `what`; keep the text of the first one, and report some."""
        n = self.failures[what] = self.failures.get(what, 0) + 1
        self.errors.setdefault(what, error_text(error))
        report_failure(what, n, error)


End = Literal["stopped", "the source ended", "the source broke"]


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """The result of a loop.

    Parameters
    ----------
    ended : str
        ``stopped``, ``the source ended``, or ``the source broke``: it ended right after it had raised, as a generator
        does.
    counts : LoopCounts
    lateness : Lateness
        How late the loop was woken.
    rehearsals : RehearsalCounts
    """

    ended: End
    counts: LoopCounts
    lateness: Lateness
    rehearsals: RehearsalCounts
