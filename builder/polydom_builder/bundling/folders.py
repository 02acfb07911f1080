"""Replacement of a folder in one step."""

import ctypes
import os
import sys
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2


def replace_folder(new: Path, target: Path) -> None:
    """Put folder `new` in the place of `target`. If there was a folder, the caller has to delete the old one.

    On Linux one system call swaps the two, so after a kill at any instant `target` is the old folder or the new one.
    The old one is then at `new`. Elsewhere there are two renames, with an instant between them without `target`; the
    old one is then beside `new`.
    """
    if not target.exists():
        os.rename(new, target)
    elif not _swap(new, target):
        old = new.with_name(new.name + "-old")
        os.rename(target, old)
        os.rename(new, target)


def _swap(a: Path, b: Path) -> bool:
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and rename(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE) == 0
