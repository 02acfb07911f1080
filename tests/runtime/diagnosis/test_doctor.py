"""The doctor: every planted fault is found by name, and a healthy board has none."""

import hashlib
import os
import tomllib
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.bundles.bundle_times import CostOrigin
from polydom_runtime.bundles.references import References, stored
from polydom_runtime.device.board import Board
from polydom_runtime.device.jitter import (
    Jitter,
    Permissions,
    permissions,
    reading_ns,
    step_back_ns,
    timer_tick_ns,
    wake_up_jitter,
)
from polydom_runtime.device.probe import Probe
from polydom_runtime.diagnosis.doctor import examine
from polydom_runtime.diagnosis.software_findings import REQUIRED, check_features, check_software
from polydom_runtime.features import FeatureSpace
from polydom_runtime.findings import Finding, as_text, exit_code
from polydom_runtime.measuring.cost_samples import Pauses
from polydom_runtime.testing import ManualClock
from tests.runtime.conftest import make_bundle, write
from tests.runtime.node_space import space

PROBE = Probe(bits=64, numpy="2.4.6", onnxruntime="1.28.0", threads=1, ir_version=13, opset=26, ml_opset=5)
STEADY = Jitter(periods=200, period_ns=2_000_000, p50_ns=80_000, p99_ns=400_000, max_ns=2_000_000)
ALLOWED = Permissions(realtime=True, lockable_bytes=None)

GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
THROTTLED = "sys/devices/platform/soc/soc:firmware/get_throttled"
TEMPERATURE = "sys/class/thermal/thermal_zone0/temp"
GROUP = "sys/fs/cgroup/node"
HEALTHY = {
    "proc/self/cgroup": "0::/node\n",
    f"{GROUP}/memory.current": "10000000\n",
    "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0",
    "proc/cpuinfo": "CPU part\t: 0xd08\n",
    "proc/meminfo": "MemTotal: 3885396 kB\nMemAvailable: 3400000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    "proc/version": "Linux version 6.12.25 (serge) #1 SMP PREEMPT Debian 1:6.12.25 (2025-04-30)\n",
    GOVERNOR: "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    THROTTLED: "0\n",
    TEMPERATURE: "48312\n",
}


def ticking(tick_ns: int, call_ns: int = 100) -> Callable[[], int]:
    """Return a clock that moves by `call_ns` a reading and shows whole ticks."""
    times = count(0, call_ns)
    return lambda: next(times) // tick_ns * tick_ns


def scripted(*steps_ns: int) -> Callable[[], int]:
    """Return a clock that moves by these steps over and over."""
    now, steps = 0, chain.from_iterable(repeat(steps_ns))

    def read() -> int:
        nonlocal now
        now += next(steps)
        return now

    return read


ITEM = np.arange(4.0)
REFERENCES = References(
    (stored(ITEM),),  # type: ignore[arg-type]
    (tuple(space.extract_all(ITEM).tolist()),),
    (1e-6,) * sum(feature.width for feature in space.features),
)


class Machine:
    """A healthy board whose parts a test spoils."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in HEALTHY.items():
            self.put(path, text)

    def put(self, path: str, text: str | None) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).unlink(missing_ok=True)
        if text is not None:
            (self.root / path).write_text(text)

    def examine(self, **parts: Any) -> list[Finding]:
        healthy: dict[str, Any] = {
            "found": PROBE,
            "environment": {},
            "clock": ticking(50),
            "jitter": STEADY,
            "allowed": ALLOWED,
            "pauses": Pauses.of(0.25, [1e-3]),
        }
        return examine(Board(self.root), **healthy | parts)

    def faults(self, **parts: Any) -> dict[str, Finding]:
        return {f.check: f for f in self.examine(**parts) if f.level != "ok"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "root")


def test_a_healthy_board_has_no_fault(machine: Machine, bundle_folder: Path) -> None:
    findings = machine.examine(bundle=bundle_folder)

    assert {f.check for f in findings if f.level != "ok"} == set()
    assert [f.fix for f in findings if f.fix] == []
    assert exit_code(findings) == 0
    assert len({f.check for f in findings}) == len(findings) == 18


ILL = "a child process that imports it was killed by SIGILL"
PARTS = [
    ({"found": replace(PROBE, onnxruntime="1.32.0")}, "onnxruntime", "problem", "1.32.0"),
    ({"found": replace(PROBE, onnxruntime="1.19.0")}, "onnxruntime", "problem", "1.19.0"),
    ({"found": replace(PROBE, numpy="1.23.5")}, "numpy", "problem", "1.23.5"),
    ({"found": ILL}, "onnxruntime", "problem", "SIGILL"),
    ({"found": replace(PROBE, bits=32)}, "64 bit", "warning", "32-bit"),
    ({"found": replace(PROBE, onnxruntime="")}, "onnxruntime", "warning", "not installed"),
    ({"found": replace(PROBE, threads=4)}, "BLAS threads", "warning", "4 in a process"),
    ({"environment": {"OPENBLAS_NUM_THREADS": "4"}}, "BLAS threads", "warning", "OPENBLAS_NUM_THREADS=4"),
    ({"environment": {"OMP_NUM_THREADS": "4,2"}}, "BLAS threads", "warning", "OMP_NUM_THREADS=4,2"),
    ({"environment": {"MKL_NUM_THREADS": "2"}, "found": PROBE}, "BLAS threads", "warning", "MKL_NUM_THREADS=2"),
    ({"clock": ticking(20_000)}, "timer", "problem", "resolution 20 µs"),
    ({"clock": ticking(4_000_000)}, "timer", "problem", "resolution 4 ms"),
    ({"clock": scripted(*[100] * 500, -70, *[100] * 200)}, "timer", "problem", "goes back by up to 70 ns"),
    ({"clock": ManualClock()}, "timer", "problem", "stands still"),
    ({"jitter": replace(STEADY, p99_ns=3_200_000)}, "wake-up jitter", "warning", "p99 3.2 ms"),
    (
        {"pauses": Pauses.of(0.1, [8e-3] * 20)},
        "other work",
        "warning",
        "20 pauses in 100 ms of work, the longest 8 ms; got 38",
    ),
    ({"allowed": Permissions(False, 8 << 20)}, "real-time permission", "warning", "refused; 8 MB"),
]
FILES = [
    (GOVERNOR, "powersave\n", "governor", "warning", "performance, powersave"),
    (
        THROTTLED,
        "50005\n",
        "throttling",
        "problem",
        "now: undervoltage, throttled; since the start: undervoltage, thro",
    ),
    (THROTTLED, "0x80000\n", "throttling", "warning", "since the start: soft temperature limit"),
    (THROTTLED, None, "throttling", "warning", "cannot be read"),
    (TEMPERATURE, "84500\n", "temperature", "warning", "84.5 °C"),
    ("proc/version", "Linux version 6.1.0 #1 SMP Debian 6.1\n", "kernel", "warning", "not preemptible"),
    (
        "proc/meminfo",
        "MemAvailable: 3400000 kB\nSwapTotal: 102396 kB\nSwapFree: 92396 kB\n",
        "swap",
        "warning",
        "105 MB, 10 MB in use",
    ),
    ("proc/meminfo", "MemAvailable: 30000 kB\nSwapTotal: 0 kB\n", "memory", "problem", "31 MB available"),
    (f"{GROUP}/cpu.max", "50000 100000\n", "processors", "warning", "a quota of 50 ms in each 100 ms"),
    (f"{GROUP}/cpu.weight", "39\n", "processors", "warning", "39 % of the usual weight"),
    (f"{GROUP}/memory.max", "40000000\n", "memory", "problem", "30 MB available below a limit of 40 MB"),
]


@pytest.mark.onnxruntime
@pytest.mark.parametrize(("parts", "check", "level", "said"), PARTS)
def test_a_fault_of_the_software_is_the_only_one_found(
    machine: Machine, parts: dict[str, Any], check: str, level: str, said: str
) -> None:
    faults = machine.faults(**parts)

    assert set(faults) == {check}
    assert faults[check].level == level
    assert said in faults[check].found
    assert faults[check].why
    assert faults[check].fix


@pytest.mark.parametrize("text", ["1000000\n", "-273000\n", "0\n"])
def test_sensor_that_is_broken_does_not_make_a_board_hot(machine: Machine, text: str) -> None:
    machine.put(TEMPERATURE, text)
    (found,) = [f.found for f in machine.examine() if f.check == "temperature"]

    assert machine.faults() == {}
    assert found == "no sensor tells a plausible one"


@pytest.mark.parametrize(("file", "text", "check", "level", "said"), FILES)
def test_a_fault_of_the_board_is_the_only_one_found(
    machine: Machine, file: str, text: str | None, check: str, level: str, said: str
) -> None:
    machine.put(file, text)
    faults = machine.faults()

    assert set(faults) == {check}
    assert faults[check].level == level
    assert said in faults[check].found
    assert faults[check].why
    assert faults[check].fix


def test_a_governor_that_cannot_be_read_is_a_warning(machine: Machine) -> None:
    for cpu in (0, 1):
        machine.put(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", None)
    faults = machine.faults()

    assert {check: f.level for check, f in faults.items()} == {"governor": "warning"}
    assert "cannot be read" in faults["governor"].found


def test_fixes_name_the_command(machine: Machine) -> None:
    machine.put(GOVERNOR, "powersave\n")
    machine.put(THROTTLED, "50005\n")
    faults = machine.faults(found=ILL, environment={"OMP_NUM_THREADS": "4"})

    assert faults["onnxruntime"].fix == "pip install --upgrade 'onnxruntime>=1.20,<1.29'"
    assert faults["BLAS threads"].fix == "export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1"
    assert faults["governor"].fix.startswith("echo performance | sudo tee ")
    assert "power supply" in faults["throttling"].fix
    assert "fan" in faults["throttling"].fix


def test_a_quota_is_the_cause_of_pauses(machine: Machine) -> None:
    """Other programs are not to blame."""
    machine.put(f"{GROUP}/cpu.max", "50000 100000\n")
    faults = machine.faults(pauses=Pauses.of(0.1, [50e-3] * 2))

    assert set(faults) == {"processors", "other work"}
    assert "stops all threads, for up to 50 ms;" in faults["processors"].why
    assert "--cpus" in faults["processors"].fix
    assert faults["other work"].fix == faults["processors"].fix


def test_a_quota_of_whole_processors_is_a_fault_if_it_was_used_up(machine: Machine) -> None:
    machine.put(f"{GROUP}/cpu.max", "200000 100000\n")
    assert machine.faults() == {}

    machine.put(f"{GROUP}/cpu.stat", "nr_periods 70\nnr_throttled 3\n")
    fault = machine.faults()["processors"]
    assert "used up 3 times so far" in fault.found
    assert "stops all threads, for a while" in fault.why


def test_a_small_weight_is_told_apart_from_a_quota_that_is_enough(machine: Machine) -> None:
    machine.put(f"{GROUP}/cpu.max", "200000 100000\n")
    machine.put(f"{GROUP}/cpu.weight", "39\n")
    fault = machine.faults()["processors"]

    assert fault.why.startswith("other programs get the processor first")
    assert "--cpu-shares" in fault.fix
    assert "--cpuset-cpus" not in fault.fix


def test_processors_of_the_process_are_named(machine: Machine) -> None:
    machine.put("proc/self/status", "Name:\tpython\nCpus_allowed_list:\t3\n")
    machine.put("sys/devices/system/cpu/online", "0-3\n")

    assert {f.check: f.found for f in machine.examine()}["processors"] == "may use 3 of 0-3"


def test_swap_that_the_process_may_not_use_is_none(machine: Machine) -> None:
    machine.put("proc/meminfo", "MemAvailable: 3400000 kB\nSwapTotal: 102396 kB\n")
    machine.put(f"{GROUP}/memory.swap.max", "0\n")

    assert machine.faults() == {}


def test_a_board_is_named_where_its_device_tree_is_hidden(machine: Machine) -> None:
    """As in a container."""
    machine.put("proc/device-tree/model", None)
    machine.put("proc/cpuinfo", "CPU part\t: 0xd08\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n")

    assert Board(machine.root).device == "Raspberry Pi 4 Model B Rev 1.4"


def test_a_kernel_with_full_preemption_is_named(machine: Machine) -> None:
    machine.put("sys/kernel/realtime", "1\n")

    assert {f.check: f.found for f in machine.examine()}["kernel"] == "PREEMPT_RT"


def test_an_old_python_is_a_problem() -> None:
    levels = {f.check: f.level for f in check_software(PROBE, python=(3, 10, 12))}

    assert levels == {"Python": "problem", "64 bit": "ok", "onnxruntime": "ok", "numpy": "ok"}


@pytest.mark.onnxruntime
def test_a_model_that_onnxruntime_cannot_open_is_named(machine: Machine, tmp_path: Path) -> None:
    bundle, models = make_bundle()
    models[1] = b"\x08\x63" + models[1][2:]  # IR version 99
    digests = [m._replace(sha256=hashlib.sha256(d).digest()) for m, d in zip(bundle.models, models, strict=True)]
    folder = write(tmp_path / "new.bundle", replace(bundle, models=tuple(digests)), models)
    faults = machine.faults(bundle=folder)

    assert {check: f.level for check, f in faults.items()} == {"bundle": "problem"}
    assert "1 of 3 models do not run; 0001.onnx: " in faults["bundle"].found
    assert "IR version 13" in faults["bundle"].fix


def test_spread_of_the_costs_is_told_with_its_cure(machine: Machine) -> None:
    note = "power takes up to 9 times as long at sizes with a large prime factor: trim the item to a fast length"
    bundle, _ = make_bundle()
    origin = CostOrigin(Board(machine.root).device, notes=(note,))
    faults = machine.faults(bundle=replace(bundle, models=(), times=bundle.times._replace(origin=origin)))

    assert note in faults["costs"].found


def test_costs_of_a_busy_machine_are_to_be_measured_again_without_other_work(machine: Machine) -> None:
    """Costs that were measured on this machine would else be as doubtful again."""
    bundle, _ = make_bundle()
    origin = CostOrigin(Board(machine.root).device, notes=("the machine was busy",))
    faults = machine.faults(bundle=replace(bundle, models=(), times=bundle.times._replace(origin=origin)))

    assert "polydom-node measure here while nothing else runs" in faults["costs"].fix


@pytest.mark.parametrize(
    ("references", "factor", "level", "text"),
    [
        (REFERENCES, 1.0, "ok", "as at the build, on 1 items"),
        (REFERENCES, 2.0, "problem", "feature 'mean' gives"),
        (References(), 1.0, "warning", "the bundle has no items"),
    ],
)
def test_features_are_compared_with_those_of_the_build(
    references: References, factor: float, level: str, text: str
) -> None:
    mean = replace(space.features[0], extract=lambda x: [factor * x.mean()])
    bundle = replace(make_bundle()[0], references=references)
    found = check_features(bundle, FeatureSpace([mean, *space.features[1:]], size=len))

    assert found.level == level
    assert text in found.found


def test_a_damaged_bundle_is_a_problem(machine: Machine, bundle_folder: Path) -> None:
    (bundle_folder / "models" / "0000.onnx").write_bytes(b"")
    faults = machine.faults(bundle=bundle_folder)

    assert {check: f.level for check, f in faults.items()} == {"bundle": "problem"}
    assert "0000.onnx" in faults["bundle"].found


@pytest.mark.onnxruntime
def test_a_bundle_needs_memory_for_its_models(machine: Machine) -> None:
    bundle, _ = make_bundle()
    large = replace(bundle, models=tuple(m._replace(size_bytes=1 << 30) for m in bundle.models))
    faults = machine.faults(bundle=large, found=ILL)

    assert {check: f.level for check, f in faults.items()} == {
        "onnxruntime": "problem",
        "bundle": "warning",
        "memory": "problem",
    }


def test_the_required_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "runtime" / "pyproject.toml").read_text())

    dependencies = {dependency.split(";")[0] for dependency in project["project"]["dependencies"]}
    assert {f"{name}{versions}" for name, versions in REQUIRED.items()} <= dependencies


@pytest.mark.parametrize(
    ("clock", "tick_ns"),
    [
        (scripted(55, 56, 74, 75, 56), 18),
        (scripted(100, 101, 103), 2),
        (scripted(50), 50),
        (ticking(1_000), 1_000),
        (ManualClock(), 0),
    ],
)
def test_the_tick_is_the_smallest_step_beyond_rounding(clock: Callable[[], int], tick_ns: int) -> None:
    assert timer_tick_ns(clock) == tick_ns


def test_a_reading_costs_what_is_usual() -> None:
    assert reading_ns(scripted(*[100] * 99, 5_000)) == 100
    assert step_back_ns(scripted(100)) == 0


def test_jitter_is_the_lateness_of_each_wake_up() -> None:
    clock = ManualClock()
    late = iter([*[50e-6] * 197, 2e-3, 3e-3, 4e-3])
    jitter = wake_up_jitter(200, 10_000_000, clock, lambda seconds: clock.advance(seconds=seconds + next(late)))

    assert jitter == Jitter(200, 10_000_000, 50_000, 3_000_000, 4_000_000)


def test_asking_for_permissions_leaves_the_process_as_it_is() -> None:
    before = os.sched_getscheduler(0)
    permissions()

    assert os.sched_getscheduler(0) == before


def test_the_report_says_the_worst_first(machine: Machine) -> None:
    machine.put(GOVERNOR, "powersave\n")
    findings = machine.examine(found=replace(PROBE, bits=32, numpy="1.23.5"))
    lines = as_text(findings).splitlines()

    assert [line.split()[0] for line in lines[:10:3]] == ["problem", "warning", "warning", "ok"]
    assert lines[-1] == "problem: 1, warning: 2, ok: 13"
    assert exit_code(findings) == 1


def test_warnings_alone_are_success(machine: Machine) -> None:
    assert exit_code(machine.examine(environment={"OMP_NUM_THREADS": "4"})) == 0


@pytest.mark.onnxruntime
def test_what_is_true_of_this_machine_is_reported(bundle_folder: Path) -> None:
    board, findings = Board(), {f.check: f for f in examine(bundle=bundle_folder)}

    assert (findings["governor"].level == "ok") == (board.governors == ("performance",))
    assert ("cannot be read" in findings["governor"].found) == (board.governors == ())
    assert (findings["swap"].level == "ok") == (board.memory_bytes("SwapTotal") == 0)
    assert (findings["throttling"].level == "problem") == board.state().is_throttled
    assert (findings["real-time permission"].level == "ok") == permissions().realtime
    assert {findings[check].level for check in ("Python", "64 bit", "onnxruntime", "numpy", "bundle")} == {"ok"}
