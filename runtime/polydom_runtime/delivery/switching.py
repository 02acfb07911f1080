"""Switching to another release, by one process at a time."""

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polydom_runtime.exceptions import UpdateError
from polydom_runtime.files import followed, open_kept, replace_file, sync_folder

from .releases import CURRENT, HISTORY, LOCK, RELEASES, current_digest, history

NEW_LINK = f".{CURRENT}.part"


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Let no other process change the releases during the block. The system takes the lock back if this one dies.

    Raises `UpdateError` if another process has the lock, or a file cannot be read or written.
    """
    try:
        for link in (root / name for name in (RELEASES, HISTORY, LOCK)):
            if link.is_symlink():
                followed(link)  # which says if it is somebody else's
                raise OSError(errno.ELOOP, "It must be no link, which would lead out of the folder", str(link))
        # Not for writing, so that a service can roll back what the superuser has installed in its folder.
        descriptor = open_kept(root / LOCK, os.O_RDONLY | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)
    except BlockingIOError as e:
        raise UpdateError(
            f"One process at a time may change the releases in {root}. Another one does. Try again when it has ended."
        ) from e
    except OSError as e:
        raise UpdateError(
            f"{root} must be a folder in which this user may write, with space left. Got: {e}. The current release is "
            f"{current_digest(root) or 'none'}. Correct that, and try again."
        ) from e


def switch(root: Path, digest: str, known: Sequence[str]) -> None:
    """Make a release the current one, and `known` the history, in which it must be.

    The history comes first: it counts only up to the current release, so that it is right before and after. Names are
    synced even if they are there already, since a process may have ended between a rename and its sync. What is right
    already is not written again: the way back writes a link only, for which a full disk mostly has space.
    """
    sync_folder(root / RELEASES)
    if list(known) != history(root):
        replace_file(root / HISTORY, "".join(f"{line}\n" for line in known).encode())
    if digest != current_digest(root):
        link = root / NEW_LINK
        link.unlink(missing_ok=True)
        link.symlink_to(f"{RELEASES}/{digest}")
        sync_folder(root)
        link.replace(root / CURRENT)
    sync_folder(root)
