"""Labels: of one kind, seen by the estimator as they were given, and class numbers in what is exported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.labels import targets_of
from polydom_builder.training.onnx import OnnxModel, to_onnx
from polydom_runtime import Predictor
from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.kernels.kernel import Kernel
from tests.builder import task
from tests.builder.searches import search

ITEMS, LABELS = task.items(90)
ROWS = np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32)
CODES = (ROWS[:, 0] > 0.0).astype(int) + (ROWS[:, 1] > 0.5)
NAMES = {
    "numbers": np.arange(3),
    "other numbers": np.array([-7, 10, 2**40]),
    "strings": np.array(["calm", "für", "loud"]),
    "two strings": np.array(["n", "p", "p"]),
    "booleans": np.array([False, True, True]),
}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([1, "1", 2], "all be of one kind.*item 0.*item 1"),
        ([1, True, 2], "all be of one kind.*True, a boolean, for item 1"),
        (["a", None, "b"], "Got None for item 1"),
        (["a", "b", float("nan")], "Got nan for item 2"),
        (["a", "b", b"c"], "Got b'c' for item 2"),
        (["a", "a\0"], "no control characters.*item 1"),
        (["a", "\x1b[2J"], "no control characters.*item 1"),
        (["a", "a" * 1001], "at most 1000 characters.*item 1"),
        (["a", "\ud800"], "Unicode text.*item 1"),
        ([1, 2**63], "64 bits.*item 1"),
        ([1, -(2**63) - 1], "64 bits.*item 1"),
        (np.array([1.0, 2.0]), "Got 1.0 for item 0"),
        (np.array([1, "b"], dtype=object), "all be of one kind"),
        ([(1, 2), (3, 4)], r"Got \(1, 2\) for item 0"),
        (5, "one label for each item"),
        ([3, 3], "at least two classes"),
    ],
)
def test_labels_that_are_not_of_one_kind_are_refused(labels: Any, said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        targets_of(labels, len(labels) if hasattr(labels, "__len__") else 1)


@pytest.mark.parametrize("label", [True, "3", None, float("inf"), 10**400, 1j])
def test_numbers_to_predict_are_finite(label: Any) -> None:
    with pytest.raises(TrainingError, match=r"finite numbers\. Got .* for item 1"):
        targets_of([0.5, label], 2, regression=True)


@pytest.mark.parametrize("labels", [[-(2**63), 2**63 - 1], ["b", "a"], [True, False], np.array([[2], [1]])])
def test_classes_rise_and_items_have_their_numbers(labels: Any) -> None:
    classes, codes = targets_of(labels, 2)

    assert classes.tolist() == sorted(np.ravel(labels).tolist())
    assert classes[codes].tolist() == np.ravel(labels).tolist()


@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        SVC(),
        GaussianNB(),
        KNeighborsClassifier(),
        RandomForestClassifier(5, random_state=0),
        QuadraticDiscriminantAnalysis(),
        CalibratedClassifierCV(GaussianNB(), cv=2),
        OneVsOneClassifier(LogisticRegression()),
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], flatten_transform=False),
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft", flatten_transform=False),
    ],
    ids=lambda e: type(e).__name__,
)
def test_exported_model_returns_class_numbers(estimator: Any, names: NDArray[Any]) -> None:
    model = estimator.fit(ROWS, names[CODES])
    classes = np.unique(names)
    answers = OnnxModel(to_onnx(model, 4, classes=classes.tolist())).predict(ROWS)

    assert classes[answers].tolist() == model.predict(ROWS).tolist()


@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), GaussianNB(), SVC(), RandomForestClassifier(5), KNeighborsClassifier()]
)
def test_labels_cost_no_kernel(estimator: Any, names: NDArray[Any]) -> None:
    model, row = estimator.fit(ROWS, names[CODES]), InputRow(4)
    classes = np.unique(names)
    kernel = Kernel(to_onnx(model, 4, classes=classes.tolist()), row, 4, len(classes))

    for numbers, expected in zip(ROWS[:20], model.predict(ROWS[:20]).tolist(), strict=True):
        row.values[:] = numbers
        assert classes[int(kernel())] == expected


def test_weights_of_classes_hold_for_the_labels_as_given() -> None:
    few = [2 if label == "loud" else 1 for label in LABELS]
    weighted = LogisticRegression(class_weight={1: 5.0, 2: 1.0})
    fitted = search(estimator=weighted).fit(ITEMS, few, costs=task.costs)

    model = fitted.trainer_.fit((0, 1, 2))
    expected = weighted.fit(fitted.trainer_.table.rows_of((0, 1, 2)), few)
    assert model.coef_.tolist() == expected.coef_.tolist()
    assert model.classes_.tolist() == [1, 2]


class Named(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trains on strings only, and takes one of them for granted."""

    def fit(self, rows: NDArray[np.float32], labels: NDArray[Any]) -> "Named":
        if "loud" not in labels.tolist():
            raise ValueError("there must be loud ones")
        return self


def test_estimator_sees_strings_if_strings_were_given() -> None:
    with pytest.raises(Exception, match="skl2onnx"):  # it was trained
        search(estimator=Named()).fit(ITEMS, LABELS, costs=task.costs)


class ByNumber(LogisticRegression):  # type: ignore[misc]
    """Takes class numbers only, as XGBoost does."""

    def fit(self, rows: Any, labels: Any, **rest: Any) -> Any:
        if set(np.unique(labels).tolist()) != set(range(len(np.unique(labels)))):
            raise ValueError("Invalid classes inferred from unique values of y")
        return super().fit(rows, labels, **rest)


@pytest.fixture
def numbered() -> Any:
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    from skl2onnx.operator_converters.linear_classifier import convert_sklearn_linear_classifier

    update_registered_converter(
        ByNumber,
        "TestByNumber",
        calculate_linear_classifier_output_shapes,
        convert_sklearn_linear_classifier,
        options={
            "zipmap": [True, False],
            "nocl": [True, False],
            "output_class_labels": [False, True],
            "raw_scores": [True, False],
        },
    )
    return ByNumber


def test_estimator_that_trains_on_class_numbers_only_gets_them(numbered: Any, tmp_path: Path) -> None:
    fitted = search(estimator=numbered(), deadline=0.001).fit(ITEMS, LABELS, costs=task.costs)
    fitted.export(tmp_path / "b.bundle")

    assert fitted.trainer_.by_number
    predictor = Predictor.load(tmp_path / "b.bundle", task.space)
    answers = [predictor.predict_one(item).label for item in ITEMS]
    assert np.mean(np.array(answers) == np.array(LABELS)) > 0.8
    on_host = fitted.predict(ITEMS)
    assert fitted.score(ITEMS, LABELS) == np.mean(on_host == np.array(LABELS)) > 0.8
    assert fitted.classes_[fitted.predict_proba(ITEMS).argmax(axis=1)].tolist() == on_host.tolist()


def test_weights_by_label_are_refused_where_only_numbers_train(numbered: Any) -> None:
    with pytest.raises(TrainingError, match="Invalid classes"):
        search(estimator=numbered(class_weight={"calm": 5})).fit(ITEMS, LABELS, costs=task.costs)
