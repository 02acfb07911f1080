"""The file of a flight recorder: a header, then a ring of records of equal size. Reading checks every byte.

The file is a line with format and version, a frame (length, CRC-32, msgpack map), zeros up to a full page, then the
records. The CRC-32 of a record starts from that of the header, so that a record of another ring is never accepted.
"""

import math
import os
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from polydom_runtime.bundles.bundle import LABEL_TEXT, Label
from polydom_runtime.bundles.identity import Identity, Word
from polydom_runtime.codec.codec import Codec
from polydom_runtime.codec.document import after_line
from polydom_runtime.codec.marks import In, Size
from polydom_runtime.codec.unsound import Unsound
from polydom_runtime.exceptions import RecordingError
from polydom_runtime.features import MAX_FEATURES, members
from polydom_runtime.frames import frame, frames

from .flight_record import FlightRecord

MAGIC, VERSION = b"polydom-flight ", 1

PAGE = 4096
MAX_HEADER_BYTES, MAX_CLASSES_BYTES, MAX_FILE_BYTES = 1 << 20, 1 << 16, 1 << 28
MAX_REASON_BYTES, MAX_ERROR_BYTES = 80, 120
MET, IS_FLOAT, ABSTAINED = 1, 2, 4
CRC = struct.Struct("<I")


@dataclass(frozen=True)
class FlightHeader:
    """The fixed facts of a ring."""

    names: Annotated[tuple[str, ...], Size(1, MAX_FEATURES)]
    """Names of the features, in the order of the positions in records."""
    classes: Annotated[tuple[Label, ...], LABEL_TEXT]
    """Labels in the order of the class numbers; empty for a regressor, or if they need too much space."""
    bundle: str
    """SHA-256 of the index of the bundle, in hexadecimal."""
    deadline: Annotated[float, In(math.ulp(0.0), math.inf)]
    """Seconds."""
    policy: str
    """Name of the predictor's policy."""
    capacity: Annotated[int, In(1, MAX_FILE_BYTES)]
    """Number of records in the ring."""
    bundle_name: Word = ""
    bundle_version: Word = ""
    """Empty if they are not known."""

    def _check(self) -> None:
        if len({*self.names}) != len(self.names):
            raise Unsound("have different names of features", self.names)
        if self.file_bytes > MAX_FILE_BYTES:
            raise Unsound(f"be of a file of at most {MAX_FILE_BYTES} bytes", self.file_bytes)

    @property
    def sha256(self) -> str:
        """As `bundle`."""
        return self.bundle

    @property
    def identity(self) -> Identity:
        """The name and the version of the bundle."""
        return Identity(self.bundle_name, self.bundle_version)

    @cached_property
    def packed(self) -> bytes:
        """The header as it stands in the file, in whole pages."""
        data = MAGIC + b"%d\n" % VERSION + frame(HEADER.write(self))
        return data.ljust(-(-len(data) // PAGE) * PAGE, b"\0")

    @cached_property
    def seed(self) -> int:
        """The CRC-32 from which that of each record starts."""
        return zlib.crc32(self.packed)

    @cached_property
    def layout(self) -> struct.Struct:
        """The layout of a record after its CRC-32.

        In order: sequence, number, time, size, slow-down, before, model, elapsed, feature set of the answer, label;
        flags, number of features, length of the reason; reason, features, times; waited; length of the error and
        error; confidence, NaN if it is not known.
        """
        n = len(self.names)
        return struct.Struct(f"<QqqddqqqQd3B{MAX_REASON_BYTES}s{n}s{8 * n}sqB{MAX_ERROR_BYTES}sd")

    @cached_property
    def record_bytes(self) -> int:
        """The bytes of a record, with its CRC-32."""
        return CRC.size + self.layout.size

    def slot_start(self, slot: int) -> int:
        """Return the position in the file at which a slot of the ring starts."""
        return len(self.packed) + slot * self.record_bytes

    @property
    def file_bytes(self) -> int:
        """The bytes of the whole file."""
        return len(self.packed) + self.capacity * self.record_bytes


HEADER = Codec(FlightHeader)


@dataclass(frozen=True, slots=True)
class Flight:
    """A recording: its header, its whole records from oldest to newest, and the number of torn ones.

    A record is torn if it was being written when the process was killed or the file was read.
    """

    header: FlightHeader
    records: tuple[FlightRecord, ...]
    n_torn: int


def load_flight(path: str | os.PathLike[str]) -> Flight:
    """Read a recording, also while it is being written. A torn record is skipped and counted.

    Raises `RecordingError` if the file cannot be read, is cut, is a different kind of file or of another version, or
    its header is damaged.
    """
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as e:
        raise RecordingError(f"{file} must be a readable flight recording. {e}.") from e
    return decoded_flight(file, data)


def decoded_flight(file: Path, data: bytes) -> Flight:
    """Return the recording from the content of its file; `file` is for messages.

    Raises `RecordingError` if it is cut, a different kind of file or of another version, or its header is damaged.
    """
    header = decoded_header(file, data[:MAX_HEADER_BYTES])
    if len(data) != header.file_bytes:
        raise RecordingError(
            f"{file} must have {header.file_bytes} bytes. Got {len(data)}. It was cut, or grew; copy it again."
        )
    records, n_torn = [], 0
    for slot in range(header.capacity):
        raw = data[header.slot_start(slot) : header.slot_start(slot + 1)]
        if (record := decoded_record(header, slot, raw)) is not None:
            records.append(record)
        elif any(raw):
            n_torn += 1
    return Flight(header, tuple(sorted(records, key=lambda r: r.sequence)), n_torn)


def decoded_header(file: Path, data: bytes) -> FlightHeader:
    """Return the header at the start of a file, after checking each of its fields; `file` is for messages.

    Raises `RecordingError` if the file is of a different kind or of another version, or its header is damaged.
    """
    try:
        start = after_line(data, "a flight recording", MAGIC, VERSION, "Read it with the version that wrote it")
        header = HEADER.read(next(frames(data, start), (0, {}))[1])
        if not data.startswith(header.packed):
            raise Unsound("be followed by zeros up to a full page", "others").within("header")
    except Unsound as e:
        raise RecordingError(f"{e.says(f'{file}', f'{file}: ')} {e.remedy or 'Copy it again.'}") from e
    return header


def decoded_record(header: FlightHeader, slot: int, raw: bytes) -> FlightRecord | None:
    """Return the record in a slot of the ring, or None if the slot is empty or the record is torn."""
    if zlib.crc32(raw[CRC.size :], header.seed) != CRC.unpack_from(raw)[0]:
        return None
    values = header.layout.unpack_from(raw, CRC.size)
    sequence, number, time_ns, size, slowdown, before_ns, model_ns, elapsed_ns, mask, label = values[:10]
    flags, n, length, reason, features, times, waited_ns, error_length, error, confidence = values[10:]
    n_names, is_class = len(header.names), not flags & (IS_FLOAT | ABSTAINED)
    sound = (
        sequence > 0
        and (sequence - 1) % header.capacity == slot
        and n <= n_names
        and all(position < n_names for position in features[:n])
        and not mask >> n_names
        and (not is_class or (label.is_integer() and 0 <= label < (len(header.classes) or math.inf)))
    )
    if not sound:
        return None
    return FlightRecord(
        sequence=sequence,
        number=number,
        time_ns=time_ns,
        size=size,
        slowdown=slowdown,
        features=tuple(features[:n]),
        feature_ns=struct.unpack_from(f"<{n}q", times),
        before_ns=before_ns,
        model_ns=model_ns,
        elapsed_ns=elapsed_ns,
        answered=tuple(members(mask)),
        deadline_met=bool(flags & MET),
        reason=reason[:length].decode("utf-8", "replace"),
        label=None if flags & ABSTAINED else int(label) if is_class else label,
        waited_ns=waited_ns,
        error=error[:error_length].decode("utf-8", "replace"),
        confidence=None if math.isnan(confidence) else confidence,
    )
