"""Each model runs in the engine that the bundle states, or in the other one if it must."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import ManualClock, Predictor, Seams
from polydom_runtime.bundles import engines
from polydom_runtime.bundles.engines import ENGINES, Engine, InputRow, ModelRunner, load_model
from polydom_runtime.device.tiny_models import linear_classifier, model, tree_classifier
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels import gate
from polydom_runtime.kernels.kernel import Kernel
from tests.runtime.node_space import space

GOLDEN = Path(__file__).parents[2] / "golden" / "format_1.bundle"


@pytest.mark.onnxruntime
@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_runs_in_the_engine_that_is_asked_for(engine: Engine) -> None:
    data, row = linear_classifier(4, 3), InputRow(4)
    run = load_model(engine, data, row, 4, 3)
    row.values[:] = [1.0, -2.0, 0.5, 3.0]

    assert isinstance(run, Kernel if engine == "numpy" else ModelRunner)
    assert run() == load_model("onnxruntime", data, row, 4, 3)()


@pytest.mark.onnxruntime
def test_a_model_without_a_kernel_runs_in_onnxruntime() -> None:
    """One that states probabilities of trees in a way that numpy does not know, asked for in numpy."""
    run = load_model("numpy", without_a_kernel(), InputRow(4), 4, 3)

    assert isinstance(run, ModelRunner)


def test_where_onnxruntime_is_missing_numpy_runs_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "onnxruntime_version", lambda: "")

    assert isinstance(load_model("onnxruntime", tree_classifier(4, 3, trees=2, depth=2), InputRow(4), 4, 3), Kernel)
    with pytest.raises(BundleFormatError, match=r"has LpNormalization.*Install onnxruntime"):
        load_model("onnxruntime", without_a_kernel(), InputRow(4), 4, 3)


@pytest.mark.onnxruntime
@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_a_predictor_follows_the_bundle_unless_told_otherwise(engine: Engine | None) -> None:
    predictor = Predictor.load(GOLDEN, space, seams=Seams(engine=engine, clock=ManualClock()))
    answer = predictor.predict_one(np.array([1.0, 2.0, 3.0]))
    runs = [predictor.models.load(number)._run for number in range(3)]
    stated = [model.engine for model in predictor.bundle.models]

    assert answer.label == "yes"
    assert [isinstance(run, Kernel) for run in runs] == [(engine or wanted) == "numpy" for wanted in stated]


@pytest.mark.onnxruntime
def test_onnxruntime_prints_nothing_about_a_model(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its log would repeat the names of nodes, control characters included, from C and so past every check of ours."""
    monkeypatch.setattr(gate, "check_model", lambda *_: None)

    with pytest.raises(BundleFormatError, match="Reshape"):
        ModelRunner(failing(), InputRow(4), 4, 3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.onnxruntime
def test_whatever_onnxruntime_logs_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output belongs to the answers."""
    lean = engines._lean_options

    def talking(ort: Any) -> Any:
        options = lean(ort)
        options.log_severity_level = 0
        return options

    monkeypatch.setattr(engines, "_lean_options", talking)
    ModelRunner(linear_classifier(4, 3), InputRow(4), 4, 3)
    printed = capfd.readouterr()

    assert printed.out == ""
    assert "onnxruntime" in printed.err


def failing() -> bytes:
    """Return a model with a node that fails when it runs, and whose name clears a terminal."""
    from polydom_runtime.device import tiny_models as tiny

    reshape = tiny._node("Reshape", ["X", "shape"], ["scores"], {}, domain="") + tiny._field(3, b"\x1b[2J")
    nodes = [
        tiny._node("Cast", ["seven"], ["shape"], {"to": 7}, domain=""),
        reshape,
        tiny._node("ArgMax", ["X"], ["label"], {"axis": 1, "keepdims": 0}, domain=""),
    ]
    return model(nodes, 4, weights={"seven": np.array([7.0])})


def without_a_kernel() -> bytes:
    """Return a sound model with an operator that onnxruntime has and numpy has not."""
    from polydom_runtime.device import tiny_models as tiny

    nodes = [
        tiny._node("LpNormalization", ["X"], ["scores"], {"axis": 1}, domain=""),
        tiny._node("ArgMax", ["scores"], ["label"], {"axis": 1, "keepdims": 0}, domain=""),
    ]
    return model(nodes, 4)


@pytest.mark.onnxruntime
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [3, 5])
def test_engines_have_the_same_gate(engine: Engine, width: int) -> None:
    with pytest.raises(BundleFormatError, match="an input of float32"):
        load_model(engine, tree_classifier(width, 3, trees=2, depth=2), InputRow(4), 4, 3)
