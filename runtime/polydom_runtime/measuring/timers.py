"""What a measurement reads and waits with; tests give it others, which only they move."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from polydom_runtime.clock import Clock, hardware_clock


class Switches(NamedTuple):
    """How often a thread gave the processor away, and how often it lost it, since the thread began."""

    voluntary: int
    involuntary: int


def thread_switches() -> Switches:
    """Return the switches of this thread."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return Switches(usage.ru_nvcsw, usage.ru_nivcsw)


def _no_switches() -> Switches:
    return Switches(0, 0)


def _do_not_sleep(seconds: float) -> None:
    """Return at once: a clock that only tests move does not move while nobody moves it."""


@dataclass(frozen=True, slots=True)
class Timers:
    """The wall clock, the processor clock of the thread, its switches, and a way to sleep."""

    clock: Clock = hardware_clock
    thread: Clock = time.thread_time_ns
    """Moves only while this thread has a processor. Where it is the same as `clock`, there are no pauses."""
    switches: Callable[[], Switches] = thread_switches
    """Returns the `Switches` of this thread so far."""
    sleep: Callable[[float], None] = time.sleep
    """Takes seconds."""

    @classmethod
    def of(cls, clock: Clock) -> "Timers":
        """Return those of this machine for its own clock; for any other clock, timers without pauses and sleeps."""
        return cls() if clock is hardware_clock else cls(clock, clock, _no_switches, _do_not_sleep)
