"""The clock that deadlines are kept by; freed memory stays in the process, and the collector is left as it was."""

import gc
import subprocess
import sys
import time

import pytest

from polydom_runtime.clock import collector_off, hardware_clock

SCRIPT = """
import resource, numpy as np
from polydom_runtime.clock import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(500_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
for keep in (False, True):
    assert keep_freed_memory(keep)
    faults()
    print(faults())
"""


def test_kept_memory_is_not_faulted_in_again() -> None:
    """Fifty arrays of 4 MB are 1,000 pages each where they are mapped anew; nothing where they are not."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    returned, kept = map(int, done.stdout.split())

    assert kept < 50
    assert returned > 5_000


def test_what_the_caller_has_frozen_stays_frozen() -> None:
    gc.unfreeze()
    with collector_off():
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()

    gc.freeze()
    with collector_off():
        pass
    assert gc.get_freeze_count()


@pytest.mark.parametrize("is_on", [False, True])
def test_the_collector_is_off_within_the_block_and_then_as_it_was(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    try:
        with collector_off():
            within = gc.isenabled()
        after = gc.isenabled()
    finally:
        gc.enable()

    assert (within, after) == (False, is_on)


def test_nobody_can_set_the_clock_of_deadlines() -> None:
    clocks = {
        time.perf_counter_ns: time.get_clock_info("perf_counter"),
        time.monotonic_ns: time.get_clock_info("monotonic"),
        time.time_ns: time.get_clock_info("time"),
    }
    info = clocks[hardware_clock]

    assert (info.monotonic, info.adjustable) == (True, False)
