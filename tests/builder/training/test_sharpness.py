"""The power that makes probabilities fit for choices by cost."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from polydom_builder.preparation.short_run import sharpness_of
from tests.builder import task
from tests.builder.searches import search

COSTS = {("fault", "ok"): 5.0, ("ok", "fault"): 1.0}
SIGNALS, KINDS = task.items(300)
LOGISTIC = LogisticRegression(max_iter=2000)
LABELS = ["fault" if kind == "loud" else "ok" for kind in KINDS]


class Powered(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression that ignores weights, with probabilities to a power, which sum to 1 again."""

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> "Powered":
        self.model_ = LogisticRegression(max_iter=2000).fit(rows, labels)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, rows: Any) -> Any:
        sharp = self.model_.predict_proba(rows) ** self.power
        return sharp / sharp.sum(axis=1, keepdims=True)

    def predict(self, rows: Any) -> Any:
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


def fitted(estimator: Any, **changes: Any) -> Any:
    found = search(estimator=estimator, costs_of_errors=COSTS, deadline=400 * task.US, **changes)
    return found.fit(SIGNALS, LABELS, costs=task.costs)


def sharpness(trainer: Any, **changes: Any) -> float:
    return sharpness_of(replace(trainer, sharpness=1.0, **changes), (0, 1, 2, 3, 4))


@pytest.mark.parametrize("power", [0.4, 2.5])
def test_power_undoes_that_of_the_estimator(power: float) -> None:
    trainer = fitted(LOGISTIC).trainer_

    assert sharpness(trainer) / power == pytest.approx(sharpness(trainer, estimator=Powered(power)), rel=0.1)


def test_probabilities_of_0_and_1_stay_as_they_are() -> None:
    assert sharpness(fitted(LOGISTIC).trainer_, estimator=DecisionTreeClassifier(random_state=0)) == 1.0


def test_all_models_of_a_search_have_the_power_of_the_widest_set() -> None:
    trainer = fitted(LogisticRegression(C=0.03)).trainer_

    assert trainer.sharpness > 1.1
    assert {trainer.sharpness} == {trainer.fit(order).sharpness for order in ((0,), (1, 2))}


def test_items_count_by_their_weight() -> None:
    """Where only the items count that are answered rightly, sharper probabilities are closer to the truth."""
    trainer = replace(fitted(LOGISTIC).trainer_, estimator=Powered())
    right = trainer.fit((0, 1, 2, 3, 4)).model.predict(trainer.table.rows) == np.array(LABELS)

    assert sharpness(trainer, weights=np.where(right, 1.0, 1e-3)) > sharpness(trainer)
