"""How late the system wakes a loop that sleeps, and whether it may run before everything else."""

import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread

from polydom_runtime.clock import Clock, hardware_clock


@dataclass(frozen=True, slots=True)
class Jitter:
    """Lateness of a periodic loop.

    Parameters
    ----------
    periods, period_ns : int
        How many there were, and how long each was.
    p50_ns, p99_ns, max_ns : int
    """

    periods: int
    period_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int


def wake_up_jitter(
    periods: int = 200,
    period_ns: int = 2_000_000,
    clock: Clock = hardware_clock,
    sleep: Callable[[float], None] = time.sleep,
) -> Jitter:
    """Sleep to the start of each period, and return how late it was when the loop went on."""
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
    """What the system lets this process do against jitter.

    Parameters
    ----------
    realtime : bool
        Run with a real-time policy.
    lockable_bytes : int or None
        Lock so much memory; None if it may lock all.
    """

    realtime: bool
    lockable_bytes: int | None


def permissions() -> Permissions:
    """Return what this process may do; it stays as it is."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Permissions(_may_run_realtime(), None if limit == resource.RLIM_INFINITY else limit)


def _may_run_realtime() -> bool:
    granted = []

    def attempt() -> None:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            granted.append(True)

    thread = Thread(target=attempt)  # on Linux the policy is the thread's own, and ends with it
    thread.start()
    thread.join()
    return bool(granted)
