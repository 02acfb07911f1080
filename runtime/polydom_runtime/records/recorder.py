"""The flight recorder: the last items of a node in a ring on disk, complete up to the instant of a kill."""

import math
import mmap
import os
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.bundles.bundle import Label
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.exceptions import RecordingError
from polydom_runtime.features import MAX_FEATURES

from .flight_file import (
    ABSTAINED,
    CRC,
    IS_FLOAT,
    MAX_CLASSES_BYTES,
    MAX_ERROR_BYTES,
    MAX_FILE_BYTES,
    MAX_REASON_BYTES,
    MET,
    Flight,
    FlightHeader,
    load_flight,
)
from .flight_record import FlightRecord
from .ring_file import Allocate, open_ring

if TYPE_CHECKING:
    from polydom_runtime.prediction import AnyPredictor, Prediction
    from polydom_runtime.trace import Trace

__all__ = ["Flight", "FlightRecord", "FlightRecorder", "load_flight", "read_flight"]

MAX_SETS = 10_000
TIMES = tuple(struct.Struct(f"<{k}q") for k in range(MAX_FEATURES + 1))


class FlightRecorder:
    """Records the work on the last `capacity` items in a file that survives ``kill -9`` at any instant.

    The file has its full size from the start, so that a full disk is noticed before the loop and not in it. A recording
    of the same bundle, deadline, policy and capacity is continued; any other recording is kept as ``FILE.1``,
    ``FILE.2`` and so on, of which the newest nine stay. The file must not be shortened while it is in use: the system
    ends a process whose mapped file shrinks. A power cut loses the last seconds, which the system had not yet written
    to the disk.

    `path`: the file; it is created if it does not exist. `capacity`: the number of items that are kept. `wall_clock`:
    returns nanoseconds since 1970. `allocate`: reserves the space of the file, as `os.posix_fallocate` does.

    `n_dropped`: items that were not recorded, because a number does not fit into a record (as of a faulty clock).

    Raises `RecordingError` if the disk is full, or the file cannot be written, is in use, is not a flight recording or
    would be too large.
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
        header = header_of(predictor, capacity)
        self._capacity, self._record_bytes, self._first = capacity, header.record_bytes, header.slot_start(0)
        self._pack, self._seed = header.layout.pack, header.seed
        self._names = predictor.bundle.names
        self._numbers: Mapping[Label | float, int] = {
            label: number for number, label in enumerate(predictor.bundle.space.classes)
        }
        self._masks: dict[tuple[str, ...], int] = {}
        self._wall_clock = wall_clock
        self._descriptor, earlier = open_ring(Path(path), header, allocate)
        self._sequence = earlier.records[-1].sequence if earlier and earlier.records else 0
        # MAP_POPULATE, so that there are no page faults in the loop, one for each page of the ring.
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        self._ring = mmap.mmap(self._descriptor, header.file_bytes, flags=flags)

    def add(self, prediction: "Prediction", trace: "Trace", number: int) -> None:
        """Write one record over the oldest; never raises. Takes some microseconds, however long the recorder runs.

        `trace`: an incomplete one, as of a worker that was killed, is recorded without the times of its features.
        `number`: the number of the item.
        """
        try:
            body = self._packed(prediction, trace, number)
        except (struct.error, OverflowError, ValueError, LookupError):
            self.n_dropped += 1
            return
        start = self._first + self._sequence % self._capacity * self._record_bytes
        self._ring[start : start + self._record_bytes] = CRC.pack(zlib.crc32(body, self._seed)) + body
        self._sequence += 1

    def close(self) -> None:
        """Write all records to the disk and close the file; nothing can be added afterwards."""
        if not self._ring.closed:
            self._ring.flush()
            self._ring.close()
            os.close(self._descriptor)

    def _packed(self, prediction: "Prediction", trace: "Trace", number: int) -> bytes:
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
            flags | MET if prediction.deadline_met else flags,
            n,
            len(reason),
            reason,
            bytes(features),
            TIMES[n].pack(*[b - a for a, b in pairwise(marks[1:-1])]),
            prediction.waited_ns,
            len(error),
            error,
            math.nan if prediction.confidence is None else prediction.confidence,
        )

    def _mask(self, features: tuple[str, ...]) -> int:
        mask = self._masks.get(features)
        if mask is None:
            mask = sum(1 << self._names.index(name) for name in features)
            if len(self._masks) < MAX_SETS:
                self._masks[features] = mask
        return mask


def read_flight(path: str | os.PathLike[str]) -> list[FlightRecord]:
    """Return the whole records of a recording from oldest to newest; see `load_flight`.

    Raises `RecordingError` as `load_flight`.
    """
    return list(load_flight(path).records)


def header_of(predictor: "AnyPredictor", capacity: int) -> FlightHeader:
    """Return the header of a recording of `predictor`.

    Raises `RecordingError` if `capacity` is below 1, or the file would be too large.
    """
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
