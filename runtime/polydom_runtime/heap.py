"""Keeping freed memory in the process: a page fault inside a feature is time that nobody planned."""

import ctypes

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
