"""Keeping memory management out of timed work: collections and page faults are pauses that nobody planned."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
DEFAULT_TRIM_THRESHOLD, DEFAULT_MMAP_MAX = 128 * 1024, 65536
NEVER_TRIM = -1


def keep_freed_memory(keep: bool = True) -> bool:
    """Tell the C library to reuse freed memory rather than give it back to the system, or to be as usual again.

    By default glibc maps each array above 128 kB anew, so that a feature on a large item faults in hundreds of pages
    every time, more or less of them depending on what else the process has freed: times measured in one process do not
    hold in another. Kept, the pages are faulted in once.

    Returns
    -------
    bool
        Whether the C library could be told (glibc can).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    trim, maps = (NEVER_TRIM, 0) if keep else (DEFAULT_TRIM_THRESHOLD, DEFAULT_MMAP_MAX)
    return bool(mallopt(M_TRIM_THRESHOLD, trim) and mallopt(M_MMAP_MAX, maps))


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the garbage collector out, as a loop with deadlines does: one collection can take 100 ms.

    What lives now is frozen, so that collections which the caller asks for are short.
    """
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
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
