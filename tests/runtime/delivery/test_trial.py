"""The trial of a new bundle against its promise."""

from polydom_runtime.delivery.trial import AnswerCounts, _most
from polydom_runtime.prediction import Prediction


def answer(*, met: bool = True, error: str = "", reason: str = "planned") -> Prediction:
    return Prediction("yes", ("mean",), 0.9, 1000, met, reason, 1.0, 0, error)


def test_counts_late_and_failed_answers() -> None:
    record = AnswerCounts()
    for each in (
        answer(),
        answer(met=False),
        answer(error="mean: ValueError"),
        answer(reason="supervised: the worker died"),
    ):
        record.add(each)

    assert record == AnswerCounts(items=4, late=1, failed=2)


def test_most_events_are_what_the_binomial_distribution_allows() -> None:
    """P(X > 5) = 0.0006 and P(X > 4) = 0.0037 for 1,000 items at a rate of 0.001."""
    assert _most(1000, 0.001) == 5
    assert _most(100, 0.5) == 65
    assert _most(3, 1.0) == 3
