"""A report is made part by part, on any machine, with or without a bundle."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.boards.answering import BundleScene
from polydom_runtime.boards.kernel_session import KernelSession
from polydom_runtime.boards.making import NO_BUNDLE, Making
from polydom_runtime.boards.report import BoardReport
from polydom_runtime.boards.summary import tables
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import Probe
from tests.runtime.boards.reports import a_session
from tests.runtime.node_space import space

PROBE = Probe(bits=64, numpy="2.4.6", onnxruntime="1.28.0", threads=1, ir_version=13, opset=22, ml_opset=4)
DEADLINE = 0.0002
NOTHING_KNOWN = Board(Path("/nowhere"))


def made(
    scene: BundleScene | None = None, found: Probe | str = PROBE, seconds: float = 1.0
) -> tuple[BoardReport, list[str]]:
    """Return a report with made-up sessions, and the names of its parts."""

    def session(seconds: float, progress: Callable[[float], None]) -> KernelSession:
        progress(1.0)
        return a_session()

    making = Making(NOTHING_KNOWN, scene, seconds, session=session, found=lambda: found)
    for part in making.parts:
        assert part.run(lambda fraction: None)
    return making.report("a note", 4.2), [part.name for part in making.parts]


def test_without_a_bundle_the_report_says_what_is_missing() -> None:
    report, parts = made()

    assert report.missing == (NO_BUNDLE,)
    assert report.answers == {}
    assert parts == ["doctor", *(f"kernels, session {k} of 3" for k in (1, 2, 3))]


def test_why_there_are_no_onnx_versions_is_said() -> None:
    report, _ = made(found="a child process that imports it was killed by SIGILL")

    assert report.onnx is None
    assert any("killed by SIGILL" in sentence for sentence in report.missing)


def test_on_a_machine_that_tells_nothing_the_conditions_are_not_known(tmp_path: Path) -> None:
    report, _ = made()

    unknown = {name for name, found in tables(report)[0].rows if found == "not known"}
    assert unknown == {"revision", "governor", "clock", "temperature", "throttle flags"}


@pytest.mark.onnxruntime
def test_answers_of_a_bundle_come_between_the_sessions(bundle_folder: Path, tmp_path: Path) -> None:
    items = [np.arange(9.0), np.arange(12.0)]
    scene = BundleScene(load_bundle(bundle_folder), space, items, DEADLINE, {"bundle": {"name": "small"}})

    report, parts = made(scene, seconds=1.0)
    report.write(tmp_path / "pi.board.json")

    assert [name.partition(",")[0] for name in parts] == [
        "doctor",
        *("kernels", "answers one after another"),
        *("kernels", "answers at a period"),
        *("kernels", "answers at a period beside other work"),
    ]
    hot, period, load = (report.answers[way] for way in ("hot", "period", "load"))
    assert (hot.period, period.period, load.period) == (None, 0.02, 0.02)
    assert [c.context["load"].partition(":")[0] for c in (hot, period, load)] == ["none", "none", "cpu"]
    assert report.missing == ()
    assert BoardReport.read(tmp_path / "pi.board.json") == report
    assert [row[0] for row in tables(report)[2].rows] == [name for name in parts if name.startswith("answers")]


def test_ctrl_c_in_the_answers_ends_the_run(bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(x: object) -> None:
        raise KeyboardInterrupt

    scene = BundleScene(load_bundle(bundle_folder), space, [np.arange(9.0)] * 2000, DEADLINE)

    with pytest.raises(KeyboardInterrupt):
        scene.certificate("hot", 60.0, NOTHING_KNOWN, interrupted)
