"""Changes of ONNX models at the level of protobuf's wire format: fields, lengths, numbers and names."""

import copy
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from .trees import NUMBERS, altered

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Schema = Mapping[int, Any]
TENSOR: Schema = {}
VALUE: Schema = {2: {1: {2: {1: {}}}}}
ATTRIBUTE: dict[int, Any] = {5: TENSOR}
GRAPH: Schema = {1: {5: ATTRIBUTE}, 5: TENSOR, 11: VALUE, 12: VALUE, 13: VALUE}
MODEL: Schema = {7: GRAPH, 8: {}}
ATTRIBUTE[6] = GRAPH
"""The fields of a model that hold messages, by their numbers."""

OPERATORS = (
    *(b"Loop", b"If", b"Scan", b"Identity", b"Reshape", b"Expand", b"Tile", b"TopK", b"Gather", b"Cast", b"Concat"),
    *(b"ConstantOfShape", b"Shape", b"ReduceSum", b"ArgMax", b"MatMul", b"Add", b"Mul", b"Div", b"Softmax", b"Slice"),
    *(b"Scaler", b"Normalizer", b"LinearClassifier", b"LinearRegressor", b"SVMClassifier", b"ZipMap"),
)


@dataclass(slots=True)
class Field:
    """A field of a message: a number, bytes, or the fields of an inner message."""

    tag: int
    kind: int
    value: int | bytes | list["Field"]
    lie: int = 0  # added to the length that is written


def mutated(data: bytes, rng: Random) -> bytes:
    """Return a model with some changes, mostly one or two."""
    message = parsed(data, MODEL)
    for _ in range(1 + int(rng.expovariate(1.0))):
        places = list(_places(message))
        if places:
            _change(rng.choice(places), rng.choice(places), rng)
    return encoded(message)


def parsed(data: bytes, schema: Schema) -> list[Field]:
    """Return the fields of a sound message."""
    found, at = [], 0
    while at < len(data):
        key, at = _read(data, at)
        tag, kind = key >> 3, key & 7
        if kind == VARINT:
            number, at = _read(data, at)
            found.append(Field(tag, kind, number))
            continue
        size, at = _read(data, at) if kind == BYTES else (4 if kind == FIXED32 else 8, at)
        content, at = data[at : at + size], at + size
        found.append(Field(tag, kind, parsed(content, schema[tag]) if tag in schema else content))
    return found


def encoded(message: list[Field]) -> bytes:
    """Return the bytes of a message."""
    parts = []
    for field in message:
        value = encoded(field.value) if isinstance(field.value, list) else field.value
        parts.append(varint(field.tag << 3 | field.kind))
        if isinstance(value, int):
            parts.append(varint(value))
        else:
            parts += [varint(max(len(value) + field.lie, 0)), value] if field.kind == BYTES else [value]
    return b"".join(parts)


def varint(number: int) -> bytes:
    """Return a number as protobuf writes it; of a negative one the last 64 bits."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _read(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while data[at] & 0x80:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1


def _places(message: list[Field]) -> Iterator[tuple[list[Field], int]]:
    for position, field in enumerate(message):
        yield message, position
        if isinstance(field.value, list):
            yield from _places(field.value)


def _change(place: tuple[list[Field], int], other: tuple[list[Field], int], rng: Random) -> None:
    message, at = place
    field, taken = message[at], other[0][other[1]]
    match rng.randrange(12):
        case 0:
            del message[at]
        case 1:
            message.insert(at, copy.deepcopy(field))
        case 2:
            message.extend(Field(field.tag, field.kind, field.value) for _ in range(rng.choice((2, 50, 300))))
        case 3:
            near = rng.randrange(len(message))
            message[at], message[near] = message[near], message[at]
        case 4:
            field.tag = rng.choice((taken.tag, field.tag + 1, 0, 15, 25, 2**29 - 1))
        case 5:
            field.kind = rng.randrange(8)
        case 6:
            field.lie = rng.choice((-1, 1, 4, 1 << 20, 1 << 31, 1 << 63))
        case 7 if isinstance(field.value, int) is isinstance(taken.value, int):
            field.value = taken.value if not isinstance(taken.value, list) else encoded(taken.value)
        case _:
            field.value = _near(field, message, rng)


def _near(field: Field, message: list[Field], rng: Random) -> int | bytes:
    """Return another value for a field: of a neighbour, an odd one, or nearly the same."""
    value = field.value
    neighbour = rng.choice([f.value for f in message if f.tag == field.tag] or [value])
    odd = rng.choice(NUMBERS)
    if isinstance(value, int):
        ints = value + 1, value - 1, value ^ 1, rng.randrange(8), int(odd) if abs(odd) < 2**64 else 7
        return rng.choice((*ints, neighbour if isinstance(neighbour, int) else 0))
    if isinstance(value, list):
        return altered(encoded(value), rng)
    if field.kind == FIXED32:
        return struct.pack("<f", rng.choice((max(-3e38, min(odd, 3e38)), float("nan"), float("inf"), odd == odd)))
    if rng.random() < 0.3:
        return rng.choice(OPERATORS)
    if rng.random() < 0.3 and len(value) > 3:
        return _other_number(value, rng)
    return neighbour if isinstance(neighbour, bytes) and rng.random() < 0.3 else altered(value, rng)


def _other_number(packed: bytes, rng: Random) -> bytes:
    """Return packed numbers with one byte or one float32 replaced, so that their count stays the same."""
    at = rng.randrange(len(packed))
    if rng.random() < 0.5:
        return (
            packed[:at]
            + bytes([rng.choice((packed[rng.randrange(len(packed))], rng.randrange(128)))])
            + packed[at + 1 :]
        )
    at -= at % 4
    odd = struct.pack("<f", rng.choice((0.0, -1.0, 1e-30, 3e38, -3e38, float("nan"), float("inf"), 2.0**31)))
    return (packed[:at] + odd + packed[at + 4 :])[: max(len(packed), 4)]
