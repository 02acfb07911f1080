"""The timer by which deadlines are kept, and pauses kept out of timed work: garbage collections and page faults."""

import ctypes
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol


class Clock(Protocol):
    """Anything that, when called, returns monotonic time in integer nanoseconds."""

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        ...


hardware_clock: Clock = time.perf_counter_ns
"""The monotonic hardware clock (CLOCK_MONOTONIC on Linux), read without a system call."""


M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
DEFAULT_TRIM_THRESHOLD, DEFAULT_MMAP_MAX = 128 * 1024, 65536
NEVER_TRIM = -1


def keep_freed_memory(keep: bool = True) -> bool:
    """Make the C library reuse freed memory instead of returning it to the system; with False, go back to the default.

    By default glibc requests new pages for each array above 128 kB. A feature on a large item then causes hundreds of
    page faults every time, and their number depends on the memory that the process has freed before: times measured in
    one process do not hold in another. If memory is kept, each page is faulted in only once.

    Return whether the C library has such a setting (glibc has).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    trim, maps = (NEVER_TRIM, 0) if keep else (DEFAULT_TRIM_THRESHOLD, DEFAULT_MMAP_MAX)
    return bool(mallopt(M_TRIM_THRESHOLD, trim) and mallopt(M_MMAP_MAX, maps))


@contextmanager
def collector_off() -> Iterator[None]:
    """Switch the garbage collector off, as a loop with deadlines does: one collection can take 100 ms.

    Objects that exist now are frozen, so that collections which the caller starts are short; unless objects are frozen
    already, since what is frozen can only be let go all at once.
    """
    was_on, freezes = gc.isenabled(), not gc.get_freeze_count()
    gc.collect()
    if freezes:
        gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
        if was_on:
            gc.enable()


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep freed memory in the process, as the predictor does."""
    keep_freed_memory()
    try:
        yield
    finally:
        keep_freed_memory(False)


class Usage(NamedTuple):
    """What a thread has used so far."""

    cpu_ns: int
    """Processor time in nanoseconds."""
    waits: int
    """How often it has given up the processor by itself, to wait for something."""


def own_usage() -> Usage:
    """Return the usage of this thread so far; of the whole process where the system does not count for each thread."""
    import resource  # only here, since a node without failures never asks

    usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
    return Usage(round((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_nvcsw)
