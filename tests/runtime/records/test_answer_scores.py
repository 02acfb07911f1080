"""Scores over labelled items, from counts of classes and sums of errors."""

from typing import Any

import numpy as np
import pytest

from polydom_runtime.bundles.confidence import ErrorCosts
from polydom_runtime.records.answer_scores import Confusion, ErrorSums


def test_label_that_is_no_class_counts_as_one_more_class() -> None:
    counts = Confusion(("a", "b"))
    for label in ("a", "c", ["d"], None):
        counts.add("a", label)

    assert counts.value("accuracy") == 0.25
    assert counts.value("balanced_accuracy") == 0.5


@pytest.mark.parametrize("label", [1, True, np.int64(1), np.array(1), np.array([1])], ids=repr)
def test_label_may_be_of_numpy(label: Any) -> None:
    counts = Confusion((0, 1))
    counts.add(1, label)

    assert counts.value("accuracy") == 1.0


@pytest.mark.parametrize("label", [None, "x", float("nan"), float("inf"), 10**400, [1, 2]], ids=str)
def test_label_that_is_no_finite_number_has_no_error(label: Any) -> None:
    sums = ErrorSums()
    sums.add(1.0, label)
    sums.add(1.0, np.array([3]))

    assert sums.n == 1
    assert sums.summary() == {"accuracy": None, "mean_absolute_error": 2.0}


@pytest.mark.parametrize("labels", [[1e308, -1e308], [1e308] * 3, [-1e308] * 3])
def test_errors_that_have_no_finite_mean_have_none(labels: list[float]) -> None:
    """JSON knows no infinity."""
    sums = ErrorSums()
    for label in labels:
        sums.add(-label, label)

    assert sums.summary() == {"accuracy": None, "mean_absolute_error": None}


def test_score_of_another_kind_or_of_no_items_is_none() -> None:
    classes, numbers = Confusion(("a", "b")), ErrorSums()
    assert [classes.value("accuracy"), numbers.value("r2"), numbers.summary()] == [None, None, {"accuracy": None}]
    classes.add("a", "a")
    numbers.add(1.0, 1.0)

    assert [classes.value(name) for name in ("r2", "roc_auc", "f1", "f1_samples", "x.f1_macro", "")] == [None] * 6
    assert [numbers.value(name) for name in ("accuracy", "r2", "explained_variance", "")] == [None] * 4


def test_cost_saved_is_of_labels_that_are_classes() -> None:
    """Of two faults one is missed, which costs 5; one of two sound items is an alarm; 'odd' has no cost."""
    counts = Confusion(("fault", "ok"), ErrorCosts(((0.0, 5.0), (1.0, 0.0)), 2.0))
    assert counts.value("cost_saved") is None
    for said, true in (("fault", "fault"), ("ok", "fault"), ("fault", "ok"), ("ok", "ok"), ("ok", "odd")):
        counts.add(said, true)

    assert counts.value("cost_saved") == 1.0 - (5 + 1) / (4 * 2.0)
    counts.add(None, "fault")
    assert counts.value("cost_saved") == 1.0 - (5 + 1) / (4 * 2.0)
    assert Confusion(("fault", "ok")).value("cost_saved") is None


def test_no_answer_counts_where_it_has_a_cost_and_in_no_accuracy() -> None:
    counts = Confusion(("fault", "ok"), ErrorCosts(((0.0, 5.0, 0.5), (1.0, 0.0, 0.25)), 2.0))
    counts.add(None, "fault")
    assert (counts.value("cost_saved"), counts.value("accuracy")) == (0.75, None)
    for said, true in ((None, "ok"), ("ok", "fault"), (None, "odd")):
        counts.add(said, true)

    assert counts.value("cost_saved") == 1.0 - (0.5 + 0.25 + 5) / (3 * 2.0)
    assert counts.value("accuracy") == 0.0
