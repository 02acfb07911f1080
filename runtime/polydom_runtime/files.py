"""Writing files so that they last, and replacing a file or a folder in one step."""

import ctypes
import errno
import os
import sys
from _thread import get_ident
from contextlib import suppress
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2


def replace_file(file: str | os.PathLike[str], content: bytes, *, sync: bool = True) -> None:
    """Write a file so that at any instant, also after a kill, either the whole old or the whole new file is there.

    Parameters
    ----------
    file : path
        The file to replace or create. Of a link, it is the file that it points at.
    content : bytes
        The whole new content.
    sync : bool
        Whether the content must be on the disk before it replaces the old file, and the new name at the end. Otherwise
        both have only been handed to the operating system.

    Raises
    ------
    OSError
        If the new file cannot be written, or the name is that of something else; the old one then stays as it is.
    """
    target = Path(os.path.realpath(file))
    if target.exists() and not target.is_file():
        raise OSError(f"{file} must be a file. It is something else. Give another name")
    part = target.with_name(f".{target.name}.{os.getpid()}-{get_ident()}.part")
    try:
        write_file(part, content, sync=sync)
        os.replace(part, target)
        if sync:
            sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def write_file(file: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a file, and wait until its content is on the disk if `sync`.

    Raises
    ------
    OSError
        If that fails; then a part of the file may be there.
    """
    with open(file, "wb") as stream:
        stream.write(content)
        if sync:
            stream.flush()
            os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Let the names in a folder reach the disk: otherwise a power cut may undo a rename.

    Raises
    ------
    OSError
        If that fails, other than on a file system that cannot do it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


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
