"""Regressors and scores other than accuracy, from items to the node."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import f1_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from polydom_builder import PolyDomSearch
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import Predictor
from polydom_runtime.items import write_packed
from polydom_runtime.testing import ManualClock

from . import task

US = task.US
RIDGE = make_pipeline(StandardScaler(), Ridge())
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
F1 = make_scorer(f1_score, pos_label="slow")


def sizes_of_noise(count: int = 200, seed: int = 0) -> tuple[list[np.ndarray], list[float]]:
    """Signals whose spread is to be told."""
    rng = np.random.default_rng(seed)
    spreads = rng.uniform(0.5, 3.0, count)
    return [rng.normal(size=int(rng.integers(8, 400))) * s for s in spreads], spreads.tolist()


@pytest.mark.parametrize("model", [RIDGE, DecisionTreeRegressor(max_depth=5, random_state=0)])
def test_regressor_answers_on_the_node_as_on_the_host(model: object, tmp_path: Path) -> None:
    items, spreads = sizes_of_noise()
    search = PolyDomSearch(model, task.space, deadline=400 * US, alpha=1.05).fit(items, spreads, costs=task.costs)
    bundle = search.export(tmp_path / "spread.bundle")
    predictor = Predictor.load(tmp_path / "spread.bundle", task.space, clock=ManualClock())
    new, truth = sizes_of_noise(60, seed=1)

    answers = [predictor.predict_one(x) for x in new]
    assert bundle.space.classes == ()
    assert all(type(answer.label) is float for answer in answers)
    for x, answer in zip(new, answers, strict=True):
        order = [task.space.names.index(name) for name in answer.features]
        row = task.space.extract_all(x)[None, np.concatenate([search.trainer_.table.columns[i] for i in order])]
        assert answer.label == pytest.approx(float(search.trainer_.fit(order).predict(row)[0]), rel=1e-4, abs=1e-4)
    errors = np.array([answer.label for answer in answers]) - truth
    assert 1.0 - errors.var() / np.var(truth) > 0.6
    assert verify_bundle(tmp_path / "spread.bundle").ok


def test_prior_of_a_regressor_is_the_mean_and_is_worth_nothing() -> None:
    items, spreads = sizes_of_noise()
    search = PolyDomSearch(RIDGE, task.space, deadline=400 * US, alpha=1.2).fit(items, spreads, costs=task.costs)

    assert search.prior_ == (pytest.approx(np.mean(spreads)), 0.0)


def test_item_without_time_for_any_feature_gets_the_mean(tmp_path: Path) -> None:
    items, spreads = sizes_of_noise()
    search = PolyDomSearch(RIDGE, task.space, deadline=400 * US).fit(items, spreads, costs=task.costs)
    search.export(tmp_path / "spread.bundle")
    predictor = Predictor.load(tmp_path / "spread.bundle", task.space, clock=ManualClock())

    answer = predictor.predict_one(np.zeros(0))
    assert answer.label == pytest.approx(np.mean(spreads))
    assert answer.reason == "size failed"


def test_scores_of_a_regressor_are_r2_by_default() -> None:
    from sklearn.model_selection import cross_val_score

    items, spreads = sizes_of_noise()
    search = PolyDomSearch(LinearRegression(), task.space, deadline=400 * US).fit(items, spreads, costs=task.costs)
    rows = np.stack([task.space.extract_all(x) for x in items])

    expected = cross_val_score(LinearRegression(), rows, spreads, cv=5).mean()
    assert search.expanded_[0b11111] == pytest.approx(expected, rel=1e-4)


def test_node_command_reports_the_error_of_a_regressor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from polydom_runtime.__main__ import main

    monkeypatch.chdir(Path(__file__).parents[2])
    items, spreads = sizes_of_noise(40)
    PolyDomSearch(RIDGE, task.space, deadline=0.1, cv=3).fit(items, spreads, costs=task.costs).export(tmp_path / "b")
    write_packed(tmp_path / "items.npz", items, spreads)

    arguments = [str(tmp_path / "b"), "tests.builder.task:space", "--items", str(tmp_path / "items.npz")]
    assert main(["run", *arguments, "--quiet"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["accuracy"] is None
    assert 0.0 < summary["mean_absolute_error"] < 0.7
    assert main(["info", str(tmp_path / "b")]) == 0
    assert "regression" in capsys.readouterr().out


def rare_slow(count: int = 360) -> tuple[list[np.ndarray], list[str]]:
    """One item in nine is of the class that matters."""
    items, labels = task.items(count)
    rare = [k for k, label in enumerate(labels) if label != "slow" or k % 9 == 2]
    return [items[k] for k in rare], ["slow" if labels[k] == "slow" else "other" for k in rare]


def test_rare_class_scored_by_f1_from_host_to_node(tmp_path: Path) -> None:
    """The prior never names the rare class, so it scores 0, and any set that finds it beats it at any alpha."""
    items, labels = rare_slow()
    balanced = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    search = PolyDomSearch(balanced, task.space, deadline=(50 * US, 400 * US), scoring=F1, alpha=1.1)
    search.fit(items, labels, costs=task.costs)
    bundle = search.export(tmp_path / "rare.bundle")
    predictor = Predictor.load(tmp_path / "rare.bundle", task.space, clock=ManualClock())

    assert labels.count("slow") < len(labels) / 4
    assert bundle.prior == (0, 0.0)
    assert verify_bundle(tmp_path / "rare.bundle").ok
    answers = [predictor.predict_one(x).label for x in items]
    assert f1_score(labels, answers, pos_label="slow") > 0.8


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"])
def test_other_scores_are_those_of_scikit_learn(scoring: str, tmp_path: Path) -> None:
    from sklearn.model_selection import cross_val_score

    items, labels = task.items()
    search = PolyDomSearch(LOGISTIC, task.space, deadline=400 * US, scoring=scoring).fit(
        items, labels, costs=task.costs
    )
    rows = np.stack([task.space.extract_all(x) for x in items])
    bundle = search.export(tmp_path / "b")

    assert search.expanded_[0b11111] == pytest.approx(cross_val_score(LOGISTIC, rows, labels, scoring=scoring).mean())
    for entry in bundle.models:
        if entry.mask in search.expanded_:
            assert entry.accuracy == pytest.approx(search.expanded_[entry.mask], abs=2e-3)


def test_average_precision_needs_no_probabilities(tmp_path: Path) -> None:
    from sklearn.linear_model import SGDClassifier

    items, labels = rare_slow()
    model = make_pipeline(StandardScaler(), SGDClassifier(loss="hinge", random_state=0))
    numbers = [int(label == "slow") for label in labels]
    search = PolyDomSearch(model, task.space, deadline=400 * US, scoring="average_precision", alpha=1.1)
    bundle = search.fit(items, numbers, costs=task.costs).export(tmp_path / "b")

    for entry in bundle.models:
        if entry.mask in search.expanded_:
            assert entry.accuracy == pytest.approx(search.expanded_[entry.mask], abs=2e-3)
    assert max(search.expanded_.values()) > 0.8
    assert math.isclose(bundle.prior[1], search.expanded_[0])
