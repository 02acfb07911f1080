"""What makes a loop punctual is applied where the system allows it, and said where it does not."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from polydom_runtime.loop.realtime import LinuxCalls, apply
from polydom_runtime.loop.wakeups import PR_GET_TIMERSLACK, Sleeper, precise_timers, set_timer_slack
from polydom_runtime.testing import ManualClock

ROOT = Path(__file__).parents[3]


class Fake(LinuxCalls):
    """A system that allows everything, or answers everything with one error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, int | None]] = []
        self._error = error

    def _do(self, what: str, value: int | None = None) -> str:
        self.asked.append((what, value))
        if self._error:
            raise self._error
        return what

    def pin(self, cpu: int) -> str:
        return self._do("pin", cpu)

    def run_first(self, priority: int) -> str:
        return self._do("first", priority)

    def lock_memory(self) -> str:
        return self._do("lock")

    def tighten_timer(self) -> str:
        return self._do("timer")


def test_only_what_is_asked_for_is_applied() -> None:
    everything, nothing = Fake(), Fake()
    found = apply(cpu=3, priority=50, lock_memory=True, system=everything)
    apply(system=nothing)

    assert everything.asked == [("timer", None), ("pin", 3), ("lock", None), ("first", 50)]
    assert [f.level for f in found] == ["ok"] * 4
    assert nothing.asked == [("timer", None)]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(1, "Operation not permitted"), "Operation not permitted"),
        (AttributeError("module 'os' has no attribute 'sched_setaffinity'"), f"no such thing on {sys.platform}"),
        (ImportError("No module named 'resource'"), f"no such thing on {sys.platform}"),
    ],
)
def test_what_the_system_refuses_is_said_with_the_cure(error: Exception, said: str) -> None:
    found = apply(cpu=3, priority=50, lock_memory=True, system=Fake(error))

    assert [f.check for f in found] == ["timer slack", "processor", "memory", "priority"]
    assert all(f.level == "warning" and said in f.found and f.why and f.fix for f in found)


STATE = """
import ctypes, json, os, re, resource, sys
import numpy as np
from polydom_runtime.loop import realtime
{before}
cpu = sorted(os.sched_getaffinity(0))[-1]
found = realtime.apply(cpu=cpu, priority=3, lock_memory=True)
locked = int(re.search(r"VmLck:\\s*(\\d+)", open("/proc/self/status").read())[1])
np.ones(2_000_000)
print(json.dumps({{
    "levels": {{f.check: f.level for f in found}},
    "timer slack": ctypes.CDLL(None).prctl(30, 0, 0, 0, 0) <= 1,
    "processor": os.sched_getaffinity(0) == {{cpu}},
    "memory": locked > 0,
    "priority": (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == (os.SCHED_FIFO, 3),
}}))
"""

UNPRIVILEGED = """
for limit in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_RTPRIO):
    resource.setrlimit(limit, (0, 0))
users = [int(line.split()[2]) for line in open("/proc/self/uid_map")]
if os.getuid() == 0 and sum(users) > 65534:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""
"""The root of a user namespace that has no other user cannot become one, and may do nothing outside of it anyway."""


@pytest.mark.parametrize("before", ["", UNPRIVILEGED])
def test_what_is_said_is_what_is_so(before: str) -> None:
    """With the privileges of the tests, and without any: then memory allocated later is still to be had."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))}
    script = STATE.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    state = json.loads(done.stdout)

    levels = state.pop("levels")
    assert {check: level == "ok" for check, level in levels.items()} == state
    if before:
        assert (levels["memory"], levels["priority"]) == ("warning", "warning")


def test_a_processor_that_does_not_exist_is_said() -> None:
    [_, processor] = apply(cpu=100_000)

    assert processor.level == "warning"
    assert "lscpu" in processor.fix


def test_timers_are_precise_inside_and_as_before_outside() -> None:
    prctl = ctypes.CDLL(None).prctl
    before = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    with precise_timers():
        inside = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)

    assert inside <= 1
    assert prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == before
    assert set_timer_slack(before) == before
    assert LinuxCalls().tighten_timer() == "1 ns"
    set_timer_slack(before)


def test_a_sleeper_goes_on_sleeping_when_it_is_woken_early() -> None:
    clock = ManualClock()
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        clock.advance(seconds=max(seconds / 2.0, 1e-9))

    assert Sleeper(clock, sleep).until(1000)
    assert clock() == 1000
    assert len(naps) > 5


def test_a_sleeper_that_spins_watches_the_clock_for_the_last_bit() -> None:
    clock = ManualClock(step_ns=1)
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        clock.advance(seconds=seconds + 300e-9)

    sleeper = Sleeper(clock, sleep, spin=500e-9)
    sleeper.until(10_000)

    assert naps == [pytest.approx(9.5e-6, rel=0.01)]
    assert sleeper.lateness().max_ns <= 1


def test_a_long_sleep_is_cut_into_naps_after_which_it_may_be_given_up() -> None:
    clock = ManualClock()
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        clock.advance(seconds=seconds)

    sleeper = Sleeper(clock, sleep)
    assert not sleeper.until(10**9, lambda: len(naps) < 4, nap_ns=10_000_000)
    assert naps == [0.01] * 4
    assert sleeper.until(clock() + 25, nap_ns=10)
    assert (clock(), sleeper.lateness().wake_ups) == (40_000_025, 1)


@pytest.mark.parametrize("spin", [-1.0, float("inf"), float("nan")])
def test_an_impossible_spin_is_refused(spin: float) -> None:
    with pytest.raises(ValueError, match="spin"):
        Sleeper(spin=spin)
