"""Opening the file of a flight recorder: a recording of the same kind is continued, any other one is renamed."""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from polydom_runtime.exceptions import RecordingError
from polydom_runtime.files import followed, open_kept, sync_folder

from .flight_file import MAGIC, MAX_FILE_BYTES, Flight, FlightHeader, decoded_flight

Allocate = Callable[[int, int, int], None]
"""A function that reserves the space of a file, as `os.posix_fallocate`."""

KEPT = 9
"""How many earlier recordings stay beside the one in use, so that a node that is updated for years fills no disk."""


def open_ring(file: Path, header: FlightHeader, allocate: Allocate) -> tuple[int, Flight | None]:
    """Return the descriptor of a ring, locked and of its full size, and the recording that is continued, if any.

    `header`: the header that the ring must have. `allocate`: reserves the space of the file.

    Raises `RecordingError` if the disk is full, or the file cannot be written, is in use or is not a flight recording.
    """
    path = file
    try:
        path = followed(file)
        if not _is_there(path):
            return _created(path, header, allocate), None
        descriptor = _locked(path, os.O_RDWR)
        if (earlier := _of_same_kind(path, descriptor, header)) is not None:
            return descriptor, earlier
        try:
            return _created(path, header, allocate, instead=True), None
        finally:
            os.close(descriptor)
    except BlockingIOError as e:
        raise RecordingError(f"{path} must be free. Another process records into it. Give another file.") from e
    except OSError as e:
        full = e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "Free some space, or keep fewer items" if full else "Give another file"
        raise RecordingError(f"{path} must be writable, with {header.file_bytes} bytes. {e}. {remedy}.") from e


def _is_there(path: Path) -> bool:
    """Tell whether the path is a file with content; a folder or a device is refused."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise RecordingError(f"{path} must be a file. It is something else. Give another name.")
    return status.st_size > 0


def _locked(path: Path, flags: int) -> int:
    descriptor = open_kept(path, flags)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _of_same_kind(path: Path, descriptor: int, header: FlightHeader) -> Flight | None:
    """Return the recording in the file if it can be continued, else None; any other kind of file is refused."""
    with open(descriptor, "rb", closefd=False) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if not data.startswith(MAGIC):
        os.close(descriptor)
        raise RecordingError(f"{path} must be a flight recording, or not be there. It is not. Give another name.")
    try:
        flight = decoded_flight(path, data)
    except RecordingError:
        return None  # cut, or of another version: its owner may still be able to use it, so it is renamed
    return flight if flight.header == header else None


def _created(path: Path, header: FlightHeader, allocate: Allocate, instead: bool = False) -> int:
    """Make the whole file beside `path` first, so that a kill or a full disk leaves an existing file unchanged."""
    part = path.with_name(f"{path.name}.part")
    descriptor = _locked(part, os.O_RDWR | os.O_CREAT)
    try:
        if _is_there(path) is not instead:
            raise BlockingIOError(errno.EAGAIN, "another process was quicker", str(path))
        os.ftruncate(descriptor, 0)
        allocate(descriptor, 0, header.file_bytes)
        os.pwrite(descriptor, header.packed, 0)
        os.fsync(descriptor)
        if instead:
            _put_aside(path)
        os.rename(part, path)
        sync_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return descriptor


def _put_aside(path: Path) -> None:
    """Give a recording the next number, and remove the oldest of those that have one."""
    numbers = sorted(
        int(name.name.removeprefix(f"{path.name}."))
        for name in path.parent.iterdir()
        if re.fullmatch(re.escape(path.name) + r"\.[1-9][0-9]{0,8}", name.name)
    )
    os.rename(path, path.with_name(f"{path.name}.{max(numbers, default=0) + 1}"))
    for number in numbers[: 1 - KEPT]:
        with suppress(OSError):
            _remove_recording(path.with_name(f"{path.name}.{number}"))


def _remove_recording(path: Path) -> None:
    """Remove a recording; what is none, or is still locked by the process that records into it, stays."""
    descriptor = _locked(path, os.O_RDONLY)
    try:
        if os.pread(descriptor, len(MAGIC), 0) == MAGIC:
            path.unlink()
    finally:
        os.close(descriptor)
