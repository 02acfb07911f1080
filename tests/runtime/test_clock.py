"""The clock that deadlines are kept by."""

import time

from polydom_runtime.clock import hardware_clock


def test_nobody_can_set_the_clock_of_deadlines() -> None:
    clocks = {
        time.perf_counter_ns: time.get_clock_info("perf_counter"),
        time.monotonic_ns: time.get_clock_info("monotonic"),
        time.time_ns: time.get_clock_info("time"),
    }
    info = clocks[hardware_clock]

    assert (info.monotonic, info.adjustable) == (True, False)
