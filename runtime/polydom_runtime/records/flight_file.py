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
from polydom_runtime.bundles.promise import Identity, Word
from polydom_runtime.codec.codec import Codec, after_line
from polydom_runtime.codec.marks import In, Size, Unsound
from polydom_runtime.exceptions import RecordingError
from polydom_runtime.features import MAX_FEATURES, members
from polydom_runtime.frames import frame, frames
from polydom_runtime.learning.margin import LEAST, MOST

MAGIC, VERSION = b"polydom-flight ", 1

PAGE = 4096
MAX_HEADER_BYTES, MAX_CLASSES_BYTES, MAX_FILE_BYTES = 1 << 20, 1 << 16, 1 << 28
MAX_REASON_BYTES, MAX_ERROR_BYTES = 80, 120
MET, IS_FLOAT, ABSTAINED, PAUSED = 1, 2, 4, 8
CRC = struct.Struct("<I")


@dataclass(frozen=True)
class FlightHeader:
    """The fixed facts of a ring; the deadline is in seconds."""

    names: Annotated[tuple[str, ...], Size(1, MAX_FEATURES)]
    """Names of the features, in the order of the positions in records."""
    classes: Annotated[tuple[Label, ...], LABEL_TEXT]
    """Labels in the order of the class numbers; empty for a regressor, or if they need too much space."""
    bundle: str
    """SHA-256 of the index of the bundle, in hexadecimal."""
    deadline: Annotated[float, In(math.ulp(0.0), math.inf)]
    policy: str
    capacity: Annotated[int, In(1, MAX_FILE_BYTES)]
    bundle_name: Word = ""
    bundle_version: Word = ""
    """`bundle_name`, `bundle_version`: empty if they are not known."""

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

        Sequence, number, time, size, slow-down, before, model, elapsed, feature set of the answer, label; flags, number
        of features, length of the reason; reason, features, times; waited; length of the error, error; confidence,
        margin.
        """
        n = len(self.names)
        return struct.Struct(f"<QqqddqqqQd3B{MAX_REASON_BYTES}s{n}s{8 * n}sqB{MAX_ERROR_BYTES}s2d")

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
class FlightRecord:
    """One answer; see `polydom_runtime.Prediction`. Texts are cut to 80 bytes (reason) and 120 bytes (error)."""

    sequence: int
    """1 for the first record of the ring, then one more for each."""
    number: int
    time_ns: int
    """Wall-clock time in nanoseconds since 1970."""
    size: float
    """NaN if the item had none."""
    slowdown: float
    features: tuple[int, ...]
    """Positions of the features that were started, in order, including those that failed."""
    feature_ns: tuple[int, ...]
    """Nanoseconds of each of these features, up to the start of the next one or of the model."""
    before_ns: int
    model_ns: int
    elapsed_ns: int
    """`before_ns`, `model_ns`, `elapsed_ns`: times from the call to the first feature, from the start of the model to
    its end, and from the arrival of the item to the answer."""
    answered: tuple[int, ...]
    """Positions, ascending, of the features of the model that answered; empty for the class prior."""
    deadline_met: bool
    reason: str
    label: int | float | None
    """The class number, or the number that a regressor predicted; None if the answer was withheld."""
    waited_ns: int = 0
    error: str = ""
    confidence: float | None = None
    """The probability that the label is right; None if it is not known."""
    margin: float = 1.0
    """The margin that is a part of `slowdown`; see `polydom_runtime.learning.margin`."""
    paused: bool = False
    """Whether it is late and would be by any plan, as the promise counts it: a pause, or the item had waited."""


@dataclass(frozen=True, slots=True)
class Flight:
    """A recording: its whole records from oldest to newest, and the number of those cut by a kill or by reading."""

    header: FlightHeader
    records: tuple[FlightRecord, ...]
    n_torn: int


def load_flight(path: str | os.PathLike[str]) -> Flight:
    """Read a recording, also while it is being written; torn records are skipped and counted."""
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as e:
        raise RecordingError(
            f"{file} must be a readable flight recording. {e.strerror}. Give what run --record wrote."
        ) from e
    return decoded_flight(file, data)


def decoded_flight(file: Path, data: bytes) -> Flight:
    """Read a recording from the content of its file; `file` is for messages."""
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
    """Read the header at the start of a file, and check each of its fields; `file` is for messages."""
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
    flags, n, length, reason, features, times, waited_ns, error_length, error, confidence, margin = values[10:]
    n_names, is_class = len(header.names), not flags & (IS_FLOAT | ABSTAINED)
    sound = (
        sequence > 0
        and (sequence - 1) % header.capacity == slot
        and n <= n_names
        and all(position < n_names for position in features[:n])
        and not mask >> n_names
        and LEAST <= margin <= MOST
        and (not is_class or (label.is_integer() and 0 <= label < (len(header.classes) or math.inf)))
    )
    if not sound:
        return None
    started = tuple(features[:n]), struct.unpack_from(f"<{n}q", times)
    return FlightRecord(
        *(sequence, number, time_ns, size, slowdown, *started, before_ns, model_ns, elapsed_ns, tuple(members(mask))),
        deadline_met=bool(flags & MET),
        reason=reason[:length].decode("utf-8", "replace"),
        label=None if flags & ABSTAINED else int(label) if is_class else label,
        waited_ns=waited_ns,
        error=error[:error_length].decode("utf-8", "replace"),
        confidence=None if math.isnan(confidence) else confidence,
        margin=margin,
        paused=bool(flags & PAUSED),
    )
