"""Parameters and items that make no sense: errors that say what to do."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import LatticeError, TrainingError
from polydom_runtime.exceptions import DeadlineError, FeatureError, ItemError, PolyDomError
from tests.builder import task
from tests.builder.searches import search

US = task.US
ITEMS, LABELS = task.items(60)


def few(**changes: Any) -> PolyDomSearch:
    return search(**({"cv": 2} | changes)).fit(ITEMS, LABELS, costs=task.costs)


def negative(estimator: Any, rows: Any, labels: Any) -> float:
    return -1.0


def undefined(estimator: Any, rows: Any, labels: Any) -> float:
    return math.nan if rows.shape[1] == 7 else 0.5


@pytest.mark.parametrize(
    ("changes", "items", "labels", "error", "message"),
    [
        ({}, ITEMS, LABELS[:-1], TrainingError, "60 items and 59 labels"),
        ({}, [], [], TrainingError, "must be items"),
        ({}, ITEMS, ["calm"] * 60, TrainingError, "at least two classes"),
        ({"cv": 61}, ITEMS, LABELS, TrainingError, "smallest class"),
        ({}, [np.zeros(0), *ITEMS[1:]], LABELS, ItemError, "positive, finite number"),
        ({}, [np.full(9, np.nan), *ITEMS[1:]], LABELS, FeatureError, "'level'"),
        ({"alpha": 0.9}, ITEMS, LABELS, TrainingError, "alpha must be a number from 1"),
        ({"tolerance": -0.1}, ITEMS, LABELS, TrainingError, "tolerance must be a number from 0"),
        ({"alpha": "1"}, ITEMS, LABELS, TrainingError, "alpha must be a number"),
        ({"n_jobs": 0}, ITEMS, LABELS, TrainingError, "n_jobs"),
        ({"scoring": "wit"}, ITEMS, LABELS, TrainingError, "scoring must be"),
        ({"estimator": LogisticRegression}, ITEMS, LABELS, TrainingError, "classifier or regressor object"),
        ({}, ITEMS, [["calm", "loud"]] * 60, TrainingError, "one for each item. Got .*item 0"),
        ({}, ITEMS, ["calm", None] * 30, TrainingError, "Got None for item 1"),
        ({"quantile": 0.0}, ITEMS, LABELS, TrainingError, "quantile"),
        ({"deadline": 0.0}, ITEMS, LABELS, DeadlineError, "positive seconds"),
        ({"deadline": -1.0}, ITEMS, LABELS, DeadlineError, "positive seconds"),
        ({"deadline": (1e-3, 1e6)}, ITEMS, LABELS, DeadlineError, r"less than 1e\+06"),
        ({}, ITEMS, [float(label == "calm") for label in LABELS], TrainingError, "integers, strings or booleans"),
        ({"estimator": Ridge()}, ITEMS, LABELS, TrainingError, "finite numbers. Got '.*item 0"),
        ({"estimator": Ridge()}, ITEMS, [1.0] * 60, TrainingError, "not be all the same"),
        ({"estimator": Ridge()}, ITEMS, [math.nan, 1.0] * 30, TrainingError, "finite numbers"),
        ({"estimator": StandardScaler()}, ITEMS, LABELS, TrainingError, "classifier or regressor object"),
        ({"alpha": (1.2, 1.5), "max_trainings": 9}, ITEMS, LABELS, TrainingError, "alphas must fall"),
        ({"alpha": (1.2, 1.1)}, ITEMS, LABELS, TrainingError, "max_trainings or max_seconds"),
        ({"max_trainings": 1}, ITEMS, LABELS, LatticeError, "empty and the full set"),
        ({"tolerance": "some"}, ITEMS, LABELS, TrainingError, "tolerance must be a number"),
        ({"scoring": lambda model, rows, labels: 1.0}, ITEMS, LABELS, TrainingError, "picklable"),
        ({"scoring": undefined}, ITEMS, LABELS, TrainingError, "Got nan for level.spread.roughness"),
        ({"memory": f"{__file__}/cache"}, ITEMS, LABELS, TrainingError, "memory folder must be writable"),
        ({"deadline": (1e-3, 3e-3, 2e-3)}, ITEMS, LABELS, DeadlineError, "range"),
        ({"deadline": "2ms"}, ITEMS, LABELS, DeadlineError, "range"),
        ({"deadline": (2e-3, 1e-3)}, ITEMS, LABELS, DeadlineError, "range"),
        ({"deadline": 20 * US}, ITEMS, LABELS, DeadlineError, "one model run"),
        ({"size_range": (100.0, 10.0)}, ITEMS, LABELS, PolyDomError, "low <= high"),
        ({"scoring": negative, "alpha": 1.1}, ITEMS, LABELS, LatticeError, "negative"),
    ],
)
def test_bad_input_is_a_clear_error(
    changes: dict[str, Any], items: list[Any], labels: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        search(**changes).fit(items, labels, costs=task.costs)


@pytest.mark.parametrize("estimator", [None, "a name", object()])
def test_what_is_no_estimator_is_refused(estimator: object) -> None:
    with pytest.raises(TrainingError, match="classifier or regressor object"):
        few(estimator=estimator)


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "x", float("nan")])
def test_max_features_is_a_count(count: object) -> None:
    with pytest.raises(TrainingError, match="max_features must be an integer"):
        few(max_features=count)


@pytest.mark.parametrize("size_range", [(1, 2, 3), (5,), "x", 5])
def test_size_range_is_a_pair(size_range: object) -> None:
    with pytest.raises(TrainingError, match="size_range must be a pair"):
        few(size_range=size_range)
