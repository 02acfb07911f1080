"""When a loop wakes up, how late that was, and what is done before it sleeps."""

import ctypes
import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.exceptions import LoopError
from polydom_runtime.pauses import collector_off
from polydom_runtime.records.histogram import Histogram

NAP_NS = 100_000_000
"""A longer sleep is cut into naps, so that a request to stop is heeded and a watchdog kept alive meanwhile."""

PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30

WORTH_COLLECTING = 50
"""Objects made since the last collection and still there; a loop that leaves none behind is never collected."""

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
        """Return the period that began last."""
        return (now_ns - self.start_ns) // self.period_ns

    def following(self, k: int, now_ns: int, overrun: Overrun) -> int:
        """Return the period to go on with when the work of period k has ended."""
        if overrun == "catch up" or now_ns <= self.start_of(k + 1):
            return k + 1
        begun = self.period_at(now_ns)
        return begun if overrun == "latest" or now_ns == self.start_of(begun) else begun + 1


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late a loop was woken, to within 2 %; NaN if it never slept.

    Parameters
    ----------
    wake_ups : int
    p50_ns, p99_ns : float
    max_ns : int
    """

    wake_ups: int
    p50_ns: float
    p99_ns: float
    max_ns: int


class Sleeper:
    """Sleeps until absolute times, so that lateness never adds up.

    Parameters
    ----------
    clock : Clock
        The timer that the times are of.
    sleep : callable
        Sleeps for so many seconds; it may return early.
    spin : float
        Seconds before the time at which to stop sleeping and watch the clock. This takes the processor, and is punctual
        to a microsecond where the system leaves the processor to this thread.

    Raises
    ------
    LoopError
        If `spin` is negative or not finite.

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
    ) -> None:
        if not 0.0 <= spin < math.inf:
            raise LoopError(f"The spin must be a number of seconds of at least 0. Got {spin!r}.")
        self._clock = clock
        self._sleep = sleep
        self._spin_ns = round(spin * 1e9)
        self._late = Histogram()

    def until(self, target_ns: int, go_on: Callable[[], bool] = lambda: True, *, nap_ns: int = NAP_NS) -> bool:
        """Sleep until the clock shows `target_ns`, which should lie ahead: lateness is counted.

        Parameters
        ----------
        target_ns : int
        go_on : callable
            Asked after each nap but the last.
        nap_ns : int
            The longest nap.

        Returns
        -------
        bool
            False if `go_on` said no; then there may be time left.
        """
        clock = self._clock
        wake_ns = target_ns - self._spin_ns
        while (left := wake_ns - clock()) > 0:
            self._sleep(min(left, nap_ns) * 1e-9)
            if left > nap_ns and not go_on():
                return False
        while (now := clock()) < target_ns:
            pass
        self._late.add(now - target_ns)
        return True

    def lateness(self) -> Lateness:
        """Return how late all wake-ups so far were."""
        p50, p99 = self._late.quantiles([0.5, 0.99])
        return Lateness(self._late.count, p50, p99, self._late.longest_ns)


def set_timer_slack(slack_ns: int) -> int | None:
    """Set how much later than asked the system may wake this thread, to save power. Needs no privilege.

    Linux adds up to 50 µs by default; a thread under a real-time policy has none.

    Returns
    -------
    int or None
        What it was, in nanoseconds; None if this system has no such setting.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    before: int = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    return before if before >= 0 and prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0) == 0 else None


@contextmanager
def precise_timers() -> Iterator[None]:
    """Let this thread be woken to the nanosecond asked for, as far as the system can: about half as late as usual."""
    before = set_timer_slack(1)
    try:
        yield
    finally:
        if before:
            set_timer_slack(before)


class SlackCollector:
    """Keeps the garbage collector out, but of time that is left over and twice as long as any collection took so far.

    Parameters
    ----------
    collect : callable
    pending : callable
        Returns how many new objects there are.
    clock : Clock
        Measures a collection: by default in time of the processor, since the loop's own clock would also count what
        the system does meanwhile, and one such pause would put off all collections to come.

    Attributes
    ----------
    collections : int
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
        """Collect if there is enough to collect, and time enough."""
        if slack_ns <= 2 * self._longest_ns or self._pending() < WORTH_COLLECTING:
            return
        began = self._clock()
        self._collect()
        self._longest_ns = max(self._longest_ns, self._clock() - began)
        self.collections += 1
