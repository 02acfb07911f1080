"""Files that are replaced in one step."""

import os
from contextlib import suppress
from pathlib import Path


def replace_file(file: str | os.PathLike[str], content: bytes, *, sync: bool = True) -> None:
    """Write a file so that at any instant, also after a kill, it is the old one or the new one.

    Parameters
    ----------
    file : path
    content : bytes
        All of it.
    sync : bool
        Whether it must be on the disk, and not only handed to the system, before it takes the old one's place.

    Raises
    ------
    OSError
        If it cannot be written; the old file then stays.
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
