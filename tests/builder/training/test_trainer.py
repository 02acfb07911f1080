"""How sets are scored: folds, groups, given test items, and scorers that fit the labels."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.cache import Cache
from polydom_builder.training.trainer import Trainer
from polydom_runtime.bundles.confidence import ErrorCosts
from tests.builder import task
from tests.builder.searches import LOGISTIC, search

ITEMS, LABELS = task.items(60)


def few(estimator: Any = LOGISTIC, labels: Any = LABELS, groups: Any = None, **changes: Any) -> PolyDomSearch:
    """Return a search fitted on sixty items."""
    parameters = {"deadline": 400 * task.US, "cv": 2, "alpha": 1.0} | changes
    return search(estimator=estimator, **parameters).fit(ITEMS, labels, groups, costs=task.costs)


OF_NO_SCORE: dict[str, Any] = {"n_jobs": 2, "memory": Cache(), "chosen": 1}
"""Other values of the fields that change how scores are found, and not the scores."""


def test_the_key_of_cached_scores_tells_everything_apart_that_a_score_depends_on(fitted: PolyDomSearch) -> None:
    trainer = fitted.trainer_
    ones = np.ones(len(trainer.table.targets))
    others: dict[str, Any] = {
        "estimator": clone(trainer.estimator).set_params(logisticregression__C=2.0),
        "table": replace(trainer.table, rows=trainer.table.rows + 1),
        "splits": [(test, train) for train, test in trainer.splits],
        "scoring": "balanced_accuracy",
        "names": trainer.names[::-1],
        "by_number": not trainer.by_number,
        "weights": ones,
        "groups": ones.tolist(),
        "errors": ErrorCosts(((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 2.0, 0.0)), 0.5),
        "sharpness": 2.0,
        "routed": not trainer.routed,
    }

    keys = {name: replace(trainer, **{name: value}).key for name, value in (others | OF_NO_SCORE).items()}

    assert keys.keys() == {field.name for field in fields(Trainer)}
    assert [name for name in others if keys[name] == trainer.key] == []
    assert {keys[name] for name in OF_NO_SCORE} == {trainer.key}


def test_trained_sets_are_scored_by_cross_validation(fitted: PolyDomSearch) -> None:
    from sklearn.model_selection import cross_val_score

    signals, labels = task.items()
    rows = np.stack([task.space.extract_all(x) for x in signals])
    expected = cross_val_score(LOGISTIC, rows, labels, cv=3).mean()

    assert fitted.expanded_[0b11111] == pytest.approx(expected)


def test_groups_never_stand_on_both_sides_of_a_fold() -> None:
    items, labels = task.items(90)
    groups = [k // 9 for k in range(90)]
    fitted = search(deadline=0.001).fit(items, labels, groups=groups, costs=task.costs)

    for train, test in fitted.trainer_.splits:
        assert not {groups[i] for i in train} & {groups[i] for i in test}


def test_given_test_items_are_scored_on() -> None:
    items, labels = task.items(120)
    split = [(np.arange(60), np.arange(60, 120))]
    fitted = search(cv=split).fit(items, labels, costs=task.costs)

    model = fitted.trainer_.fit((0, 1), np.arange(60))
    expected = (
        model.predict(fitted.trainer_.table.rows_of((0, 1), np.arange(60, 120))) == fitted.trainer_.table.labels[60:]
    ).mean()
    assert fitted.trainer_.scores([0b11]) == [expected]


def test_scorer_of_another_kind_of_label_is_named() -> None:
    with pytest.raises(TrainingError, match="The scorer 'f1' must score"):
        few(scoring="f1")
    with pytest.raises(TrainingError, match="The scorer 'accuracy' must score"):
        few(Ridge(), [float(np.std(x)) for x in ITEMS], scoring="accuracy")


def test_groups_may_be_any_iterable_but_no_number() -> None:
    few(groups=iter(range(60)))
    with pytest.raises(TrainingError, match="groups must be a sequence"):
        few(groups=5)


def test_r2_needs_two_items_a_fold() -> None:
    with pytest.raises(TrainingError, match="two items or more"):
        few(Ridge(), [float(np.std(x)) for x in ITEMS], cv=60)


def test_many_equal_numbers_first_are_no_hindrance() -> None:
    """The first items, all of one number, would leave a support vector machine without a vector to export."""
    numbers = [0.0] * 45 + [float(np.std(x)) for x in ITEMS[45:]]
    with pytest.warns(UserWarning, match="No feature set scores more"):
        found = few(make_pipeline(StandardScaler(), SVR()), numbers, cv=KFold(2, shuffle=True, random_state=0))

    assert found.prior_[0] == pytest.approx(np.mean(numbers))
