"""What users give by mistake, and tasks of an unusual order: answers or errors that say what to do."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import TrainingError
from polydom_builder.greedy_search import GreedySearch

from . import task

US = task.US
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
ITEMS, LABELS = task.items(60)


def fit(estimator: Any = LOGISTIC, labels: Any = LABELS, groups: Any = None, **parameters: Any) -> PolyDomSearch:
    search = PolyDomSearch(estimator, task.space, deadline=400 * US, **{"cv": 2, **parameters})
    return search.fit(ITEMS, labels, groups, costs=task.costs)


@pytest.mark.parametrize("estimator", [None, "a name", object()])
def test_what_is_no_estimator_is_refused(estimator: object) -> None:
    with pytest.raises(TrainingError, match="classifier or regressor object"):
        fit(estimator)


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "x", float("nan")])
def test_max_features_is_a_count(count: object) -> None:
    with pytest.raises(TrainingError, match="max_features must be an integer"):
        fit(max_features=count)


@pytest.mark.parametrize("size_range", [(1, 2, 3), (5,), "x", 5])
def test_size_range_is_a_pair(size_range: object) -> None:
    with pytest.raises(TrainingError, match="size_range must be a pair"):
        fit(size_range=size_range)


@pytest.mark.parametrize("lambdas", ["abc", 0.5, None, (0, None)])
def test_lambdas_are_numbers(lambdas: object) -> None:
    search = GreedySearch(LOGISTIC, task.space, lambdas=lambdas, deadline=400 * US, cv=2)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="lambdas must be a sequence"):
        search.fit(ITEMS, LABELS, costs=task.costs)


def test_scorer_of_another_kind_of_label_is_named() -> None:
    with pytest.raises(TrainingError, match="The scorer 'f1' must score"):
        fit(scoring="f1")
    with pytest.raises(TrainingError, match="The scorer 'accuracy' must score"):
        fit(Ridge(), [float(np.std(x)) for x in ITEMS], scoring="accuracy")


def test_groups_may_be_any_iterable_but_no_number() -> None:
    fit(groups=iter(range(60)))
    with pytest.raises(TrainingError, match="groups must be a sequence"):
        fit(groups=5)


def test_r2_needs_two_items_a_fold() -> None:
    with pytest.raises(TrainingError, match="two items or more"):
        fit(Ridge(), [float(np.std(x)) for x in ITEMS], cv=60)


def test_many_equal_numbers_first_are_no_hindrance() -> None:
    """The first items, all of one number, would leave a support vector machine without a vector to export."""
    numbers = [0.0] * 45 + [float(np.std(x)) for x in ITEMS[45:]]
    found = fit(make_pipeline(StandardScaler(), SVR()), numbers, cv=KFold(2, shuffle=True, random_state=0))

    assert found.prior_[0] == pytest.approx(np.mean(numbers))
