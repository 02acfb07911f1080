"""Writing files so that they last, and replacing one in one step."""

import errno
import os
from _thread import get_ident
from contextlib import suppress
from pathlib import Path


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
