"""A stopwatch that tells work from pauses, by the wall clock and the processor clock of the thread.

While another program has the processor, the wall clock goes on and the processor clock of this thread stands still. So
between two readings of both clocks, the difference of the differences is the time that was lost. Reading the processor
clock is a system call, after which the system likes to give the processor to another program; thus most pauses fall
between two calls that are timed, and not into one.
"""

from collections.abc import Callable
from statistics import median_low

from .cost_samples import Pauses
from .disturbances import Disturbances
from .timers import Timers

SHORTEST_PAUSE_NS = 5_000
"""Anything shorter is the noise of two clocks that are not read at the same moment."""

CLOCK_ERROR_BITS = 10
"""The two clocks may run at different speeds, by up to 1 / 2 ** 10 (a thousandth)."""

EMPTY_CALLS, TURNS = 200, 500


class Stopwatch:
    """Times calls, one after another, and collects the pauses in and between them.

    `tick_ns`: nanoseconds of a timer tick, at least 1. A shorter call counts as this long, such as one that begins and
    ends within the same tick, or one with a pause whose end was read quicker than usual.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers, self._clock, self._thread = timers, timers.clock, timers.thread
        self.tick_ns = 1
        self._switches = self._since = timers.switches()
        self._wall = self._processor = self._watched = 0
        self._pauses: list[int] = []
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
                spent = worked
        self._watched += passed
        return max(spent, self.tick_ns)

    def taken(self) -> Disturbances:
        """Return the pauses and the involuntary switches since the last time, and forget them."""
        before, self._since = self._since, self._timers.switches()
        pauses = Pauses.of(self._watched * 1e-9, [ns * 1e-9 for ns in self._pauses])
        self._watched, self._pauses = 0, []
        return Disturbances(pauses, self._since.involuntary - before.involuntary)

    def _waited(self) -> bool:
        """Tell whether the thread itself gave the processor away since the last reading, to wait for something."""
        before, self._switches = self._switches, self._timers.switches()
        return self._switches.voluntary > before.voluntary

    def _empty_call(self) -> int:
        """Return by how much the processor time of a timed call exceeds its time by the wall clock."""
        clock, thread = self._clock, self._thread
        processor = thread()
        wall = clock()
        spent = clock() - wall
        return thread() - processor - spent


def pauses_now(timers: Timers, seconds: float = 0.25) -> Pauses:
    """Keep a processor busy and return the pauses meanwhile.

    `seconds`: how long, by the wall clock.
    """
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
