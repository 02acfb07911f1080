"""A session measures the kernels and the models of both engines in a process of its own."""

import subprocess
import sys
from typing import Any

import pytest

from polydom_runtime.boards import kernel_session
from polydom_runtime.boards.kernel_session import session_apart, session_here
from polydom_runtime.device.calibration import KERNELS, NUMPY_REFERENCES, REFERENCES
from polydom_runtime.exceptions import MeasurementError

OF_NUMPY = {name for name in KERNELS if not name.startswith("onnx_")}


@pytest.mark.onnxruntime
def test_a_session_apart_has_all_kernels_and_the_models_of_both_engines() -> None:
    fractions: list[float] = []

    session = session_apart(0.5, fractions.append)

    assert session.kernels.keys() == KERNELS.keys()
    assert {*REFERENCES, *NUMPY_REFERENCES, *OF_NUMPY} <= session.hot.keys() & session.cold.keys()
    assert all(times.median <= times.p90 for times in session.cold.values())
    assert session.cold_seconds > 0.0
    assert all(0.0 <= fraction <= 1.0 for fraction in fractions)


def test_without_onnxruntime_what_numpy_would_run_in_its_place_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_session, "onnxruntime_version", lambda: "")

    session = session_here(0.1)

    assert session.kernels.keys() == OF_NUMPY
    assert {*NUMPY_REFERENCES} <= session.cold.keys()
    assert not {*REFERENCES} & (session.hot.keys() | session.cold.keys())


def test_a_child_process_that_fails_is_an_error_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(MeasurementError, match="It failed: exit code 1"):
        session_apart(0.1, lambda fraction: None)


def test_ctrl_c_ends_the_child_process_too(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            children.append(self)

    def interrupted(fraction: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Kept)
    with pytest.raises(KeyboardInterrupt):
        session_apart(60.0, interrupted)

    assert children[0].returncode < 0
