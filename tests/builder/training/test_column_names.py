"""Names of features in an estimator, which become positions of columns in each feature set."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.column_names import check_names, placed
from polydom_runtime import Predictor, Seams
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import search

US = task.US
ITEMS, LABELS = task.items(60)
LOUD = [label == "loud" for label in LABELS]
COLUMNS = {"level": range(1), "spread": range(1, 3), "turns": range(3, 4)}


def by_columns(*transformers: Any, remainder: Any = "passthrough") -> Any:
    return make_pipeline(ColumnTransformer([*transformers], remainder=remainder), LogisticRegression())


SCALED = by_columns(("scaled", StandardScaler(), ["spread", "roughness"]), ("small", MinMaxScaler(), ["noise"]))
BENT = by_columns(("bent", make_pipeline(StandardScaler(), PolynomialFeatures()), ["spread"]), remainder=MinMaxScaler())
RISING = HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=5, monotonic_cst={"spread": 1, "noise": -1})
APART = HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=5, interaction_cst=[["level", "spread"], ["turns"]])
TREES = RandomForestClassifier(5, max_depth=3, random_state=0, monotonic_cst={"level": 1})
LATER = make_pipeline(StandardScaler(), TREES)


@pytest.mark.parametrize("estimator", [SCALED, BENT, RISING, APART], ids=["scaled", "bent", "rising", "apart"])
def test_estimator_that_names_features_answers_on_the_node_as_on_the_host(estimator: Any, tmp_path: Path) -> None:
    found = search(estimator=estimator, tolerance=0.1, cv=2).fit(ITEMS, LOUD, costs=task.costs)
    found.export(tmp_path / "b")

    for deadline in (100 * US, 400 * US):
        predictor = Predictor.load(tmp_path / "b", task.space, deadline=deadline, seams=Seams(clock=ManualClock()))
        for x in task.items(30, seed=1)[0]:
            answer = predictor.predict_one(x)
            order = [task.space.names.index(name) for name in answer.features]
            columns = [c for i in sorted(order) for c in range(*task.space.column_slices()[i].indices(99))]
            row = task.space.extract_all(x)[None, columns]
            assert answer.label == found.trainer_.fit(order).predict(row)[0]


def test_names_become_the_positions_of_their_columns() -> None:
    """Each column of a feature is meant; a feature that is not in the set is left out, with its transformer."""
    transformer = placed(SCALED, COLUMNS)[0]

    assert [(name, columns) for name, _, columns in transformer.transformers] == [("scaled", [1, 2])]
    assert placed(RISING, COLUMNS).monotonic_cst == [0, 1, 1, 0]
    assert placed(APART, COLUMNS).interaction_cst == [[0, 1, 2], [3]]
    assert placed(APART, {"noise": range(1)}).interaction_cst == []
    assert placed(LATER, COLUMNS)[1].monotonic_cst == [1, 0, 0, 0]
    assert SCALED[0].transformers[0][2] == ["spread", "roughness"]


def test_model_rises_in_both_columns_of_the_feature_that_must_rise() -> None:
    found = search(estimator=RISING).fit(ITEMS, LOUD, costs=task.costs)
    model = found.trainer_.fit((0, 1))

    rows = np.repeat(found.trainer_.table.rows_of((0, 1))[:1], 50, axis=0)
    for column in (1, 2):
        moved = rows.copy()
        moved[:, column] = np.linspace(-5, 5, 50)
        assert (np.diff(model.predict_proba(moved)[:, 1]) >= 0.0).all()


@pytest.mark.parametrize("estimator", [SCALED, BENT, RISING, APART], ids=["scaled", "bent", "rising", "apart"])
def test_estimator_trains_on_every_single_feature(estimator: Any) -> None:
    trainer = search(estimator=estimator).fit(ITEMS, LOUD, costs=task.costs).trainer_

    for feature in range(5):
        assert trainer.fit((feature,)).n_features_in_ == task.space.widths[feature]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (by_columns(("first", StandardScaler(), [0])), r"name columns by features.* Got 0 in .*\['level', 'spread'\]"),
        (by_columns(("first", StandardScaler(), slice(0, 2))), "name columns by features"),
        (by_columns(("first", StandardScaler(), [True, False])), "name columns by features"),
        (by_columns(("first", StandardScaler(), "level")), "Give lists of names"),
        (by_columns(("first", StandardScaler(), make_column_selector())), "name columns by features"),
        (by_columns(("first", StandardScaler(), ["levle"])), "Got 'levle' in transformers"),
        (HistGradientBoostingClassifier(monotonic_cst=[1, 0, 0]), "dictionary, such as {'level': 1}"),
        (HistGradientBoostingClassifier(monotonic_cst=np.ones(7)), "dictionary, such as {'level': 1}"),
        (HistGradientBoostingClassifier(interaction_cst=[[0, 1]]), "Got 0 in interaction_cst"),
        (HistGradientBoostingClassifier(interaction_cst=[["level", 1]]), "Got 1 in interaction_cst"),
        (by_columns(("first", StandardScaler(), ["level"]), remainder="drop"), "Got none of 'spread'"),
        (by_columns(("first", "drop", ["level"])), "Got none of 'level'"),
        (HistGradientBoostingClassifier(categorical_features=[0]), "treat all columns alike"),
        (HistGradientBoostingClassifier(categorical_features=["level"]), "0 or 1 for each"),
        (make_pipeline(PolynomialFeatures(), RISING), "Only the estimator itself"),
        (CalibratedClassifierCV(RISING), "Only the estimator itself"),
        (
            GridSearchCV(HistGradientBoostingClassifier(), {"monotonic_cst": [[1], [0]]}),
            "Only the estimator .*param_grid",
        ),
        (by_columns(("first", StandardScaler(), {"level"})), "Give lists of names"),
    ],
)
def test_columns_that_differ_between_sets_are_refused_before_training(estimator: Any, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        search(estimator=estimator).fit([], [])


@pytest.mark.parametrize("word", ["pairwise", "no_interactions", None])
def test_words_that_name_no_column_are_taken(word: str | None) -> None:
    estimator = HistGradientBoostingClassifier(interaction_cst=word)

    check_names(estimator, task.space.names)
    assert placed(estimator, COLUMNS).interaction_cst == word


def test_scores_of_renamed_features_are_computed_again() -> None:
    """Which column is meant depends on the names."""
    trainer = search(estimator=RISING).fit(ITEMS, LOUD, costs=task.costs).trainer_

    assert trainer.key != replace(trainer, names=trainer.names[::-1]).key
