"""Scores of answers, compared with scikit-learn's, and their intervals."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from polydom_builder.evaluation.evaluation import Bin
from polydom_builder.evaluation.judging import Judged
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import SCORING, ErrorCosts
from tests.bundle_parts import bundle_of, changed

LABELS = ("calm", "loud", "slow")
rng = np.random.default_rng(3)
TRUE = rng.choice(LABELS, 200, p=(0.6, 0.3, 0.1)).tolist()
TOLD = [label if right else LABELS[0] for label, right in zip(TRUE, rng.random(200) < 0.7, strict=True)]
NUMBERS = rng.normal(5.0, 2.0, 200)
GUESSES = NUMBERS + rng.normal(0.0, 1.0, 200)


def scored_by(scoring: str, classes: tuple[Any, ...] = LABELS, **others: Any) -> Bundle:
    bundle = bundle_of(names=("mean",), costs=(), scoring=scoring, **others)
    return changed(bundle, classes=classes)


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("accuracy", metrics.accuracy_score(TRUE, TOLD)),
        ("balanced_accuracy", metrics.balanced_accuracy_score(TRUE, TOLD)),
        ("f1_macro", metrics.f1_score(TRUE, TOLD, average="macro")),
        ("precision_weighted", metrics.precision_score(TRUE, TOLD, average="weighted", zero_division=0)),
    ],
)
def test_scores_of_classes_are_those_of_scikit_learn(scoring: str, expected: float) -> None:
    found = Judged(scored_by(scoring), TOLD, TRUE).score(np.arange(200))

    assert found.score == pytest.approx(expected)
    assert found.right == pytest.approx(metrics.accuracy_score(TRUE, TOLD))


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("r2", metrics.r2_score(NUMBERS, GUESSES)),
        ("neg_mean_absolute_error", -metrics.mean_absolute_error(NUMBERS, GUESSES)),
        ("neg_root_mean_squared_error", -metrics.root_mean_squared_error(NUMBERS, GUESSES)),
    ],
)
def test_scores_of_numbers_are_those_of_scikit_learn(scoring: str, expected: float) -> None:
    found = Judged(scored_by(scoring, ()), GUESSES.tolist(), NUMBERS.tolist()).score(np.arange(200))

    assert found.score == pytest.approx(expected)
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high
    assert found.right is None


def test_costs_of_errors_are_counted() -> None:
    bundle = scored_by(SCORING, ("no", "yes"), error_costs=ErrorCosts(((0.0, 1.0), (5.0, 0.0)), constant=2.0))
    judged = Judged(bundle, ["no", "no", "yes", "yes"], ["no", "yes", "no", "yes"])

    assert judged.score(np.arange(4)).score == pytest.approx(1.0 - (5.0 + 1.0) / 4 / 2.0)


def test_score_that_needs_probabilities_is_not_known() -> None:
    found = Judged(scored_by("average_precision"), TOLD, TRUE).score(np.arange(200))

    assert (found.score, found.low, found.high) == (None, None, None)
    assert found.right is not None


def test_copies_of_an_item_in_one_group_make_an_interval_no_narrower() -> None:
    bundle = scored_by("f1_macro")
    once = Judged(bundle, TOLD, TRUE).score(np.arange(200))
    copied = Judged(bundle, TOLD * 3, TRUE * 3, list(range(200)) * 3).score(np.arange(600))
    apart = Judged(bundle, TOLD * 3, TRUE * 3).score(np.arange(600))

    assert copied == pytest.approx(once)
    assert None not in (apart.low, apart.high, once.low, once.high)
    assert apart.high - apart.low < once.high - once.low  # type: ignore[operator]


def test_one_group_has_no_interval() -> None:
    found = Judged(scored_by("accuracy"), TOLD, TRUE, ["a"] * 200).score(np.arange(200))

    assert (found.low, found.high) == (None, None)


def test_answers_that_were_withheld_count_in_no_score() -> None:
    judged = Judged(scored_by("accuracy"), ["calm", None, "slow", "loud"], ["calm", "loud", "loud", "loud"])

    assert judged.score(np.arange(4)).score == pytest.approx(2 / 3)
    assert judged.confusion(np.arange(4)) == ((1, 0, 0), (0, 1, 1), (0, 0, 0))


def test_labels_that_are_no_classes_are_a_row_of_their_own_and_wrong() -> None:
    judged = Judged(scored_by("accuracy"), ["calm", "loud"], ["new", "loud"])

    assert judged.confusion(np.arange(2))[3] == (1, 0, 0, 0)
    assert judged.score(np.arange(2)).score == 0.5


def test_answers_of_like_confidence_are_counted_together() -> None:
    judged = Judged(scored_by("accuracy"), ["calm"] * 4, ["calm", "loud", "calm", "calm"])

    found = judged.reliability(np.arange(4), [0.92, 0.98, 0.31, None])
    assert found == (Bin(0.3, 0.4, 1, 0.31, 1.0), Bin(0.9, 1.0, 2, (0.92 + 0.98) / 2, 0.5))
