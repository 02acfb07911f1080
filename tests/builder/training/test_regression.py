"""Regressors, from items to the node."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.labels import targets_of
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import Predictor, Seams
from polydom_runtime.items.packing import write_packed
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import search

US = task.US
RIDGE = make_pipeline(StandardScaler(), Ridge())


def sizes_of_noise(count: int = 200, seed: int = 0) -> tuple[list[np.ndarray], list[float]]:
    """Signals whose spread is to be told."""
    rng = np.random.default_rng(seed)
    spreads = rng.uniform(0.5, 3.0, count)
    return [rng.normal(size=int(rng.integers(8, 400))) * s for s in spreads], spreads.tolist()


@pytest.mark.parametrize("model", [RIDGE, DecisionTreeRegressor(max_depth=5, random_state=0)])
def test_regressor_answers_on_the_node_as_on_the_host(model: object, tmp_path: Path) -> None:
    items, spreads = sizes_of_noise()
    found = search(estimator=model, deadline=400 * US, alpha=1.05).fit(items, spreads, costs=task.costs)
    bundle = found.export(tmp_path / "spread.bundle")
    predictor = Predictor.load(tmp_path / "spread.bundle", task.space, seams=Seams(clock=ManualClock()))
    new, truth = sizes_of_noise(60, seed=1)

    answers = [predictor.predict_one(x) for x in new]
    assert bundle.space.classes == ()
    assert all(type(answer.label) is float for answer in answers)
    for x, answer in zip(new, answers, strict=True):
        order = [task.space.names.index(name) for name in answer.features]
        row = task.space.extract_all(x)[None, np.concatenate([found.trainer_.table.columns[i] for i in sorted(order)])]
        assert answer.label == pytest.approx(float(found.trainer_.fit(order).predict(row)[0]), rel=1e-4, abs=1e-4)
    errors = np.array([answer.label for answer in answers]) - truth
    assert 1.0 - errors.var() / np.var(truth) > 0.6
    assert verify_bundle(tmp_path / "spread.bundle").ok


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (math.inf, "finite numbers. Got inf for item 2"),
        (math.nan, "finite numbers. Got nan for item 2"),
        (1e39, "float32 tells apart.*Got 0 to 1e[+]39"),
        (-1e39, "float32 tells apart.*Got -1e[+]39"),
        (1e-44, "float32 tells apart.*divide them"),
    ],
)
def test_numbers_that_models_cannot_tell_are_refused(number: float, said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        targets_of([0.0, 0.0, number], 3, regression=True)


@pytest.mark.parametrize("distance", [1.0, 60.0, 600.0])
def test_times_since_1970_are_too_far_from_zero_for_models(distance: float) -> None:
    with pytest.raises(TrainingError, match=r"float32 tells apart.*Subtract their mean"):
        targets_of([1.7e9, 1.7e9 + distance], 2, regression=True)


@pytest.mark.parametrize("numbers", [[3e38, -3e38], [1e-40, 0.0], [1.7e9, 0.0], [100.0, 100.1], [2000, 2001]])
def test_numbers_that_models_can_tell_are_taken(numbers: list[float]) -> None:
    assert targets_of(numbers, 2, regression=True).numbers.tolist() == numbers


def test_prior_of_a_regressor_is_the_mean_and_is_worth_nothing() -> None:
    items, spreads = sizes_of_noise()
    found = search(estimator=RIDGE, deadline=400 * US, alpha=1.2).fit(items, spreads, costs=task.costs)

    assert found.prior_ == (pytest.approx(np.mean(spreads)), 0.0)


def test_item_without_time_for_any_feature_gets_the_mean(tmp_path: Path) -> None:
    items, spreads = sizes_of_noise()
    found = search(estimator=RIDGE, deadline=400 * US, alpha=1.2).fit(items, spreads, costs=task.costs)
    found.export(tmp_path / "spread.bundle")
    predictor = Predictor.load(tmp_path / "spread.bundle", task.space, seams=Seams(clock=ManualClock()))

    answer = predictor.predict_one(np.zeros(0))
    assert answer.label == pytest.approx(np.mean(spreads))
    assert (answer.reason, "an empty array" in answer.error) == ("item of another form", True)


def test_scores_of_a_regressor_are_r2_by_default() -> None:
    from sklearn.model_selection import cross_val_score

    items, spreads = sizes_of_noise()
    found = search(estimator=LinearRegression(), deadline=400 * US, alpha=1.0).fit(items, spreads, costs=task.costs)
    rows = np.stack([task.space.extract_all(x) for x in items])

    expected = cross_val_score(LinearRegression(), rows, spreads, cv=3).mean()
    assert found.expanded_[0b11111] == pytest.approx(expected, rel=1e-4)


def test_node_command_reports_the_error_of_a_regressor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from polydom_runtime.__main__ import main

    monkeypatch.chdir(Path(__file__).parents[2])
    items, spreads = sizes_of_noise(40)
    found = search(estimator=RIDGE, deadline=0.1, alpha=1.1).fit(items, spreads, costs=task.costs)
    found.export(tmp_path / "b")
    write_packed(tmp_path / "items.npz", items, spreads)

    arguments = [str(tmp_path / "b"), "tests.builder.task:space", "--items", str(tmp_path / "items.npz")]
    assert main(["run", *arguments, "--quiet"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["accuracy"] is None
    assert 0.0 < summary["mean_absolute_error"] < 0.7
    assert main(["info", str(tmp_path / "b")]) == 0
    assert "regression" in capsys.readouterr().out
