"""The flight recorder: the last items of a node in a ring on disk, complete up to the instant of a kill."""

import errno
import fcntl
import math
import os
import re
import stat
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.bundles.bundle import Label
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.causes import report, report_failure
from polydom_runtime.exceptions import RecordingError
from polydom_runtime.features import MAX_FEATURES
from polydom_runtime.files import followed, open_kept, sync_folder

from .flight_file import (
    ABSTAINED,
    CRC,
    IS_FLOAT,
    MAGIC,
    MAX_CLASSES_BYTES,
    MAX_ERROR_BYTES,
    MAX_FILE_BYTES,
    MAX_REASON_BYTES,
    MET,
    PAUSED,
    Flight,
    FlightHeader,
    decoded_flight,
)

if TYPE_CHECKING:
    from polydom_runtime.prediction import AnyPredictor, Prediction
    from polydom_runtime.stages import Trace

MAX_MASKS = 10_000
TIMES = tuple(struct.Struct(f"<{k}q") for k in range(MAX_FEATURES + 1))

Allocate = Callable[[int, int, int], None]

LOOK_EVERY_S = 1.0

KEPT_RECORDINGS = 9
"""Earlier recordings that stay beside the one in use, so that a node that is updated for years fills no disk."""


class FlightRecorder:
    """Records the work on the last `capacity` items in a file that survives ``kill -9`` at any instant.

    The file has its full size from the start, so that a full disk is noticed before the loop. A recording of the same
    bundle, deadline, policy and capacity is continued; any other is kept as ``FILE.1``, ``FILE.2`` and so on, of which
    the newest nine stay. If the file is cut, moved or removed while it is in use, `on_slack` notices, and records go on
    in a whole one. A power cut loses the last seconds, which the system had not yet written to the disk. `n_dropped`
    items were not recorded: a number does not fit into a record, as of a faulty clock, or the file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        predictor: "AnyPredictor",
        capacity: int = 10_000,
        *,
        wall_clock: Callable[[], int] = time.time_ns,
        allocate: Allocate = os.posix_fallocate,
    ) -> None:
        self.n_dropped = 0
        self._header = header = header_of(predictor, capacity)
        self._capacity, self._record_bytes, self._first = capacity, header.record_bytes, header.slot_start(0)
        self._pack, self._seed = header.layout.pack, header.seed
        self._predictor, self._margin, self._paused = predictor, predictor.margin.value, predictor.margin.paused
        self._names = predictor.bundle.names
        self._numbers: Mapping[Label | float, int] = {
            label: number for number, label in enumerate(predictor.bundle.space.classes)
        }
        self._masks: dict[tuple[str, ...], int] = {}
        self._wall_clock, self._allocate = wall_clock, allocate
        self._path, self._look_due, self._failures = Path(path), 0.0, 0
        self._descriptor, self._sequence = self._open()

    def _open(self) -> tuple[int, int]:
        """Return the descriptor of a whole file, and the number of its last record."""
        descriptor, earlier = open_ring(self._path, self._header, self._allocate)
        return descriptor, earlier.records[-1].sequence if earlier and earlier.records else 0

    def add(self, prediction: "Prediction", trace: "Trace", number: int) -> None:
        """Write one record over the oldest, in some microseconds; an incomplete trace gives no times of features."""
        now = self._predictor.margin
        margin, self._margin = self._margin, now.value  # of this answer, and of the next one
        paused, self._paused = now.paused > self._paused, now.paused
        try:
            body = self._packed(prediction, trace, number, margin, paused)
        except (struct.error, OverflowError, ValueError, LookupError):
            self.n_dropped += 1
            return
        start = self._first + self._sequence % self._capacity * self._record_bytes
        try:  # not by a map of the file: the system ends a process whose mapped file is cut by another one
            os.pwrite(self._descriptor, CRC.pack(zlib.crc32(body, self._seed)) + body, start)
        except OSError:
            self.n_dropped += 1
            return
        self._sequence += 1

    def on_slack(self, seconds_left: float) -> None:
        """Look once a second whether the file is there and whole; if it is not, go on in a whole one, and report it."""
        if (now := time.monotonic()) < self._look_due:
            return
        self._look_due = now + LOOK_EVERY_S
        try:
            if fault := self._mended():
                self._failures = 0
                report(f"{self._path} {fault} while it was in use. Records go on in a whole file")
        except (OSError, RecordingError) as e:
            self._failures += 1
            report_failure("the recording", self._failures, f"{e} It is tried again.")

    def _mended(self) -> str:
        """Return what was wrong with the file and is mended; an empty text if nothing is."""
        here, header = os.fstat(self._descriptor), self._header
        try:
            is_there = os.path.samestat(os.stat(self._path), here)
        except FileNotFoundError:
            is_there = False
        if not is_there:
            earlier = self._descriptor
            self._descriptor, self._sequence = self._open()
            os.close(earlier)
            return "was moved or removed"
        packed = header.packed
        if here.st_size == header.file_bytes and os.pread(self._descriptor, len(packed), 0) == packed:
            return ""
        os.ftruncate(self._descriptor, header.file_bytes)
        self._allocate(self._descriptor, 0, header.file_bytes)
        os.pwrite(self._descriptor, packed, 0)
        return "was cut"

    def close(self) -> None:
        """Write all records to the disk and close the file; nothing can be added afterwards."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _packed(self, prediction: "Prediction", trace: "Trace", number: int, margin: float, paused: bool) -> bytes:
        features, marks = trace.features, trace.marks
        if len(marks) != len(features) + 3:
            features, marks = [], [0, 0, 0]
        reason = prediction.reason.encode("utf-8", "replace")[:MAX_REASON_BYTES]
        error = prediction.error.encode("utf-8", "replace")[:MAX_ERROR_BYTES]
        label, flags = prediction.label, IS_FLOAT
        if label is None:
            label, flags = 0, ABSTAINED
        elif self._numbers:
            label, flags = self._numbers[label], 0
        flags |= MET * prediction.deadline_met | PAUSED * paused
        n = len(features)
        return self._pack(
            self._sequence + 1,
            number,
            self._wall_clock(),
            trace.size,
            prediction.slowdown,
            marks[1] - marks[0],
            marks[-1] - marks[-2],
            prediction.elapsed_ns,
            self._mask(prediction.features),
            label,
            flags,
            n,
            len(reason),
            reason,
            bytes(features),
            TIMES[n].pack(*[b - a for a, b in pairwise(marks[1:-1])]),
            prediction.waited_ns,
            len(error),
            error,
            math.nan if prediction.confidence is None else prediction.confidence,
            margin,
        )

    def _mask(self, features: tuple[str, ...]) -> int:
        mask = self._masks.get(features)
        if mask is None:
            mask = sum(1 << self._names.index(name) for name in features)
            if len(self._masks) < MAX_MASKS:
                self._masks[features] = mask
        return mask


def header_of(predictor: "AnyPredictor", capacity: int) -> FlightHeader:
    """Return the header of a recording of `predictor`."""
    if not 1 <= capacity <= MAX_FILE_BYTES:
        raise RecordingError(f"A flight recorder must have room for 1 to {MAX_FILE_BYTES} items. Got {capacity}.")
    bundle, classes = predictor.bundle, predictor.bundle.space.classes
    if sum(len(str(label)) for label in classes) > MAX_CLASSES_BYTES:
        classes = ()
    header = FlightHeader(
        *(bundle.names, classes, index_sha256(bundle), float(predictor.deadline), predictor.policy, capacity),
        bundle_name=bundle.identity.name,
        bundle_version=bundle.identity.version,
    )
    if header.file_bytes > MAX_FILE_BYTES:
        most = (MAX_FILE_BYTES - len(header.packed)) // header.record_bytes
        raise RecordingError(f"A flight recorder of this bundle must keep at most {most} items. Got {capacity}.")
    return header


def open_ring(file: Path, header: FlightHeader, allocate: Allocate) -> tuple[int, Flight | None]:
    """Return the descriptor of a ring with this header, locked and of its full size, and the recording to continue."""
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
    for number in numbers[: 1 - KEPT_RECORDINGS]:
        with suppress(OSError):
            _remove_recording(path.with_name(f"{path.name}.{number}"))


def _remove_recording(path: Path) -> None:
    """Remove a recording, unless it is another kind of file, or locked by the process that records into it."""
    descriptor = _locked(path, os.O_RDONLY)
    try:
        if os.pread(descriptor, len(MAGIC), 0) == MAGIC:
            path.unlink()
    finally:
        os.close(descriptor)
