"""How late the loop is woken, beside a bare loop around clock_nanosleep: both in turn, on the same grid."""

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from polydom_runtime.loop.monitor import Monitor
from polydom_runtime.loop.wakeups import Sleeper, precise_timers
from polydom_runtime.prediction import Prediction

from .ratios import note

PERIOD_NS = 2_000_000
PERIODS, ROUNDS = 250, 8
QUANTILES = [0.5, 0.99, 1.0]
CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1
CALM = Prediction("calm", (), 1.0, 0, True, "planned")


def ignore(*_: object) -> None:
    """Do nothing."""


class Time(ctypes.Structure):
    """The C library's ``struct timespec``."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def bare(periods: int) -> list[int]:
    """Return the lateness in nanoseconds of a loop that does nothing but sleep to absolute times and note the time."""
    sleep, clock = ctypes.CDLL(None).clock_nanosleep, time.monotonic_ns
    late, start = [], clock()
    for k in range(periods):
        target = start + (k + 1) * PERIOD_NS
        sleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(Time(*divmod(target, 1_000_000_000))), None)
        late.append(clock() - target)
    return late


def bare_precise(periods: int) -> list[int]:
    """Return the same with the thread's timer slack at 1 ns, as the loop has it."""
    with precise_timers():
        return bare(periods)


class Instant:
    """A predictor that answers at once, and notes when it was asked."""

    deadline = 1e-3

    def __init__(self) -> None:
        self.asked: list[int] = []

    def warm_up(self, item: Any) -> None:
        """Do nothing."""

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        """Note the time."""
        self.asked.append(time.perf_counter_ns())
        return CALM


def monitor(periods: int, sleeper: Sleeper) -> list[int]:
    """Return by how much the predictor was asked later than the period began: all that the loop does is in it."""
    predictor = Instant()
    source = itertools.repeat(0, periods + 1)
    # Catching up, as the bare loop does, so that item k is that of period k.
    loop = Monitor(source, predictor, PERIOD_NS * 1e-9, ignore, ignore, "catch up", sleeper=sleeper)
    loop.run()
    start = loop.schedule.start_ns
    return [asked - start - k * PERIOD_NS for k, asked in enumerate(predictor.asked)][1:]


def row(name: str, found: Sequence[float], base: Sequence[float]) -> None:
    """Print median, p99 and maximum, and their ratios to the bare loop's."""
    columns = list(zip(("p50", "p99", "max"), found, base, strict=True))
    for quantile, ns, other in columns:
        note(f"{name}: lateness {quantile}, against a bare loop with slack 1 ns", ns / other)
    print(f"{name:<38}" + "".join(f"  {q} {ns / 1e3:8.1f} µs = {ns / other:5.2f}" for q, ns, other in columns))


def main() -> None:
    """Print the lateness of each and its ratio to the bare loop with the same timer slack."""
    sleeps, spins = Sleeper(), Sleeper(spin=200e-6)
    loops: dict[str, Callable[[int], list[int]]] = {
        "bare clock_nanosleep, usual slack": bare,
        "bare clock_nanosleep, slack 1 ns": bare_precise,
        "Monitor, predictor asked": partial(monitor, sleeper=sleeps),
        "Monitor, asked, the last 200 µs spun": partial(monitor, sleeper=spins),
    }
    late: dict[str, list[int]] = {name: [] for name in loops}
    for _ in range(ROUNDS):
        for name, loop in loops.items():
            late[name] += loop(PERIODS)
    base = np.quantile(late["bare clock_nanosleep, slack 1 ns"], QUANTILES).tolist()
    print(f"late by, in {ROUNDS * PERIODS} periods of {PERIOD_NS / 1e6:g} ms each = ratio to slack 1 ns, bare")
    for name, values in late.items():
        row(name, np.quantile(values, QUANTILES).tolist(), base)
    for name, sleeper in (("Monitor, woken", sleeps), ("Monitor, woken, spun", spins)):
        woken = sleeper.lateness()
        row(name, (woken.p50_ns, woken.p99_ns, woken.max_ns), base)
