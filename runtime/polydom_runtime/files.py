"""Writing files so that they last, never where another user leads to, and replacing a file or folder in one step."""

import ctypes
import errno
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

DATA_MODE = 0o644
"""The mode of new files; the umask may take rights away."""

MOST_LINKS = 40

AT_FDCWD, RENAME_EXCHANGE = -100, 2


def replace_file(file: str | os.PathLike[str], content: bytes, *, sync: bool = True) -> None:
    """Write a file so that at any instant, also after a kill, either the whole old or the whole new file is there.

    Of a link, the file that it points at is replaced. Unless `sync`, a power cut may undo it.
    """
    with replacing(file, sync=sync) as stream:
        stream.write(content)


@contextmanager
def replacing(file: str | os.PathLike[str], *, sync: bool = True) -> Iterator[BinaryIO]:
    """Give a stream for the new content of a file, which takes the place of the old one at the end of the block.

    The rest is as for `replace_file`. The new file has `DATA_MODE`: the old one may be somebody else's.
    """
    target = followed(file)
    if target.exists() and not target.is_file():
        raise OSError(f"{file} must be a file. It is something else. Give another name")
    _warn_if_shared(target.parent)
    # A random name: nobody can take it before, and the rest of a killed process is in nobody's way.
    part = target.with_name(f".{target.name}.{os.urandom(8).hex()}.part")
    try:
        with new_file(part, sync=sync) as stream:
            yield stream
        os.replace(part, target)
        if sync:
            sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


@contextmanager
def new_file(file: Path, mode: int = DATA_MODE, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Give a stream for a new file, on the disk at the end if `sync`; `OSError` if there is anything of its name."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(file, flags, mode), "wb") as stream:
        yield stream
        if sync:
            stream.flush()
            os.fsync(stream.fileno())


def write_file(file: Path, content: bytes, mode: int = DATA_MODE, *, sync: bool = True) -> None:
    """Write a new file as a whole; see `new_file`."""
    with new_file(file, mode, sync=sync) as stream:
        stream.write(content)


def open_kept(file: str | os.PathLike[str], flags: int, *, special: bool = False) -> int:
    """Open a file that is kept and changed, without ``O_TRUNC``, and return its descriptor; a link is followed.

    Only if `special` it may be a pipe or a device, opened without waiting. No other user may have put it there.
    """
    path = followed(file)
    _warn_if_shared(path.parent)
    no_link = 0 if _is_of_kernel(path) else os.O_NOFOLLOW
    descriptor = os.open(path, flags | no_link | os.O_CLOEXEC | os.O_NONBLOCK, DATA_MODE)
    try:
        status = os.fstat(descriptor)
        if not special and not stat.S_ISREG(status.st_mode):
            raise OSError(f"{file} must be a file. It is something else. Give another name")
        if may_be_planted(status, path.parent.stat()):
            trap = "Any user may write to its folder, and the file may be a trap. Give another name"
            raise PermissionError(errno.EACCES, trap, str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def without_waiting(name: str, flags: int) -> int:
    """Open a file, as `open` asks its ``opener`` to: a pipe in its place is not waited for."""
    return os.open(name, flags | os.O_NONBLOCK)


def check_folder_of(file: str | os.PathLike[str], error: type[Exception]) -> None:
    """Raise `error` unless a file can be written into its folder, before the work whose results it is to hold."""
    if not os.access(Path(file).absolute().parent, os.W_OK):
        raise error(f"The folder of {file} must exist and be writable. It is not.")


def may_be_planted(file: os.stat_result, folder: os.stat_result) -> bool:
    """Tell whether another user may have put a file into a folder, as a trap: the rule of Linux' protected_regular.

    In a folder in which any user may write, it must belong to this user, to root or to the owner of the folder, and
    have one name: a second one could be that of another file of this user.
    """
    owners = 0, os.geteuid(), folder.st_uid
    return bool(folder.st_mode & stat.S_IWOTH) and (file.st_uid not in owners or file.st_nlink > 1)


def followed(file: str | os.PathLike[str]) -> Path:
    """Return the absolute path to which links lead; `OSError` for links of other users than this one and root.

    These could make a program write elsewhere; Linux refuses them only in folders such as ``/tmp``, not everywhere.
    """
    path = Path(file).absolute()
    for _ in range(MOST_LINKS):
        link = next((step for step in (*reversed(path.parents), path) if _is_link(step)), None)
        if link is None:
            return path
        if link.lstat().st_uid not in (0, os.geteuid()):
            raise PermissionError(
                errno.EACCES, "A link must be of this user or of root. Give the path that it leads to", str(link)
            )
        path = link.parent / os.readlink(link) / path.relative_to(link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(file))


def _is_link(path: Path) -> bool:
    return path.is_symlink() and not _is_of_kernel(path)


def _is_of_kernel(path: Path) -> bool:
    """Tell whether links there may lead to things without a path, such as ``/proc/self/fd/2``, a pipe."""
    return path.parts[:2] == ("/", "proc")


def _warn_if_shared(folder: Path) -> None:
    if folder.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
        warnings.warn(
            f"Only its owner should be able to write to {folder}. Any user may, and replace files there. Change that "
            "with chmod o-w.",
            stacklevel=1,  # once for a folder, by whatever way
        )


def sync_folder(folder: Path) -> None:
    """Let the names in a folder reach the disk, if the file system can do that: a power cut may undo a rename."""
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

    On Linux one system call swaps the two, and the old one is then at `new`. Elsewhere there are two renames, with an
    instant between them without `target`; the old one is then beside `new`.
    """
    if not os.path.lexists(target):
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
