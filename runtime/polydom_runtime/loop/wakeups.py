"""The schedule of a loop, its punctual sleep, and the collection of garbage in its slack."""

import ctypes
import gc
import math
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

from polydom_runtime.clock import Clock, collector_off, hardware_clock
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import DeadlineError, LoopError
from polydom_runtime.histogram import Histogram

NAP_NS = 100_000_000
"""A longer sleep is split, so that the loop can be stopped and keeps watchdogs alive meanwhile."""

PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30

WORTH_COLLECTING = 50
"""New objects that make a collection worth its time. A loop that keeps none never collects."""

Overrun = Literal["skip", "catch up", "latest"]
OVERRUNS: tuple[Overrun, ...] = get_args(Overrun)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Period k begins at ``start_ns + k * period_ns``, whatever happened before.

    Examples
    --------
    >>> schedule = Schedule(start_ns=100, period_ns=10)
    >>> schedule.start_of(3), schedule.period_at(139)
    (130, 3)

    The work of period 3 ended after the periods 4 and 5 had begun:

    >>> [schedule.following(3, 152, overrun) for overrun in ("skip", "catch up", "latest")]
    [6, 4, 5]
    """

    start_ns: int
    period_ns: int

    def start_of(self, k: int) -> int:
        """Return when period k begins."""
        return self.start_ns + k * self.period_ns

    def period_at(self, now_ns: int) -> int:
        """Return the period that began last before this time, or at it."""
        return (now_ns - self.start_ns) // self.period_ns

    def following(self, k: int, now_ns: int, overrun: Overrun) -> int:
        """Return the period to go on with when the work of period k has ended."""
        if overrun == "catch up" or now_ns <= self.start_of(k + 1):
            return k + 1
        begun = self.period_at(now_ns)
        return begun if overrun == "latest" or now_ns == self.start_of(begun) else begun + 1


def check_period(period: float, deadline: float) -> None:
    """Check that a period can be kept, and that the deadline fits into it; both in seconds."""
    if not 1e-9 <= period < math.inf:
        raise LoopError(f"The period must be a positive number of seconds. Got {period!r}.")
    if deadline > period:
        raise DeadlineError(
            f"The deadline must not be longer than the period of {format_seconds(period)}. "
            f"Got {format_seconds(deadline)}. Give a shorter deadline or a longer period."
        )


OWN_USAGE = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
"""Only Linux and FreeBSD count for each thread; elsewhere, other threads of the process count, too."""


def own_preemptions() -> int:
    """Return how often the system has taken the processor from this thread, to give it to others."""
    return resource.getrusage(OWN_USAGE).ru_nivcsw


def own_waits() -> int:
    """Return how often this thread has given up the processor by itself, to wait for something."""
    return resource.getrusage(OWN_USAGE).ru_nvcsw


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late a loop was woken."""

    wake_ups: int
    p50_ns: float
    p99_ns: float
    """`p50_ns`, `p99_ns`: median and 99 % quantile, to within 2 %; NaN if the loop never slept."""
    max_ns: int


class Sleeper:
    """Sleeps until absolute times, so that neither lateness nor the loop's own work accumulates.

    Parameters
    ----------
    clock : Clock
        The timer of these times.
    sleep : callable
        Called with a number of seconds to sleep; it may return early.
    spin : float
        Seconds before the target at which to stop sleeping, and read the clock in a loop instead. This keeps the
        processor busy, and is exact to a microsecond unless another thread takes the processor.
    waits, preemptions : callable
        Return how often this thread has waited for something so far, and how often the processor was taken from it. The
        first tells a source that waits for its item from one that works on it.

    Examples
    --------
    >>> from polydom_runtime.testing import ManualClock
    >>> clock = ManualClock()
    >>> sleeper = Sleeper(clock, lambda seconds: clock.advance(seconds=seconds + 5e-6))
    >>> sleeper.until(20_000_000), clock()
    (True, 20005000)
    >>> sleeper.lateness().max_ns
    5000
    """

    def __init__(
        self,
        clock: Clock = hardware_clock,
        sleep: Callable[[float], object] = time.sleep,
        *,
        spin: float = 0.0,
        waits: Callable[[], int] = own_waits,
        preemptions: Callable[[], int] = own_preemptions,
    ) -> None:
        self.waits, self.preemptions = waits, preemptions
        if not 0.0 <= spin < math.inf:
            raise LoopError(f"The spin must be a number of seconds of at least 0. Got {spin!r}.")
        self._clock = clock
        self._sleep = sleep
        self._spin_ns = round(spin * 1e9)
        self._late = Histogram()

    def until(
        self,
        target_ns: int,
        go_on: Callable[[], bool] = lambda: True,
        *,
        nap_ns: int = NAP_NS,
        early_ns: int = 0,
        meanwhile: Callable[[int, int], object] | None = None,
    ) -> bool:
        """Sleep until the clock shows `target_ns`, which should lie in the future, and record how late that was.

        After each nap of at most `nap_ns` except the last, `go_on` is called; if it returns False, the sleep ends, and
        this returns False. `early_ns` before the target the sleep ends, too, as with `spin`. Then `meanwhile` is called
        with the time at which it should have ended, and the target; the rest of the time is spent reading the clock.
        """
        clock = self._clock
        wake_ns = target_ns - max(self._spin_ns, early_ns)
        while (left := wake_ns - clock()) > 0:
            self._sleep(min(left, nap_ns) * 1e-9)
            if left > nap_ns and not go_on():
                return False
        if meanwhile is not None:
            meanwhile(wake_ns, target_ns)
        while (now := clock()) < target_ns:
            pass
        self._late.add(now - target_ns)
        return True

    def lateness(self) -> Lateness:
        """Return the lateness of all wake-ups so far."""
        p50, p99 = self._late.quantiles([0.5, 0.99])
        return Lateness(self._late.count, p50, p99, self._late.longest_ns)


def set_timer_slack(slack_ns: int) -> int | None:
    """Set the delay that Linux may add to each wake-up of this thread, to save power; by default 50 µs.

    It needs no privilege. Return the former one in nanoseconds; None if this system has no such setting.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    before: int = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    return before if before >= 0 and prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0) == 0 else None


@contextmanager
def precise_timers() -> Iterator[None]:
    """Set the timer slack to 1 ns within a ``with`` block: wake-ups are about half as late as by default."""
    before = set_timer_slack(1)
    try:
        yield
    finally:
        if before:
            set_timer_slack(before)


class SlackCollector:
    """Collects garbage only in slack that is more than twice as long as the longest collection so far.

    One at a time of Python's choosing could delay an answer by 100 ms. The next may take longer than all before.

    Parameters
    ----------
    collect : callable
        Runs a collection.
    pending : callable
        Returns the number of new objects.
    clock : Clock
        Measures a collection; by default the processor time of this thread. The clock of the loop would also count
        the time of other threads, and a single long pause would then prevent all later collections.
    off : callable
        Returns a context manager within which Python itself collects nothing.
    """

    def __init__(
        self,
        collect: Callable[[], object] = gc.collect,
        pending: Callable[[], int] = lambda: gc.get_count()[0],
        clock: Clock = time.thread_time_ns,
        off: Callable[[], AbstractContextManager[None]] = collector_off,
    ) -> None:
        self.collections = 0
        self.off = off
        self._collect = collect
        self._pending = pending
        self._clock = clock
        self._longest_ns = 0

    def use(self, slack_ns: int) -> None:
        """Collect if there are enough new objects, and the slack of `slack_ns` nanoseconds is long enough."""
        if slack_ns <= 2 * self._longest_ns or self._pending() < WORTH_COLLECTING:
            return
        began = self._clock()
        self._collect()
        self._longest_ns = max(self._longest_ns, self._clock() - began)
        self.collections += 1
