"""Counts of a loop: answers, periods and items by outcome, misses and failures."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from polydom_runtime.causes import error_text, report_failure

from .rehearsals import RehearsalCounts
from .wakeups import Lateness


class Miss(NamedTuple):
    """Periods or items that were not answered in time."""

    reason: Literal["late", "skipped", "dropped", "no answer"]
    """``late``: answered after the deadline; ``skipped``: periods began while an earlier item was still processed;
    ``dropped``: items were replaced by a newer one; ``no answer``: the predictor raised."""
    period: int
    """The period, or the first of several."""
    n: int = 1
    item: int | None = None
    """The number of the item, or of the first of several; None for skipped periods."""


@dataclass(slots=True)
class LoopCounts:
    """Counts of a loop since its start.

    Each period counts as exactly one of answered, unanswered, idle and skipped; each item that was taken as one of
    answered, unanswered and dropped.
    """

    answered: int = 0
    late: int = 0
    """Answers after the deadline."""
    abstained: int = 0
    """Answers that were withheld, since their confidence was too low."""
    unanswered: int = 0
    """Items for which the predictor raised."""
    idle: int = 0
    """Periods in which the source had no item, failed or blocked."""
    skipped: int = 0
    """Periods that began while an earlier item was still processed, or the loop still slept."""
    overruns: int = 0
    """Items that were still processed when the next period began."""
    dropped: int = 0
    """Items that were replaced by a newer one."""
    collections: int = 0
    """Garbage collections, all of them in slack."""
    failures: dict[str, int] = field(default_factory=dict)
    """Exceptions of each part: source, predictor, rehearsal, on_answer, on_miss, on_slack, watchdog."""
    errors: dict[str, str] = field(default_factory=dict)
    """The first exception of each part."""

    def failed(self, what: str, error: Exception) -> None:
        """Count an exception of the part named `what`; keep the text of the first one, and report some."""
        n = self.failures[what] = self.failures.get(what, 0) + 1
        self.errors.setdefault(what, error_text(error))
        report_failure(what, n, error)


End = Literal["stopped", "the source ended", "the source broke"]


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """The result of a loop."""

    ended: End
    """``the source broke``: it ended right after it had raised, as a generator does."""
    counts: LoopCounts
    lateness: Lateness
    rehearsals: RehearsalCounts
