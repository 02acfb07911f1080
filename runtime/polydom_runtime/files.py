"""Replacing a file in one step."""

import os
from contextlib import suppress
from pathlib import Path


def replace_file(file: str | os.PathLike[str], content: bytes, *, sync: bool = True) -> None:
    """Write a file so that at any instant, also after a kill, either the whole old or the whole new file is there.

    Parameters
    ----------
    file : path
        The file to replace or create.
    content : bytes
        The whole new content.
    sync : bool
        Whether the content must be on the disk before it replaces the old file. Otherwise it has only been handed to
        the operating system.

    Raises
    ------
    OSError
        If the new file cannot be written; the old one then stays as it is.
    """
    target = Path(file)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as stream:
            stream.write(content)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
