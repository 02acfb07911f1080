"""The trial of a new bundle: whether it answers late, or fails, more often than it should."""

from bisect import bisect_right
from dataclasses import dataclass

from polydom_runtime.binomial import lower_bound
from polydom_runtime.prediction import AnyPredictor, Prediction

TRIAL_CONFIDENCE = 0.999
"""A bundle that keeps its promise is sent back with a chance of 1 in 1,000."""

LEAST_RATE = 0.001
"""One late or failed answer in 1,000 is normal in any case."""


@dataclass
class AnswerCounts:
    """Counts of the answers of one predictor."""

    items: int = 0
    late: int = 0
    failed: int = 0
    """Answers for which a feature or a model raised, or the supervisor had to answer."""

    def add(self, answer: Prediction) -> None:
        """Count an answer."""
        self.items += 1
        if not answer.deadline_met:
            self.late += 1
        if answer.error or answer.reason.startswith("supervised"):
            self.failed += 1


class Trial:
    """The trial of a new predictor over its first `items` answers, which are added to its `record` elsewhere.

    It may be late as often as both it and the one `before` expect, and be late and fail as often as the one before was
    and did: a bundle cannot allow itself more than is usual on the node.
    """

    def __init__(
        self, predictor: AnyPredictor, before: tuple[AnyPredictor, AnswerCounts], items: int, record: AnswerCounts
    ) -> None:
        self._items, self._record = items, record
        old, counts = before
        late = max(min(_expected(predictor), _expected(old)), _share(counts.late, counts.items))
        self.most_late = _most(items, late)
        self.most_failed = _most(items, _share(counts.failed, counts.items))

    @property
    def is_over(self) -> bool:
        """Whether the new predictor has answered enough items."""
        return self._record.items >= self._items

    @property
    def failure(self) -> str:
        """Why the new predictor is worse than promised; empty if it is not."""
        for what, count, most in (
            ("were late", self._record.late, self.most_late),
            ("had failures", self._record.failed, self.most_failed),
        ):
            if count > most:
                return f"{count} of its first {self._record.items} answers {what}; at most {most} were expected"
        return ""


def _expected(predictor: AnyPredictor) -> float:
    """Return the share of late answers that the bundle expects for the nearest deadline; 0 if there is none."""
    nearest = predictor.bundle.times.outlook_near(predictor.deadline)
    return nearest.late if nearest is not None else 0.0


def _share(count: int, items: int) -> float:
    return max(count / items if items else 0.0, LEAST_RATE)


def _most(items: int, rate: float) -> int:
    """Return the most events in this number of items that are not yet a sign of a higher rate."""
    return bisect_right(range(1, items + 1), rate, key=lambda events: lower_bound(events, items, TRIAL_CONFIDENCE))
