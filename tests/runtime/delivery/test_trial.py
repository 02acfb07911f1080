"""The trial of a new bundle against what is usual on the node."""

from dataclasses import replace

import pytest

from polydom_runtime.delivery.trial import AnswerCounts, Trial, _most
from polydom_runtime.prediction import Prediction
from polydom_runtime.predictor import Predictor
from tests.bundle_parts import outlook
from tests.runtime.conftest import World, make_bundle


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


def expecting(late: float | None, world: World) -> Predictor:
    """Return a predictor whose bundle expects this share of late answers, or says nothing of it."""
    bundle, models = make_bundle()
    rows = () if late is None else (outlook(1e-4, 0.9, 0.0, (), late),)
    times = bundle.times._replace(outlook=rows)
    return Predictor(replace(bundle, times=times, contents=tuple(models)), world.space)


@pytest.mark.parametrize(
    ("new", "old", "before", "late_before", "most"),
    [
        (1.0, 0.0, 0, 0, 5),
        (1.0, None, 0, 0, 5),
        (1.0, 0.01, 0, 0, 21),
        (0.0, 1.0, 0, 0, 5),
        (0.01, 0.01, 1000, 50, 73),
        (0.0, 0.0, 1000, 1, 5),
    ],
)
def test_new_bundle_does_not_set_its_own_limit(
    new: float, old: float | None, before: int, late_before: int, most: int, world: World
) -> None:
    """One that expects every answer to be late is not allowed that."""
    counts = AnswerCounts(before, late_before)

    assert Trial(expecting(new, world), (expecting(old, world), counts), 1000, AnswerCounts()).most_late == most
