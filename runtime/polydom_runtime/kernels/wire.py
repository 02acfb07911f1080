"""The wire format of protobuf, read strictly: fields of numbers and of bytes, each inside its message."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from polydom_runtime.exceptions import BundleFormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_VARINT = 10
"""The bytes of the longest number."""


class Field(NamedTuple):
    """One field of a message.

    Attributes
    ----------
    tag : int
    kind : int
        The wire type.
    value : int or memoryview
        A number, or the bytes of a field of any other type.
    """

    tag: int
    kind: int
    value: int | memoryview

    @property
    def number(self) -> int:
        """The number that it holds, with its sign.

        Raises
        ------
        BundleFormatError
            If it holds bytes.
        """
        if not isinstance(self.value, int):
            raise unsound("a number", f"{len(self.value)} bytes")
        return self.value - (1 << 64) if self.value >> 63 else self.value

    @property
    def data(self) -> memoryview:
        """The bytes that it holds.

        Raises
        ------
        BundleFormatError
            If it holds a number.
        """
        if isinstance(self.value, int) or self.kind != BYTES:
            raise unsound("bytes", "a number")
        return self.value

    @property
    def text(self) -> str:
        """The text that it holds.

        Raises
        ------
        BundleFormatError
            If it holds no text.
        """
        try:
            return bytes(self.data).decode()
        except UnicodeDecodeError as e:
            raise unsound("UTF-8 text", "other bytes") from e

    @property
    def real(self) -> float:
        """The float32 number that it holds.

        Raises
        ------
        BundleFormatError
            If it holds anything else.
        """
        if self.kind != FIXED32 or isinstance(self.value, int):
            raise unsound("a float32 number", "another type")
        return float(struct.unpack("<f", self.value)[0])


def unsound(expected: str, got: str) -> BundleFormatError:
    """Return the error about a model file that is not as it must be."""
    return BundleFormatError(f"A model must be sound ONNX. Expected {expected}. Got {got}. Export the bundle again.")


def fields(data: memoryview) -> Iterator[Field]:
    """Yield the fields of a message in their order.

    Raises
    ------
    BundleFormatError
        If the bytes are no message: a field that reaches beyond the end, or a wire type that does not exist.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        tag, kind = key >> 3, key & 7
        if kind == VARINT:
            number, at = _varint(data, at)
            yield Field(tag, kind, number)
            continue
        if kind == BYTES:
            length, at = _varint(data, at)
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise unsound("a protobuf message", f"wire type {kind}")
        if length > end - at:
            raise unsound(f"{length} bytes of a field", f"{end - at}")
        yield Field(tag, kind, data[at : at + length])
        at += length


def varints(data: memoryview) -> list[int]:
    """Return packed numbers, with their signs.

    Raises
    ------
    BundleFormatError
        If the last one is cut off.
    """
    numbers, at = [], 0
    while at < len(data):
        number, at = _varint(data, at)
        numbers.append(number - (1 << 64) if number >> 63 else number)
    return numbers


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
    raise unsound("a number of at most 64 bits", "a longer or unfinished one")
