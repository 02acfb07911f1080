"""Which engines can run a model, and that none stops a build."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from polydom_builder.training.onnx import to_onnx
from polydom_runtime.bundles.agreement import agreeing_engines
from polydom_runtime.bundles.engines import ENGINES
from polydom_runtime.kernels import neighbours
from polydom_runtime.kernels.kernel import Kernel

ROWS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
CLASSES = (ROWS[:, 0] > 0.0).astype(np.int64) + (ROWS[:, 1] > 0.5)


def exported(model: Any) -> bytes:
    return to_onnx(model.fit(ROWS, CLASSES), ROWS.shape[1])


def test_both_engines_run_a_model_that_has_a_kernel() -> None:
    assert agreeing_engines(exported(LogisticRegression()), ROWS, 3) == ENGINES


def test_model_that_the_reader_refuses_is_left_to_onnxruntime() -> None:
    """Neighbours that are weighted by distance are exported with a graph inside the graph."""
    assert agreeing_engines(exported(KNeighborsClassifier(weights="distance")), ROWS, 3) == ("onnxruntime",)


def test_kernel_that_answers_otherwise_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "__call__", lambda self: 0)

    assert agreeing_engines(exported(LogisticRegression()), ROWS, 3) == ("onnxruntime",)


@pytest.mark.parametrize(
    "model",
    [KNeighborsClassifier(3), KNeighborsClassifier(2), RandomForestClassifier(2, random_state=0)],
    ids=["neighbours", "two neighbours", "two trees"],
)
def test_engine_is_not_chosen_by_ties(model: Any) -> None:
    """Of rows of whole numbers many are at the same distance, and two trees often give one vote each."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (200, 4)).astype(np.float32)
    data = to_onnx(model.fit(rows, rng.integers(0, 3, 200)), 4)

    assert agreeing_engines(data, rows, 3) == ENGINES


def test_ties_excuse_no_kernel_that_takes_other_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    data = exported(KNeighborsClassifier(1))
    monkeypatch.setattr(neighbours, "_choosing", lambda row, largest, places: lambda: places.fill(row.argmax()))

    assert agreeing_engines(data, ROWS, 3) == ("onnxruntime",)
