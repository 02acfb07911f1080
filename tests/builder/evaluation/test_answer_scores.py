"""Scores that a node finds from counts and sums are those of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from polydom_runtime.records.answer_scores import Confusion, ErrorSums

pytestmark = pytest.mark.filterwarnings("ignore:.*(ill-defined|classes not in y_true)")
AVERAGED = [f"{kind}_{average}" for kind in ("precision", "recall", "f1") for average in ("macro", "micro", "weighted")]
OF_NUMBERS = ["r2", "neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error"]


def expected(scoring: str, answers: Any, labels: Any) -> float:
    scorer = get_scorer(scoring)
    return float(scorer._sign * scorer._score_func(labels, answers, **scorer._kwargs))


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", *AVERAGED])
@pytest.mark.parametrize("seed", range(5))
def test_scores_of_classes(scoring: str, seed: int) -> None:
    """Some classes never occur, some are never told, and one label is none of the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "c", "x"], 40)
    answers = np.where(rng.random(40) < 0.5, labels, rng.choice(["b", "c", "d"], 40))
    answers[answers == "x"] = "a"
    counts = Confusion(("a", "b", "c", "d", "e"))
    for answer, label in zip(answers.tolist(), labels, strict=True):
        counts.add(answer, label)

    assert counts.value(scoring) == pytest.approx(expected(scoring, answers, labels))


@pytest.mark.parametrize("scoring", ["precision", "recall", "f1", *AVERAGED])
@pytest.mark.parametrize("classes", [(0, 1), (1, 2), (-1, 1), (False, True)], ids=str)
def test_scores_of_two_classes(scoring: str, classes: tuple[Any, Any]) -> None:
    rng = np.random.default_rng(0)
    labels, answers = rng.choice(classes, 40), rng.choice(classes, 40)
    counts = Confusion(classes)
    for answer, label in zip(answers.tolist(), labels, strict=True):
        counts.add(answer, label)

    assert counts.value(scoring) == pytest.approx(expected(scoring, answers, labels))


@pytest.mark.parametrize("scoring", OF_NUMBERS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 1e6])
def test_scores_of_numbers(scoring: str, spread: float) -> None:
    """Far from 0, too, and where all numbers are equal."""
    rng = np.random.default_rng(0)
    labels = 1e6 + spread * rng.normal(size=50)
    answers = labels + rng.normal(size=50)
    sums = ErrorSums()
    for answer, label in zip(answers.tolist(), labels, strict=True):
        sums.add(answer, label)

    assert sums.value(scoring) == pytest.approx(expected(scoring, answers, labels))
