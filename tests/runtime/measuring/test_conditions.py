"""What is stamped on a measurement, on made-up boards."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.commands.terminal import ProgressBar
from polydom_runtime.device.board import TICKS_PER_SECOND, Board
from polydom_runtime.device.calibration import KERNELS
from polydom_runtime.device.device_profile import DeviceProfile, dump
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.measuring.conditions import Conditions, machine_facts, onnx_limits
from polydom_runtime.measuring.cost_samples import CostSamples, ItemSamples, Pauses
from polydom_runtime.measuring.own_profile import own_profile
from polydom_runtime.measuring.samples_so_far import stamp_fault
from polydom_runtime.measuring.stopwatch import Disturbances

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
    before = machine_facts(Board(root))
    conditions = Conditions(Board(root), before)
    assert not conditions.have_moved()
    write(root, name, text)
    conditions.have_moved()
    return list(conditions.summary()["warnings"])


def test_board_is_described(root: Path) -> None:
    stamp = machine_facts(Board(root), cpu=3)

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
    conditions = Conditions(Board(root), machine_facts(Board(root)))
    write(root, HEAT, "60000")

    assert conditions.have_moved()


def test_governor_and_threads_are_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    write(root, GOVERNOR, "ondemand")
    governor, threads = warnings_after(root, HEAT, "48000")

    assert "ondemand" in governor
    assert "several threads" in threads


def test_busy_machine_is_said_with_its_figure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    conditions = Conditions(Board(root), machine_facts(Board(root)))
    conditions.seen = Disturbances(Pauses.of(2.6, [7.4]), switches=12)
    warning = "the machine was busy: the measurement got 26 % of a processor, so times, and promises that rest on "
    warning += "them, are those of a busy machine"

    assert conditions.warnings == [warning]
    facts = conditions.summary()
    assert facts["warnings"] == [warning]
    assert facts["processor_share"] == pytest.approx(0.26)
    assert facts["involuntary_switches"] == 12


def test_what_nobody_watched_is_not_stated(root: Path) -> None:
    facts = Conditions(Board(root), machine_facts(Board(root))).summary()

    assert not {"processor_share", "involuntary_switches", "stolen_seconds"} & facts.keys()


def test_idle_machine_is_not_called_busy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    conditions = Conditions(Board(root), machine_facts(Board(root)))
    conditions.seen = Disturbances(Pauses.of(8.1, [1.9]))

    assert conditions.warnings == []


def test_figure_of_an_earlier_run_is_replaced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    earlier = ["the clock fell", Disturbances(Pauses.of(1.0, [9.0])).warning or ""]
    conditions = Conditions(Board(root), machine_facts(Board(root)), earlier)
    conditions.seen = Disturbances(Pauses.of(1.0, [1.0]))

    assert [warning.split(", so")[0] for warning in conditions.warnings] == [
        "the clock fell",
        "the machine was busy: the measurement got 50 % of a processor",
    ]


def test_time_that_a_hypervisor_took_is_counted(root: Path) -> None:
    write(root, "proc/stat", "cpu  1 2 3 4 5 6 7 100 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0")
    conditions = Conditions(Board(root), machine_facts(Board(root)))
    write(root, "proc/stat", f"cpu  1 2 3 4 5 6 7 {100 + 3 * TICKS_PER_SECOND} 0 0")

    assert conditions.with_losses(Disturbances(switches=2)) == Disturbances(switches=2, stolen=3.0)
    assert conditions.with_losses(Disturbances()) == Disturbances()


def test_quota_is_named_as_the_cause_with_its_cure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    write(root, "proc/self/cgroup", "0::/")
    write(root, "sys/fs/cgroup/cpu.stat", "nr_throttled 100")
    conditions = Conditions(Board(root), machine_facts(Board(root)))
    write(root, "sys/fs/cgroup/cpu.stat", "nr_throttled 103")
    conditions.seen = conditions.with_losses(Disturbances(Pauses.of(1.0, [1.0])))

    (warning,) = conditions.warnings
    assert warning.startswith("a quota stopped the measurement in 3 periods: the measurement got 50 % of a processor;")
    assert "--cpus" in warning
    assert stamp_fault(conditions.summary()) is None
    assert conditions.summary()["throttled_periods"] == 3
    assert Conditions(Board(root), machine_facts(Board(root)), [warning]).warnings == []
    assert conditions.with_losses(Disturbances()) == Disturbances()


def test_quota_is_named_where_no_pauses_were_watched() -> None:
    """As while answers are certified."""
    assert (Disturbances(throttled=3).warning or "").startswith("a quota stopped the measurement in 3 periods; cure: a")


def test_memory_is_that_of_the_container(root: Path) -> None:
    write(root, "proc/self/cgroup", "0::/")
    write(root, "sys/fs/cgroup/memory.max", "500000000")
    write(root, "sys/fs/cgroup/memory.current", "100000000")
    stamp = machine_facts(Board(root))

    assert (stamp["memory_bytes"], stamp["available_bytes"]) == (500_000_000, 400_000_000)


def test_limits_that_could_not_be_tried_are_said(samples: CostSamples) -> None:
    assert onnx_limits("killed by SIGILL") == {"failed": "killed by SIGILL"}
    with pytest.raises(ProfileError, match="killed by SIGILL"):
        own_profile(samples)


def test_own_profile_has_what_cold_adds(root: Path) -> None:
    """Units take 10 µs more, but for one of four, which takes 40 µs more."""
    added = np.array([10e-6, 10e-6, 40e-6, 10e-6])
    hot = np.random.default_rng(0).uniform(20e-6, 60e-6, (4, 6, 1)).repeat(3, axis=2)
    cold = (hot[:, :4, :1] + added[:, None, None]).copy()
    model = hot[0]
    sizes = np.arange(1.0, 7.0)
    items: dict[Regime, ItemSamples] = {
        "hot": ItemSamples(sizes, hot, {"a model": model}),
        "cold": ItemSamples(sizes[:4], cold, {"a model": model[:4, :1] + 10e-6}, 0.02),
    }
    stamp = machine_facts(Board(root)) | {"onnx": {"ir_version": 10, "opset": 21, "ml_opset": 4}}
    empty = np.zeros((0, 0, 0))
    kernels = dict.fromkeys(KERNELS, np.full(16, 1e-5))
    units = ("a", "b", "c", "d")
    measured = CostSamples(units, np.zeros(0), empty, np.zeros((0, 0), dtype=np.int64), empty, kernels, stamp)

    profile = own_profile(replace(measured, items=items))
    assert profile.cold_seconds is not None
    assert profile.cold_seconds.value == pytest.approx(10e-6)
    assert 1.1 < profile.cold_seconds.uncertainty < 4.0
    assert "5 units and models, 20 ms asleep" in profile.cold_seconds.source
    assert own_profile(measured).cold_seconds is None
    dump(profile, root / "own.toml")
    assert DeviceProfile.load(root / "own.toml") == profile


@pytest.fixture
def samples(root: Path) -> CostSamples:
    empty = np.zeros((0, 0, 0))
    stamp = machine_facts(Board(root)) | {"onnx": onnx_limits("killed by SIGILL")}
    return CostSamples((), np.zeros(0), empty, np.zeros((0, 0), dtype=np.int64), empty, {}, stamp)


def test_bar_is_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with ProgressBar("costs measured") as bar:
        bar.update(0.5)
    assert capsys.readouterr().err == ""

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with ProgressBar("costs measured") as bar:
        bar.update(0.5)
    assert "50 %" in capsys.readouterr().err
