"""The timer by which deadlines are kept; an interface, so that tests can use a clock that they control."""

import time
from typing import Protocol


class Clock(Protocol):
    """Anything that, when called, returns monotonic time in integer nanoseconds."""

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        ...


hardware_clock: Clock = time.perf_counter_ns
"""The monotonic hardware clock (CLOCK_MONOTONIC on Linux), read without a system call."""
