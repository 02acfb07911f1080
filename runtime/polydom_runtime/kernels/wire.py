"""The wire format of protobuf, read strictly: fields of numbers and of bytes, each inside its message."""

import re
import struct
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.exceptions import BundleFormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MANY = -1
"""Stands for a wire type: fields side by side, with their keys and lengths."""

MAX_VARINT = 10
"""The bytes of the longest number."""

MAX_FIELDS = 1 << 19
"""The fields of a model, of all its messages together: some hundred thousand class names are fields too."""

left_fields: ContextVar[list[int] | None] = ContextVar("left_fields", default=None)
"""How many more fields may be read, in a list of one number; None for any number."""

FIRST_WINDOW = 4096
"""Bytes that are searched for numbers of the same field, at first. Then eight times more, so that no bytes are
searched often, whatever the file holds."""

SHORT = 64
"""Bytes of a message that is remembered."""

T = TypeVar("T")

new_field = tuple.__new__
"""Makes a `Field` in half the time of a call of the class."""

Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]


class UnknownModel(Exception):
    """A sound model for which there is no kernel."""


class Field(NamedTuple):
    """One field of a message."""

    tag: int
    kind: int
    value: int | memoryview
    """A number, or the bytes of a field of any other type."""

    @property
    def number(self) -> int:
        """The number that it holds, with its sign; BundleFormatError if it holds bytes."""
        if not isinstance(self.value, int):
            raise unsound("a number", f"{len(self.value)} bytes")
        return self.value - (1 << 64) if self.value >> 63 else self.value

    @property
    def data(self) -> memoryview:
        """The bytes that it holds; BundleFormatError if it holds a number."""
        if isinstance(self.value, int) or self.kind != BYTES:
            raise unsound("bytes", "a number")
        return self.value

    @property
    def many(self) -> memoryview:
        """The fields side by side for which it stands."""
        return memoryview(b"") if isinstance(self.value, int) else self.value

    @property
    def text(self) -> str:
        """The text that it holds; BundleFormatError if it holds no text."""
        try:
            return str(self.data, "utf-8")
        except UnicodeDecodeError as e:
            raise unsound("UTF-8 text", "other bytes") from e

    @property
    def real(self) -> float:
        """The float32 number that it holds; BundleFormatError if it holds anything else."""
        if self.kind != FIXED32 or isinstance(self.value, int):
            raise unsound("a float32 number", "another type")
        return float(struct.unpack("<f", self.value)[0])


def remembered(read: Callable[[memoryview], T]) -> Callable[[memoryview], T]:
    """Return `read` with a cache for short messages: the models of a bundle have many in common.

    Its fields then count once too, and the field that holds it each time, so a file cannot take more time by that.
    """
    known = lru_cache(maxsize=256)(lambda data: read(memoryview(data)))
    return lambda data: known(bytes(data)) if len(data) <= SHORT else read(data)


def unsound(expected: str, got: str) -> BundleFormatError:
    """Return the error about a model file that is not as it must be."""
    return BundleFormatError(f"A model must be sound ONNX. Expected {expected}. Got {got}. Export the bundle again.")


def fields(data: memoryview, known: re.Pattern[bytes] | None = None) -> Iterator[Field]:
    """Yield the fields of a message in their order.

    Numbers of the same field side by side come as one field of bytes, as if they had been packed. Bytes that match
    `known`, which are whole fields with the same key of one byte, come as one field too.
    """
    at, end, left = 0, len(data), left_fields.get() or [sys.maxsize]
    while at < end:
        left[0] -= 1
        if left[0] < 0:
            raise unsound(f"at most {MAX_FIELDS} fields", "more")
        if known is not None and (many := known.match(data, at)):
            yield new_field(Field, (data[at] >> 3, MANY, data[at : many.end()]))
            at = many.end()
            continue
        start, key = at, data[at]
        if key < 0x80:  # nearly all keys and lengths are one byte; to call for each would take as long as all the rest
            at += 1
        else:
            key, at = _varint(data, at)
        tag, kind = key >> 3, key & 7
        length, number = 0, 0
        if kind in (VARINT, BYTES):
            if at < end and data[at] < 0x80:
                number, at = data[at], at + 1
            else:
                number, at = _varint(data, at)
            length = number if kind == BYTES else 0
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise unsound("a protobuf message", f"wire type {kind}")
        if length > end - at:
            raise unsound(f"{length} bytes of a field", f"{end - at}")
        content = data[at : at + length]
        at += length
        # A key of one byte only: what is read at once must be at least one field.
        if kind in (VARINT, FIXED32) and key < 0x80 and at < end and data[start] == data[at] == key:
            packed, at = _run(data, start, key, kind)
            yield new_field(Field, (tag, BYTES, packed))
        else:
            yield new_field(Field, (tag, kind, number if kind == VARINT else content))


def varints(data: memoryview) -> NDArray[np.int64]:
    """Return packed numbers, with their signs."""
    numbers = np.frombuffer(data, dtype=np.uint8)
    if numbers.max(initial=0) < 0x80:
        return numbers.astype(np.int64)
    starts, ends = _parts(numbers)
    lengths = ends - starts
    if numbers[-1] >= 0x80 or lengths.max() > MAX_VARINT or (numbers[ends[lengths == MAX_VARINT] - 1] > 1).any():
        raise _too_long()
    shifts = 7 * (np.arange(len(numbers)) - np.repeat(starts, lengths))
    bits = (numbers & 0x7F).astype(np.uint64) << shifts.astype(np.uint64)
    found: NDArray[np.int64] = np.add.reduceat(bits, starts).view(np.int64)
    return found


def _run(data: memoryview, at: int, key: int, kind: int) -> tuple[memoryview, int]:
    """Return the packed numbers of fields with the same key from a position on, and the position behind them."""
    parts, window = [], FIRST_WINDOW
    while True:
        some = np.frombuffer(data[at : at + window], dtype=np.uint8)
        packed, used = (_numbers if kind == VARINT else _reals)(some, key)
        parts.append(packed)
        at, window = at + used, 8 * window
        if used <= len(some) - 1 - MAX_VARINT or not used:  # what is left is not just a field that was cut off
            return memoryview(b"".join(parts)), at


def _numbers(some: Bytes, key: int) -> tuple[bytes, int]:
    """Return the numbers at the beginning of some bytes without their keys, and how many bytes that were."""
    starts, ends = _parts(some)
    pairs = len(ends) // 2
    keys, values = starts[: 2 * pairs : 2], ends[1 : 2 * pairs : 2]
    same = (some[keys] == key) & (ends[: 2 * pairs : 2] - keys == 1)
    count = pairs if same.all() else int(same.argmin())
    used = int(values[count - 1]) if count else 0
    is_value = np.ones(used, dtype=bool)
    is_value[keys[:count]] = False
    return some[:used][is_value].tobytes(), used


def _reals(some: Bytes, key: int) -> tuple[bytes, int]:
    """Return the float32 numbers at the beginning of some bytes without their keys, and how many bytes that were."""
    table = some[: len(some) // 5 * 5].reshape(-1, 5)
    same = table[:, 0] == key
    count = len(table) if same.all() else int(same.argmin())
    return table[:count, 1:].tobytes(), 5 * count


def _parts(numbers: Bytes) -> tuple[Places, Places]:
    """Return where numbers of variable length begin and end; one that is cut off at the end is left out."""
    ends = (numbers < 0x80).nonzero()[0] + 1
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1]
    return starts, ends


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at a position, and the position behind it."""
    number = 0
    for k in range(MAX_VARINT):
        if at + k >= len(data):
            break
        byte = data[at + k]
        number |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            if number >> 64:
                break
            return number, at + k + 1
    raise _too_long()


def _too_long() -> BundleFormatError:
    return unsound("a number of at most 64 bits", "a longer or unfinished one")
