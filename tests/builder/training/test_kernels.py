"""Kernels answer as onnxruntime does: on training rows, on others, between them, and on the thresholds of trees.

Half-way between two training rows lie ties of nearest neighbours, which rounding decides, by each processor in its own
way.
"""

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polydom_builder.training.onnx import OnnxModel
from polydom_runtime.bundles.agreement import answers_around
from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.kernels.graph import Graph
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.rounding import TRIES, has_trees, moved, moved_graph, unexplained
from polydom_runtime.kernels.tensors import UnknownModel
from tests.builder.training.estimator_zoo import CLASSIFIERS, REGRESSORS, WIDTH, exported, items

ONLY_SCORES = {"ridge", "linear SVC"}
"""For two classes they state one score and no probabilities."""

ONLY_LABELS = {"SVC", "polynomial SVC", "polynomial SVC of degree 5", "sigmoid SVC", "SVC without a kernel"}

classifiers = pytest.mark.parametrize("name", CLASSIFIERS)


FEW = 0.02
"""No more of the tried rows than that are ties."""


@pytest.mark.parametrize("n_classes", [2, 3])
@classifiers
def test_labels_are_those_of_onnxruntime(name: str, n_classes: int) -> None:
    data = exported(name, n_classes)
    rows = tried_rows(data, n_classes)

    labels = answers(data, rows, n_classes)

    assert set(labels) == set(range(n_classes))
    assert not wrong(data, rows, labels, OnnxModel(data).predict(rows), n_classes).any()


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
    rows, labels, most = tried_rows(data, n_classes), [], []

    for numbers in rows:
        row.values[:] = numbers
        labels.append(kernel())
        most.append(kernel.confidence())

    assert not wrong(data, rows, np.array(labels), OnnxModel(data).predict(rows), n_classes).any()
    theirs = OnnxModel(data).predict_proba(rows).max(axis=1)
    around = partial(sureness_around, data, rows, n_classes)
    assert not unexplained(np.array(most), theirs, around, 5e-6).any()


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_those_of_onnxruntime(name: str) -> None:
    data = exported(name, 0)
    rows = tried_rows(data, 0)

    assert not wrong(data, rows, answers(data, rows, 0), OnnxModel(data, classifies=False).predict(rows), 0).any()


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


def wrong(
    data: bytes, rows: NDArray[np.float32], found: NDArray[Any], expected: NDArray[Any], n_classes: int
) -> NDArray[np.bool_]:
    """Return where a kernel's answers are not those of onnxruntime, and rounding does not explain it."""
    precision = 0.0 if n_classes else 5e-6
    assert np.mean(~np.isclose(found, expected, 1e-5, 1e-5 * np.abs(expected).max())) <= FEW
    return unexplained(found, expected, lambda some: answers_around(data, rows[some], n_classes), precision)


def sureness_around(data: bytes, rows: NDArray[np.float32], n_classes: int, some: NDArray[np.bool_]) -> NDArray[Any]:
    """Return how sure a kernel is where its numbers differ by rounding, shape ``(n_some, TRIES)``."""
    graph, row, rng, found = Graph.read(data), InputRow(WIDTH), np.random.default_rng(0), []
    for _ in range(TRIES):
        kernel = Kernel(moved_graph(graph, rng), row, WIDTH, n_classes, sure=True)
        for numbers in rows[some] if has_trees(node.kind for node in graph.nodes) else moved(rows[some], rng):
            row.values[:] = numbers
            kernel()
            found.append(kernel.confidence())
    return np.reshape(found, (TRIES, some.sum())).T


@pytest.mark.parametrize(("name", "n_classes"), [*((n, 3) for n in CLASSIFIERS), *((n, 0) for n in REGRESSORS)])
def test_rounding_changes_hardly_any_answer(name: str, n_classes: int) -> None:
    """Otherwise it would excuse any kernel."""
    data = exported(name, n_classes)
    rows = tried_rows(data, n_classes)[::10]

    around, here = answers_around(data, rows, n_classes), answers(data, rows, n_classes)[:, None]

    assert np.mean(np.abs(around - here) > (0.0 if n_classes else 1e-4 * np.abs(here).max())) <= 2 * FEW


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
