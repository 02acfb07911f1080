"""A stopwatch that tells work from pauses, by the wall clock and the processor clock of the thread.

While another program has the processor, only the wall clock goes on, so the difference of the two clocks' differences
is the time that was lost. Reading the processor clock is a system call, after which the system likes to give the
processor to another program; thus most pauses fall between two timed calls, and not into one.
"""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median_low
from typing import Annotated, NamedTuple

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.codec.marks import In
from polydom_runtime.tables import percent

from .cost_samples import MAX_SECONDS, Pauses

SHORTEST_PAUSE_NS = 5_000
"""Anything shorter is the noise of two clocks that are not read at the same moment."""

CLOCK_ERROR_BITS = 10
"""The two clocks may run at different speeds, by up to 1 / 2 ** 10 (a thousandth)."""

EMPTY_CALLS, TURNS = 200, 500

BUSY_WARNINGS = "the machine was busy: ", "a quota stopped the measurement "
"""How the warnings of a busy machine begin."""

QUOTA_CURE = (
    "a quota of more processors, or none: `docker run` with a larger --cpus or without it, a larger CPUQuota= in the "
    "systemd unit or none; to keep to one processor, --cpuset-cpus=3 or AllowedCPUs=3"
)


class Switches(NamedTuple):
    """How often a thread gave the processor away, and how often it lost it, since the thread began."""

    voluntary: int
    involuntary: int


def thread_switches() -> Switches:
    """Return the switches of this thread."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return Switches(usage.ru_nvcsw, usage.ru_nivcsw)


@dataclass(frozen=True, slots=True)
class Timers:
    """The wall clock, the processor clock of the thread, its switches, and a way to sleep."""

    clock: Clock = hardware_clock
    thread: Clock = time.thread_time_ns
    """Moves only while this thread has a processor. Where it is the same as `clock`, there are no pauses."""
    switches: Callable[[], Switches] = thread_switches
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, clock: Clock) -> "Timers":
        """Return timers of this machine for its own clock; for any other clock, timers without pauses and sleeps."""
        # A clock that only tests move does not move in a sleep.
        return cls() if clock is hardware_clock else cls(clock, clock, lambda: Switches(0, 0), lambda seconds: None)


@dataclass(frozen=True, slots=True)
class Disturbances:
    """What disturbed a part of a measurement."""

    pauses: Pauses = field(default_factory=Pauses)
    switches: Annotated[int, In(0, 1 << 62)] = 0
    """How often the system took the processor away from the thread."""
    stolen: Annotated[float, In(0.0, MAX_SECONDS)] = 0.0
    """Seconds that a hypervisor took, summed over all processors of the machine (steal)."""
    throttled: Annotated[int, In(0, 1 << 62)] = 0
    """The number of periods in which a quota of processor time was used up (see `ControlGroups`)."""

    def plus(self, more: "Disturbances") -> "Disturbances":
        """Return these and others together."""
        return Disturbances(
            self.pauses.plus(more.pauses),
            self.switches + more.switches,
            self.stolen + more.stolen,
            self.throttled + more.throttled,
        )

    @property
    def warning(self) -> str | None:
        """The warning that a quota was used up, or else that the machine was busy; None if neither is so."""
        got = f"the measurement got {percent(self.pauses.processor_share)} of a processor"
        if self.throttled:
            of_it = f": {got}" if self.pauses.watched else ""
            return f"{BUSY_WARNINGS[1]}in {self.throttled} periods{of_it}; cure: {QUOTA_CURE}"
        if not self.pauses.is_busy:
            return None
        return f"{BUSY_WARNINGS[0]}{got}, so times, and promises that rest on them, are those of a busy machine"


class Stopwatch:
    """Times calls, one after another, and collects the pauses in and between them.

    A call shorter than `tick_ns`, at least 1, counts as this long: one that begins and ends within the same tick, or
    one with a pause whose end was read quicker than usual.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers, self._clock, self._thread = timers, timers.clock, timers.thread
        self.tick_ns = 1
        self._switches = self._since = timers.switches()
        self._wall = self._processor = self._watched = self._timed = 0
        self._pauses: list[int] = []
        self._in_calls: list[int] = []
        self._reading_ns = median_low(self._empty_call() for _ in range(EMPTY_CALLS))
        self.begin()

    def begin(self) -> None:
        """Watch from now on: what happened since the last call was timed, such as a sleep, is no pause."""
        self._switches = self._timers.switches()
        self._wall, self._processor = self._clock(), self._thread()

    def time(self, job: Callable[[], object]) -> int:
        """Call `job` and return the nanoseconds of its work: those of the wall clock without pauses."""
        clock, thread = self._clock, self._thread
        processor = thread()
        wall = clock()
        job()
        wall_after = clock()
        processor_after = thread()
        spent = wall_after - wall
        passed = wall_after - self._wall
        lost = passed - (processor_after - self._processor)
        self._wall, self._processor = wall_after, processor_after
        if _is_pause(lost, passed) and not self._waited():
            self._pauses.append(lost)
            passed -= lost
            worked = processor_after - processor - self._reading_ns
            if _is_pause(spent - worked, spent):
                self._in_calls.append(spent - worked)
                spent = worked
        self._watched += passed
        self._timed += max(spent, 0)
        return max(spent, self.tick_ns)

    def taken(self) -> Disturbances:
        """Return the pauses and the involuntary switches since the last time, and forget them."""
        before, self._since = self._since, self._timers.switches()
        lengths, in_calls = ([ns * 1e-9 for ns in those] for those in (self._pauses, self._in_calls))
        pauses = Pauses.of(self._watched * 1e-9, lengths, self._timed * 1e-9, in_calls)
        self._watched, self._timed, self._pauses, self._in_calls = 0, 0, [], []
        return Disturbances(pauses, self._since.involuntary - before.involuntary)

    def _waited(self) -> bool:
        """Tell whether the thread itself gave the processor away since the last reading, to wait for something."""
        before, self._switches = self._switches, self._timers.switches()
        return self._switches.voluntary > before.voluntary

    def _empty_call(self) -> int:
        """Return the excess of the processor time of a timed call over its time by the wall clock."""
        clock, thread = self._clock, self._thread
        processor = thread()
        wall = clock()
        spent = clock() - wall
        return thread() - processor - spent


def pauses_now(timers: Timers, seconds: float = 0.25) -> Pauses:
    """Keep a processor busy for some seconds, by the wall clock, and return the pauses meanwhile."""
    stopwatch, end = Stopwatch(timers), timers.clock() + int(seconds * 1e9)
    while timers.clock() < end:
        stopwatch.time(_work)
    return stopwatch.taken().pauses


def _work() -> None:
    """Do some work, for about ten microseconds."""
    for _ in range(TURNS):
        pass


def _is_pause(lost: int, passed: int) -> bool:
    return lost > SHORTEST_PAUSE_NS + (passed >> CLOCK_ERROR_BITS)
