"""Exported models say what scikit-learn says, on the thresholds of trees too."""

from copy import deepcopy
from typing import Any

import numpy as np
import onnx as onnx_package
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from polydom_builder.exceptions import ExportError
from polydom_builder.training import onnx
from polydom_builder.training.onnx import OnnxModel, OnnxVersions, check_parity, to_onnx
from polydom_runtime.bundles.engines import Engine, InputRow, load_model

rng = np.random.default_rng(0)
GRID = (rng.integers(-20, 20, (1500, 6)) / 10).astype(np.float32)
CODES = ((GRID[:, 0] + GRID[:, 1] * GRID[:, 2] > 0) + 2 * (GRID[:, 3] > 0.45)).astype(np.int64)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        ExtraTreesClassifier(10, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        make_pipeline(StandardScaler(), SGDClassifier(loss="hinge", penalty="l1", random_state=0)),
        make_pipeline(StandardScaler(), LinearSVC()),
        make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=1000, random_state=0)),
        GaussianNB(),
    ],
    ids=lambda m: type(m[-1] if hasattr(m, "steps") else m).__name__,
)
def test_labels_are_those_of_scikit_learn(model: Any) -> None:
    model.fit(GRID, CODES)
    data = to_onnx(model, 6)

    check_parity("all features", model.predict(GRID), data, GRID, max_mismatches=0)
    assert to_onnx(model, 6) == data


def test_model_that_differs_is_named() -> None:
    model, other = GaussianNB().fit(GRID, CODES), GaussianNB().fit(GRID, CODES[::-1])

    with pytest.raises(ExportError, match=r"level\+spread .* all but 3 .* differs on \d+ of 1500"):
        check_parity("level+spread", model.predict(GRID), to_onnx(other, 6), GRID, max_mismatches=3)
    differ = int((OnnxModel(to_onnx(other, 6)).predict(GRID) != model.predict(GRID)).sum())
    check_parity("level+spread", model.predict(GRID), to_onnx(other, 6), GRID, max_mismatches=differ)


@pytest.mark.parametrize("kind", [KNeighborsClassifier, KNeighborsRegressor])
def test_model_is_not_refused_for_ties(kind: Any) -> None:
    """Of rows of whole numbers many are at the same distance: scikit-learn takes others of them than onnxruntime."""
    rows = rng.integers(0, 3, (300, 4)).astype(np.float32)
    targets = rng.integers(0, 3, 300) if kind is KNeighborsClassifier else rng.normal(size=300)
    model, classifies = kind(3).fit(rows, targets), kind is KNeighborsClassifier
    data = to_onnx(model, 4)

    assert not np.allclose(OnnxModel(data, classifies).predict(rows), model.predict(rows))
    check_parity("ties", model.predict(rows), data, rows, 0, classifies=classifies)


def test_rows_on_the_thresholds_of_trees_are_no_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between neighbouring numbers of float32 there is none for a threshold: it must be rounded down."""
    rows = (1.0 + 2.0**-23 * rng.integers(0, 20, (500, 2))).astype(np.float32)
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    model.fit(rows, (rows[:, 0] >= 1.0 + 8 * 2.0**-23).astype(int))
    answers = model.predict(rows)

    check_parity("all features", answers, to_onnx(deepcopy(model), 2), rows, 0)
    monkeypatch.setattr(onnx, "_round_thresholds", lambda model: None)
    with pytest.raises(ExportError, match="differs on"):
        check_parity("all features", answers, to_onnx(model, 2), rows, 0)


def test_two_class_discriminant_analysis_is_as_sure_as_scikit_learn() -> None:
    model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()).fit(GRID, CODES > 1)

    assert np.allclose(model.predict_proba(GRID), OnnxModel(to_onnx(model, 6)).predict_proba(GRID), atol=1e-5)


def test_device_gets_the_newest_versions_that_it_and_the_converter_know() -> None:
    from skl2onnx import __max_supported_opset__

    assert OnnxVersions.newest("a board", 100, 100, 100).opset == __max_supported_opset__
    versions = OnnxVersions.newest("a board", 9, 20, 5)
    assert versions == OnnxVersions(9, 20, 3)
    proto = onnx_package.load_from_string(to_onnx(GaussianNB().fit(GRID, CODES), 6, versions))
    assert proto.ir_version <= 9
    assert {i.domain: i.version for i in proto.opset_import}[""] <= 20


def test_ir_version_limits_the_opset() -> None:
    assert OnnxVersions.newest("a board", 8, 100, 3).opset < OnnxVersions.newest("a board", 10, 100, 3).opset


@pytest.mark.parametrize("limits", [(8, 8, 3), (2, 17, 3), (8, 17, 0)])
def test_device_that_loads_nothing_of_ours_is_refused(limits: tuple[int, int, int]) -> None:
    with pytest.raises(ExportError, match="a board must load ONNX opset 9"):
        OnnxVersions.newest("a board", *limits)


def test_models_written_by_hand_are_sound() -> None:
    from polydom_runtime.device import tiny_models

    for data in (
        tiny_models.linear_classifier(20, 3),
        tiny_models.linear_pipeline(20, 3, scalers=2),
        tiny_models.tree_classifier(20, 3, trees=5, depth=3),
        tiny_models.kernel_classifier(4, 3, vectors=30),
        tiny_models.dense_classifier(20, 3, hidden=(8, 8)),
        tiny_models.constant_classifier(3, 1),
        tiny_models.trial_model(8, 17, 3),
    ):
        onnx_package.checker.check_model(onnx_package.load_from_string(data))


@pytest.mark.parametrize("kind", [KNeighborsClassifier, KNeighborsRegressor])
@pytest.mark.parametrize("scaled", [False, True])
def test_nearest_neighbours_are_found_at_once_not_in_a_loop(kind: Any, scaled: bool) -> None:
    """skl2onnx's own loop over the training items takes a hundred times as long."""
    rows = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    targets = (rows[:, 0] > 0).astype(np.int64) if kind is KNeighborsClassifier else rows[:, 0].astype(np.float64)
    model = (make_pipeline(StandardScaler(), kind()) if scaled else kind()).fit(rows, targets)
    data = to_onnx(model, 4)

    assert b"CDist" in data
    assert b"Scan" not in data
    check_parity("neighbours", model.predict(rows), data, rows, 0, classifies=kind is KNeighborsClassifier)


def test_neighbours_weighted_by_distance_keep_their_exact_distances() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    model = KNeighborsRegressor(weights="distance").fit(rows, rows[:, 0])

    assert b"CDist" not in to_onnx(model, 4)


@pytest.mark.parametrize("engine", ["numpy", "onnxruntime"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [LinearSVC(), RidgeClassifier(), SVC(), LogisticRegression()], ids=str)
def test_a_node_reads_the_scores_that_calibrations_are_of(estimator: Any, n_classes: int, engine: Engine) -> None:
    """Probabilities, a decision value for each class, or one for both."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 4)).astype(np.float32)
    targets = rows[:, :n_classes].argmax(axis=1)
    data, row = to_onnx(estimator.fit(rows, targets), 4, classes=range(n_classes)), InputRow(4)
    run: Any = load_model(engine, data, row, 4, n_classes, True)
    labels, scores, _ = OnnxModel(data).answers(rows, n_classes)
    read = []
    for numbers in rows:
        row.values[:] = numbers
        read.append((run(), run.confidence()))

    assert [label for label, _ in read] == labels.tolist()
    assert [score for _, score in read] == pytest.approx(scores.tolist(), rel=1e-4, abs=1e-5)
