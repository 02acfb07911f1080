"""Kernels answer as onnxruntime does: on training rows, on others, between them, and on the thresholds of trees."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polydom_builder.training.onnx import OnnxModel
from polydom_runtime.bundles.models import InputRow
from polydom_runtime.kernels.graph import Graph
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel
from tests.builder.training.estimator_zoo import CLASSIFIERS, REGRESSORS, WIDTH, exported, items

ONLY_SCORES = {"ridge", "linear SVC"}
"""For two classes they state one score and no probabilities."""

ONLY_LABELS = {"SVC", "polynomial SVC", "polynomial SVC of degree 5", "sigmoid SVC", "SVC without a kernel"}

classifiers = pytest.mark.parametrize("name", CLASSIFIERS)


@pytest.mark.parametrize("n_classes", [2, 3])
@classifiers
def test_labels_are_those_of_onnxruntime(name: str, n_classes: int) -> None:
    data = exported(name, n_classes)
    rows = tried_rows(data, n_classes)

    labels = answers(data, rows, n_classes)

    assert set(labels) == set(range(n_classes))
    np.testing.assert_array_equal(labels, OnnxModel(data).predict(rows))


@pytest.mark.parametrize(
    ("name", "n_classes"), [(n, k) for n in CLASSIFIERS for k in (2, 3) if k > 2 or n not in ONLY_SCORES]
)
def test_probabilities_are_those_of_onnxruntime(name: str, n_classes: int) -> None:
    data, row = exported(name, n_classes), InputRow(WIDTH)
    if name in ONLY_LABELS:
        with pytest.raises(UnknownModel):
            Kernel(data, row, WIDTH, n_classes, sure=True)
        return
    kernel = Kernel(data, row, WIDTH, n_classes, sure=True)
    rows, found = tried_rows(data, n_classes), []

    for numbers in rows:
        row.values[:] = numbers
        label = kernel()
        found.append((label, kernel.confidence()))

    expected = OnnxModel(data).predict_proba(rows)
    np.testing.assert_array_equal([label for label, _ in found], OnnxModel(data).predict(rows))
    np.testing.assert_allclose([most for _, most in found], expected.max(axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_those_of_onnxruntime(name: str) -> None:
    data = exported(name, 0)
    rows = tried_rows(data, 0)

    theirs = OnnxModel(data, classifies=False).predict(rows)

    np.testing.assert_allclose(answers(data, rows, 0), theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize(("name", "n_classes"), [*((n, 2) for n in CLASSIFIERS), *((n, 0) for n in REGRESSORS)])
def test_rows_of_huge_numbers_are_no_error(name: str, n_classes: int) -> None:
    """Sums overflow on the way; warnings are errors here."""
    largest = np.finfo(np.float32).max
    rows = np.full((2, WIDTH), largest) * np.array([[1.0], [-1.0]])
    rows[:, ::2] = [[-largest / 3.0], [1e-38]]

    assert len(answers(exported(name, n_classes), rows.astype(np.float32), n_classes)) == 2


def answers(data: bytes, rows: NDArray[np.float32], n_classes: int) -> NDArray[Any]:
    row = InputRow(WIDTH)
    kernel, found = Kernel(data, row, WIDTH, n_classes), []
    for numbers in rows:
        row.values[:] = numbers
        found.append(kernel())
    return np.array(found)


def tried_rows(data: bytes, n_classes: int) -> NDArray[np.float32]:
    rows, rng = items(n_classes)[0], np.random.default_rng(1)
    others = 2.0 * rng.normal(size=(300, WIDTH)).astype(np.float32)
    return np.concatenate([rows, others, 0.5 * (rows[1:] + rows[:-1]), on_thresholds(data, rows)])


def on_thresholds(data: bytes, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows with one number on the threshold of a tree, or beside it."""
    found = [np.empty((0, WIDTH), dtype=np.float32)]
    for node in Graph.read(data).nodes:
        columns, limits = node.attributes.get("nodes_featureids", []), node.attributes.get("nodes_values", [])
        for k in range(0, len(columns), 1 + len(columns) // 40):
            for limit in (limits[k], np.nextafter(limits[k], np.inf), np.nextafter(limits[k], -np.inf)):
                moved = rows[k % len(rows)].copy()
                moved[columns[k]] = limit
                found.append(moved[None])
    return np.concatenate(found)
