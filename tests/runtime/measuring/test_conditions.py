"""What is stamped on a measurement, on made-up boards."""

from pathlib import Path

import pytest

from polydom_runtime.commands.progress import ProgressBar
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.measuring.conditions import Conditions, describe, onnx_limits
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.own_profile import own_profile

CLOCK = "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
HEAT = "sys/class/thermal/thermal_zone0/temp"
THROTTLED = "sys/devices/platform/soc/soc:firmware/get_throttled"


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text + "\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0",
        "proc/meminfo": "MemTotal:        3884272 kB\nMemAvailable:    3000000 kB",
        CLOCK: "1800000",
        GOVERNOR: "performance",
        HEAT: "48312",
        THROTTLED: "0x0",
    }.items():
        write(tmp_path, name, text)
    return tmp_path


def warnings_after(root: Path, name: str, text: str) -> list[str]:
    """Return what is said if one file changes while a measurement goes on."""
    before = describe(Board(root))
    conditions = Conditions(Board(root), before)
    assert not conditions.have_moved()
    write(root, name, text)
    conditions.have_moved()
    return list(conditions.summary()["warnings"])


def test_board_is_described(root: Path) -> None:
    stamp = describe(Board(root), cpu=3)

    assert stamp["device"] == "Raspberry Pi 4 Model B Rev 1.4"
    assert (stamp["clock_hz_before"], stamp["celsius_before"], stamp["throttled_before"]) == (1.8e9, 48.312, 0)
    assert (stamp["memory_bytes"], stamp["governors"], stamp["pinned_cpu"]) == (3884272 * 1024, ["performance"], 3)


def test_steady_board_gets_no_warning(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert warnings_after(root, HEAT, "52000") == []


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [(CLOCK, "600000", "the clock fell"), (THROTTLED, "0x4", "throttled"), (THROTTLED, "0x40000", "throttled")],
)
def test_what_moves_is_said(root: Path, name: str, text: str, warning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also throttling that came and went between two looks, which leaves a flag."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    (said,) = warnings_after(root, name, text)
    assert warning in said


def test_heat_is_waited_for(root: Path) -> None:
    conditions = Conditions(Board(root), describe(Board(root)))
    write(root, HEAT, "60000")

    assert conditions.have_moved()


def test_governor_and_threads_are_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    write(root, GOVERNOR, "ondemand")
    governor, threads = warnings_after(root, HEAT, "48000")

    assert "ondemand" in governor
    assert "several threads" in threads


def test_limits_that_could_not_be_tried_are_said(samples: CostSamples) -> None:
    assert onnx_limits("killed by SIGILL") == {"failed": "killed by SIGILL"}
    with pytest.raises(ProfileError, match="killed by SIGILL"):
        own_profile(samples)


@pytest.fixture
def samples(root: Path) -> CostSamples:
    import numpy as np

    empty = np.zeros((0, 0, 0))
    stamp = describe(Board(root)) | {"onnx": onnx_limits("killed by SIGILL")}
    return CostSamples((), np.zeros(0), empty, np.zeros((0, 0), dtype=np.int64), empty, {}, stamp)


def test_bar_is_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with ProgressBar("costs measured") as bar:
        bar.update(0.5)
    assert capsys.readouterr().err == ""

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with ProgressBar("costs measured") as bar:
        bar.update(0.5)
    assert "50 %" in capsys.readouterr().err
