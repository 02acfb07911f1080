"""What comes before the search: costs, a pre-selection, and a model that can be converted."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline

from polydom_builder.exceptions import ExportError, FitError, TrainingError
from polydom_runtime import Feature, FeatureSpace, Predictor, Seams, Step
from polydom_runtime.bundles.unit_times import StepTime
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import FeatureError, ItemError
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import search
from tests.bundle_parts import unit_times

US = task.US
ITEMS, LABELS = task.items(60)


def many_features() -> FeatureSpace:
    """The task's features among eighty that tell nothing."""

    def nothing(k: int) -> Feature:
        return Feature(f"nothing{k}", lambda x: [math.sin(1e4 * k * float(x[0]))])

    return FeatureSpace([*map(nothing, range(40)), *task.space.features, *map(nothing, range(40, 80))], size=len)


def test_preselection_leaves_what_tells_something_and_the_node_takes_the_whole_space(tmp_path: Path) -> None:
    space = many_features()
    cheap = CostFunction.of(2 * US)
    features = (*[cheap] * 40, *task.costs.features, *[cheap] * 40)
    step = task.costs.steps[0]
    step = step._replace(users=step.users << 40)
    costs = unit_times(space.names, features, [step], task.costs.dispatch, model=20 * US)
    found = search(space=space, max_features=4, tolerance=0.1).fit(*task.items(), costs=costs)
    found.export(tmp_path / "b")

    assert set(found.space_.names) < set(task.space.names)
    assert all(found.dropped_[f"nothing{k}"] for k in range(80))
    predictor = Predictor.load(tmp_path / "b", space, seams=Seams(clock=ManualClock()))
    items, labels = task.items(60, seed=1)
    assert np.mean([predictor.predict_one(x).label == y for x, y in zip(items, labels, strict=True)]) > 0.7
    with pytest.raises(TrainingError, match="Give max_features"):
        search(space=space).fit(*task.items(), costs=costs)


def head(x: np.ndarray) -> list[float]:
    return [float(x[0])]


def second_of(x: np.ndarray) -> list[float]:
    return [float(x[1])]


def test_steps_of_a_preselection_are_in_the_order_of_the_space_that_is_left(tmp_path: Path) -> None:
    """Of f0 (step A), f1 (B) and f2 (A) the last two are left, so that B comes first."""
    first, second = Step("A", np.asarray), Step("B", np.array)
    space = FeatureSpace(
        [
            Feature("f0", lambda x: [0.0], step=first),
            Feature("f1", head, step=second),
            Feature("f2", second_of, step=first),
        ],
        size=len,
    )
    steps = [StepTime(name, users, CostFunction.of(3 * US)) for name, users in (("A", 0b101), ("B", 0b010))]
    costs = unit_times(space.names, [CostFunction.of(5 * US)] * 3, steps, CostFunction.of(5 * US), model=20 * US)
    rng = np.random.default_rng(0)
    items = [rng.normal(size=5) for _ in range(120)]
    labels = [int(x[0] + x[1] > 0) for x in items]

    search(space=space, max_features=2).fit(items, labels, costs=costs).export(tmp_path / "b")
    assert (
        Predictor.load(tmp_path / "b", space, seams=Seams(clock=ManualClock())).predict_one(items[0]).reason
        == "planned"
    )


class Unconvertible(LogisticRegression):  # type: ignore[misc]
    trained = 0

    def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> Any:
        type(self).trained += 1
        return super().fit(rows, labels)


def test_feature_that_would_change_the_item_is_refused() -> None:
    def centre(x: np.ndarray) -> list[float]:
        x -= x.mean()
        return [float(x[0])]

    space = FeatureSpace([Feature("centred", centre)], size=len)
    with pytest.raises(FeatureError, match=r"'centred'.*read-only"):
        search(space=space).fit(ITEMS, LABELS)


def test_costs_of_nothing_known_are_refused() -> None:
    with pytest.raises(TrainingError, match="CostSamples, a DeviceProfile, or UnitTimes"):
        search().fit(ITEMS, LABELS, costs={"level": 1e-6})  # type: ignore[arg-type]


def test_given_costs_must_tell_a_model_s_time() -> None:
    with pytest.raises(FitError, match="time of a model run"):
        search().fit(ITEMS, LABELS, costs=replace(task.costs, model=None))


def test_costs_of_another_space_are_refused() -> None:
    with pytest.raises(FitError, match="features and steps"):
        search().fit(ITEMS, LABELS, costs=task.costs.part(range(4)))
    with pytest.raises(FitError, match="used by"):
        search().fit(
            ITEMS, LABELS, costs=replace(task.costs, names=task.space.names, users=(), terms=task.costs.features)
        )


def test_estimator_without_a_converter_is_refused_before_training() -> None:
    with pytest.raises(ExportError, match="skl2onnx"):
        search(estimator=Unconvertible()).fit(ITEMS, LABELS, costs=task.costs)
    assert Unconvertible.trained == 2  # tried on a few labels, then converted


def test_estimator_that_needs_several_columns_is_refused_before_the_search() -> None:
    with pytest.raises(TrainingError, match=r"must train on [a-z]+\. It raised .*n_components=2"):
        search(estimator=make_pipeline(PCA(2), LogisticRegression())).fit(ITEMS, LABELS, costs=task.costs)


def test_labels_and_folds_are_checked_before_anything_is_measured() -> None:
    with pytest.raises(TrainingError, match="Got None for item 0"):
        search().fit(ITEMS, [None, *LABELS[1:]], costs="no costs")  # type: ignore[arg-type]
    groups = [str(label) for label in LABELS]
    with pytest.raises(TrainingError, match=r"Fold 0 has none of class .* Give groups"):
        search().fit(ITEMS, LABELS, groups, costs="no costs")  # type: ignore[arg-type]


def not_measured(*arguments: Any) -> None:
    raise AssertionError("Measured.")


@pytest.mark.parametrize(
    ("bad", "error", "said"),
    [
        (np.ones((30, 3)), ItemError, r"Item 7 must be an array of 1 dimension, as item 0 is.*shape \(30, 3\)"),
        (1j * np.ones(30), ItemError, r"Item 7 must be .*an array of complex128"),
        ([[1.0, 2.0], [3.0]], ItemError, r"Item 7 must be .*Got \[\[1.0, 2.0\], \[3.0\]\]"),
        ([1.0, [2.0, 3.0]], FeatureError, "Item 7: Feature 'level' must work"),
        ("text", FeatureError, "Item 7: Feature 'level' must work"),
    ],
    ids=["2-D", "complex", "nested", "ragged", "text"],
)
def test_item_unlike_the_others_is_refused_by_number_before_anything_is_measured(
    bad: Any, error: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polydom_builder.preparation.preparation.measure_here", not_measured)
    with pytest.raises(error, match=said):
        search().fit([*ITEMS[:7], bad, *ITEMS[8:]], LABELS)


def test_given_costs_are_checked_before_features_are_computed() -> None:
    def broken(x: np.ndarray) -> list[float]:
        raise ValueError

    space = FeatureSpace([Feature("broken", broken)], size=len)
    with pytest.raises(FitError, match="features and steps"):
        search(space=space).fit(ITEMS, LABELS, costs=task.costs)


def test_scaler_and_threshold_that_the_conversion_loses_are_refused(tmp_path: Path) -> None:
    binary = [label == "loud" for label in LABELS]
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring="recall", cv=2, random_state=0)
    with pytest.raises(ExportError, match="must give the answers of scikit-learn"):
        search(estimator=tuned).fit(ITEMS, binary, costs=task.costs).export(tmp_path / "x.bundle")


class Forgetful(LogisticRegression):  # type: ignore[misc]
    """Trained on many items, it says something else than what its converter sees."""

    def predict(self, rows: Any) -> Any:
        found = super().predict(rows)
        return found if self.n_seen_ < len(ITEMS) else np.full_like(found, self.classes_[0])

    def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> Any:
        self.n_seen_ = len(rows)
        return super().fit(rows, labels)


def with_converter(kind: type) -> None:
    from skl2onnx import update_registered_converter
    from skl2onnx.operator_converters.linear_classifier import convert_sklearn_linear_classifier
    from skl2onnx.shape_calculators.linear_classifier import calculate_linear_classifier_output_shapes

    options = {"zipmap": [True, False, "columns"], "nocl": [True, False], "raw_scores": [True, False]}
    update_registered_converter(
        kind,
        f"Registered{kind.__name__}",
        calculate_linear_classifier_output_shapes,
        convert_sklearn_linear_classifier,
        options=options,
    )


@pytest.mark.parametrize("bad", [Unconvertible, Forgetful])
def test_model_that_cannot_be_exported_is_refused_before_anything_is_measured(
    bad: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bad is Forgetful:
        with_converter(Forgetful)
    monkeypatch.setattr("polydom_builder.preparation.preparation.measure_here", not_measured)
    with pytest.raises(ExportError, match="skl2onnx can convert" if bad is Unconvertible else "It differs on 40 of 60"):
        search(estimator=bad()).fit(ITEMS, LABELS)


class Registered(LogisticRegression):  # type: ignore[misc]
    pass


def test_converter_that_workers_do_not_have_is_told() -> None:
    with_converter(Registered)
    with pytest.raises(ExportError, match=r"in worker processes, too.* in the module of the estimator"):
        search(estimator=Registered(), n_jobs=2).fit(ITEMS, LABELS, costs=task.costs)


def test_search_that_finds_nothing_says_so() -> None:
    rare = [int(k % 6 == 0) for k in range(len(ITEMS))]
    with pytest.warns(UserWarning, match=r"No feature set scores more than the answer without features \(0\.833\)"):
        search(estimator=LogisticRegression(C=1e-9)).fit(ITEMS, rare, costs=task.costs)


def test_error_inside_scikit_learn_names_no_file() -> None:
    with pytest.raises(TrainingError, match=r"max_iter.*\)\.$"):
        search(estimator=LogisticRegression(max_iter=-1)).fit(ITEMS, LABELS, costs=task.costs)
