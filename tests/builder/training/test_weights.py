"""Sample weights: in the estimator, the scorer, the prior, early stops and the cache."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.bundling.export import export_models
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.onnx import OnnxVersions
from polydom_builder.training.weights import weight_parameter
from tests.builder import task
from tests.builder.searches import FEW, made
from tests.builder.shared_memory import shared_memory

ITEMS, LABELS = task.items(120)
LOGISTIC = LogisticRegression(max_iter=2000, tol=1e-8)
SCALED = make_pipeline(StandardScaler(), LOGISTIC)
ONE_SPLIT = [(np.arange(60), np.arange(60, 120))]


def fitted(
    weights: Any, estimator: Any = LOGISTIC, labels: Any = LABELS, kind: Any = PolyDomSearch, **changes: Any
) -> Any:
    given = {"deadline": 400 * task.US, "cv": 2, "memory": shared_memory()} | changes
    search = made(kind, estimator, **given)
    return search.fit(ITEMS, labels, costs=task.costs, sample_weight=weights)


def test_weight_of_two_is_an_item_given_twice(tmp_path: Path) -> None:
    """In every score, in the prior and in the exported models."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, 120)
    where = np.repeat(np.arange(120), weights)
    split = [(np.flatnonzero(where < 60), np.flatnonzero(where >= 60))]
    parameters: dict[str, Any] = {"deadline": 400 * task.US, "tolerance": 0.1, "correction": None}
    twice = made(PolyDomSearch, LOGISTIC, cv=split, **parameters)
    twice.fit([ITEMS[k] for k in where], [LABELS[k] for k in where], costs=task.costs)
    once = fitted(weights, cv=ONE_SPLIT, **parameters)

    assert once.expanded_ == pytest.approx(twice.expanded_)
    assert once.prior_ == pytest.approx(twice.prior_)
    bundles = [search.export(tmp_path / name) for search, name in ((once, "once"), (twice, "twice"))]
    first, second = ([(m.order, m.accuracy) for m in bundle.models] for bundle in bundles)
    assert [order for order, _ in first] == [order for order, _ in second]
    assert [score for _, score in first] == pytest.approx([score for _, score in second])


@pytest.mark.parametrize("kind", [PolyDomSearch, GreedySearch])
def test_prior_is_the_class_of_most_weight_and_scores_its_share(kind: Any) -> None:
    found = fitted([2.0 if label == "slow" else 1.0 for label in LABELS], SCALED, kind=kind, **FEW[kind])

    assert found.prior_ == (2, pytest.approx(0.5))


def test_early_stops_see_items_with_a_weight_above_0_only() -> None:
    found = fitted([k % 2 + 0.5 * (k % 4 == 0) for k in range(120)], SCALED, alpha=2.0)
    about = found.families_[0], [(0, 1)], task.space.names, OnnxVersions(), 0
    (model,) = export_models(*about, lambda _: None, sure=True)
    held_out = model.held_out
    assert held_out is not None

    assert held_out.weights.tolist() == [0.5, 1.0, 1.0] * 30
    assert held_out.accuracy == pytest.approx(found.trainer_.scores([0b11])[0])


def test_prior_of_a_regression_is_the_weighted_mean() -> None:
    numbers = [float(np.std(x)) for x in ITEMS]
    weights = np.linspace(0.0, 3.0, 120)

    assert fitted(weights, Ridge(), numbers, alpha=2.0).prior_[0] == pytest.approx(np.average(numbers, weights=weights))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0] * 119, "one weight for each item. Got 119 for 120 items"),
        (5, "sample_weight must be a sequence"),
        ([1.0, math.nan, *[1.0] * 118], "Got nan for item 1"),
        ([1.0, 1.0, -math.inf, *[1.0] * 117], "Got -inf for item 2"),
        ([1.0, 1.0, -0.5, *[1.0] * 117], "Got -0.5 for item 2"),
        ([*[1] * 119, "1"], "Got '1' for item 119"),
        ([10**400, *[1] * 119], "for item 0"),
        ([None, *[1] * 119], "Got None for item 0"),
        (np.ones((120, 2)), "for item 0"),
        ([0.0] * 120, "must be above 0 for some items"),
    ],
)
def test_weights_that_are_none_are_refused_by_number(weights: Any, said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        fitted(weights)


def test_folds_need_weights_above_0_in_both_parts_and_for_each_class() -> None:
    for zeros, said in ((slice(60), "fold 0 is trained on"), (slice(60, 120), "fold 0 is scored on")):
        weights = np.ones(120)
        weights[zeros] = 0.0
        with pytest.raises(TrainingError, match=said):
            fitted(weights, cv=ONE_SPLIT)
    with pytest.raises(TrainingError, match="Fold 0 has none of class 'slow'"):
        fitted([label != "slow" for label in LABELS])


def test_items_of_weight_0_are_not_tried_before_the_search() -> None:
    """The first items of each class have weight 0, so that nothing can be learned from them."""
    odd, even = np.arange(1, 120, 2), np.arange(0, 120, 2)
    assert fitted([0.0] * 75 + [1.0] * 45, cv=[(odd, even)], alpha=2.0).expanded_


def test_estimator_or_scorer_that_takes_no_weights_is_refused() -> None:
    nearest = KNeighborsClassifier()
    grid = GridSearchCV(nearest, {"n_neighbors": [1, 2]})
    for estimator in (nearest, make_pipeline(StandardScaler(), nearest), grid):
        with pytest.raises(TrainingError, match=r"fit must take sample_weight.*KNeighborsClassifier"):
            fitted([1.0] * 120, estimator)
    with pytest.raises(TrainingError, match=r"Underlying estimator|does not support|sample_weight"):
        fitted([1.0] * 120, VotingClassifier([("a", LOGISTIC), ("b", nearest)], flatten_transform=False))
    with pytest.raises(TrainingError, match=r"scorer must take sample_weight. 'rand_score' does not"):
        fitted([1.0] * 120, scoring="rand_score")


def recall_of_all(model: Any, rows: Any, labels: Any, sample_weight: Any = None) -> float:
    return float(balanced_accuracy_score(labels, model.predict(rows)))


def test_scorer_may_ignore_weights() -> None:
    own = fitted([0.5] * 120, scoring=recall_of_all, alpha=2.0).trainer_
    known = fitted(None, scoring="balanced_accuracy", alpha=2.0).trainer_
    masks = [0b1, 0b110, 0b11111]

    assert own.scores(masks) == pytest.approx(known.scores(masks), abs=0.1)


def test_weights_go_where_scikit_learn_takes_them() -> None:
    pipeline = make_pipeline(StandardScaler(), LOGISTIC)
    names = [
        weight_parameter(estimator)
        for estimator in (
            LOGISTIC,
            LinearRegression(),
            DummyClassifier(),
            pipeline,
            make_pipeline(pipeline),
            GridSearchCV(pipeline, {}),
            BaggingClassifier(KNeighborsClassifier()),
            VotingClassifier([("a", LOGISTIC)]),
        )
    ]

    inner = "logisticregression__sample_weight"
    plain = "sample_weight"
    assert names == [plain, plain, plain, inner, f"pipeline__{inner}", inner, plain, plain]


@pytest.mark.parametrize(
    "estimator", [SCALED, GridSearchCV(SCALED, {"logisticregression__C": [0.1, 1.0]}, cv=2)], ids=["pipeline", "grid"]
)
def test_pipelines_and_grids_learn_with_weights(estimator: Any) -> None:
    weights = np.linspace(0.1, 2.0, 120)
    found = fitted(weights, estimator, alpha=2.0)
    rows = found.trainer_.table.rows_of(range(5))
    expected = estimator.fit(rows, np.array(LABELS), logisticregression__sample_weight=weights).predict_proba(rows)

    assert np.allclose(found.trainer_.fit(tuple(range(5))).predict_proba(rows), expected)


def test_other_weights_have_another_place_in_the_cache() -> None:
    trainer = fitted(None, alpha=2.0).trainer_
    keys = {replace(trainer, weights=weights).key for weights in (None, np.ones(120), np.full(120, 2.0))}

    assert len(keys) == 3
