"""The timer that deadlines are kept by, behind a seam so that tests can turn its hands."""

import time
from typing import Protocol


class Clock(Protocol):
    """Anything that, when called, returns monotonic time in integer nanoseconds."""

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        ...


hardware_clock: Clock = time.perf_counter_ns
"""The monotonic hardware counter (CLOCK_MONOTONIC on Linux), read without a system call."""
