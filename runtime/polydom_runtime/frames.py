"""Frames of a file: msgpack maps, each with its length and its CRC-32, so that a cut file is valid up to the cut."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgpack

FRAME = struct.Struct("<II")


def frame(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a frame: length, CRC-32 and the packed map."""
    payload = bytes(msgpack.packb(document))
    return FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def frames(data: bytes, start: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the end position and the content of each valid frame from `start` on; stop at the first one that is not."""
    while start + FRAME.size <= len(data):
        length, crc = FRAME.unpack_from(data, start)
        start += FRAME.size
        payload = data[start : start + length]
        if length == 0 or len(payload) != length or zlib.crc32(payload) != crc:
            return
        start += length
        try:
            document = msgpack.unpackb(payload, raw=False, strict_map_key=True)
        except Exception:  # msgpack raises many kinds of errors
            return
        if not isinstance(document, dict):
            return
        yield start, document


def has_frame(data: bytes, start: int) -> bool:
    """Tell whether a valid frame begins anywhere from `start` on; slow, and only used for damaged files."""
    for at in range(start, len(data) - FRAME.size):
        length, crc = FRAME.unpack_from(data, at)
        payload = data[at + FRAME.size : at + FRAME.size + length] if 0 < length <= len(data) - at - FRAME.size else b""
        if payload and zlib.crc32(payload) == crc:
            return True
    return False
