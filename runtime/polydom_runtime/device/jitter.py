"""The quality of the timer, how late a sleeping loop is woken, and whether this process may run before others."""

import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from threading import Thread

from polydom_runtime.clock import Clock, hardware_clock

READINGS = 2000
MAX_READINGS = 500_000
"""The limit of readings; a timer that moves every 4 ms is read about 40,000 times between two moves."""

MOVES = 3


@dataclass(frozen=True, slots=True)
class Jitter:
    """The lateness of a periodic loop."""

    periods: int
    period_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    """`p50_ns`, `p99_ns`, `max_ns`: median, 99 % quantile and maximum of the lateness."""


def wake_up_jitter(
    periods: int = 200,
    period_ns: int = 2_000_000,
    clock: Clock = hardware_clock,
    sleep: Callable[[float], None] = time.sleep,
) -> Jitter:
    """Measure how late a loop is woken that sleeps until the start of each period; `sleep` takes seconds."""
    late = []
    start = clock()
    for k in range(1, periods + 1):
        target = start + k * period_ns
        sleep(max(target - clock(), 0) * 1e-9)
        late.append(clock() - target)
    late.sort()
    return Jitter(periods, period_ns, late[periods // 2], late[periods * 99 // 100], late[-1])


@dataclass(frozen=True, slots=True)
class Permissions:
    """The rights of this process that help against jitter."""

    realtime: bool
    lockable_bytes: int | None
    """The bytes of memory that it may lock; None without a limit."""


def permissions() -> Permissions:
    """Return the rights of this process, without changing its state."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Permissions(_may_run_realtime(), None if limit == resource.RLIM_INFINITY else limit)


def _may_run_realtime() -> bool:
    granted = []

    def attempt() -> None:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            granted.append(True)

    thread = Thread(target=attempt)  # on Linux each thread has its own policy, which ends with it
    thread.start()
    thread.join()
    return bool(granted)


def timer_tick_ns(clock: Clock) -> int:
    """Return the resolution of the timer in nanoseconds; 0 if it stands still.

    It is the smallest difference, above rounding, between two different steps: a timer at 54 MHz moves by 55, 56, 74
    or 75 ns, so its resolution is 18 ns. If all steps are about the same, it is that step.
    """
    steps, moves = {0}, 0
    last = clock()
    for k in range(MAX_READINGS):
        now = clock()
        if now > last:
            steps.add(now - last)
            moves += 1
        last = now
        if k >= READINGS and moves >= MOVES:
            break
    gaps = [b - a for a, b in pairwise(sorted(steps))]
    return min((gap for gap in gaps if gap > 1), default=max(gaps, default=0))


def reading_ns(clock: Clock) -> int:
    """Return the cost of a reading: the median time between two readings in a row, in nanoseconds."""
    taken = []
    for _ in range(READINGS):
        start = clock()
        taken.append(clock() - start)
    return median_low(taken)


def step_back_ns(clock: Clock) -> int:
    """Return the largest step backwards among many readings, in nanoseconds; 0 if there was none."""
    readings = [clock() for _ in range(READINGS)]
    return max(0, *(a - b for a, b in pairwise(readings)))
