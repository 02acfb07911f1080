"""Changes of documents, which are trees of maps, lists and plain values, and of raw bytes."""

import copy
import struct
from collections.abc import Iterator
from random import Random
from typing import Any

DEEP, HUGE, DEPTH = "@@deep@@", "@@huge@@", 20_000
"""Texts that a format replaces, once it has written a document: by so many lists inside each other, and by a number
that no float holds."""

NUMBERS = (
    *(-1, 0, 1, 2, 255, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63)),
    *(0.0, -0.0, 0.5, 1.0, -1.5, 5e-324, 1e-300, 1e-9, 1e6, 1e15, 1e300, 1e308),
    *(float("nan"), float("inf"), -float("inf")),
)
TEXTS = ("", "x", "\0", "\x1b[2J", "a\nb", "\u202eé", "hot", "cold", "1", "nan", DEEP, HUGE)
FLOAT = struct.Struct("<d")

Place = tuple[Any, Any]
"""A map or a list, and a key or a position in it."""


def changed(document: Any, rng: Random) -> Any:
    """Return a document with some changes, mostly one; the given one changes too."""
    root = [document]
    for _ in range(1 + int(rng.expovariate(1.0))):
        places = list(_places(root))
        _change(rng.choice(places), rng.choice(places), rng)
        root = root or [None]
    return root[0]


def altered(data: bytes, rng: Random) -> bytes:
    """Return other bytes: cut, extended, with a part repeated or left out, with other bits, or with an odd number."""
    at = rng.randrange(len(data) + 1)
    end = min(at + rng.choice((1, 2, 4, 8, 64)), len(data))
    inserted = rng.choice((b"\0", b"\xff", b"\n", data[:8], rng.randbytes(8), bytes(4096)))
    match rng.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data + inserted
        case 2:
            return data[:at] + inserted + data[at:]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:end] + data[at:]
        case 5:
            return _with_other_float(data, at - at % 8, rng)
    return data[:at] + bytes(byte ^ 1 << rng.randrange(8) for byte in data[at : at + 1]) + data[at + 1 :]


def _with_other_float(data: bytes, at: int, rng: Random) -> bytes:
    """Return bytes in which the float64 at a position is another one: near, odd, or from another position."""
    old = FLOAT.unpack_from(data, at)[0] if at + 8 <= len(data) else 1.0
    other = 8 * rng.randrange(len(data) // 8 + 1)
    near = FLOAT.pack(old * rng.choice((0.5, 0.999, 1.001, 2.0, -1.0)))
    new = rng.choice((near, data[other : other + 8], FLOAT.pack(float(rng.choice(NUMBERS)))))
    return data[:at] + new + data[at + 8 :]


def _places(node: Any) -> Iterator[Place]:
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _change(place: Place, other: Place, rng: Random) -> None:
    """Change what is at one place; it may take what is at the other one."""
    (node, key), (_, there) = place, other
    value, taken = node[key], copy.deepcopy(other[0][there])
    how = rng.randrange(10)
    if how == 0:
        del node[key]
    elif how == 1:
        node[key] = taken
    elif how == 2:
        node[key], other[0][there] = taken, copy.deepcopy(value)
    elif how == 3 and isinstance(node, list):
        node.insert(key, taken if rng.random() < 0.2 else copy.deepcopy(value))
    elif how == 3:
        node[rng.choice(TEXTS)] = taken
    elif how == 4:
        node[key] = _odd(rng)
    else:
        node[key] = _near(value, rng)


def _odd(rng: Random) -> Any:
    """Return a value of any type."""
    size = rng.choice((0, 1, 3, 60, 1000, 70_000 if rng.random() < 0.05 else 300))
    values = None, True, b"\xff" * size, "x" * size, [rng.choice(NUMBERS)] * size, {"x": 1}, rng.choice(TEXTS)
    return rng.choice((*values, *rng.sample(NUMBERS, 5)))


def _near(value: Any, rng: Random) -> Any:
    """Return a value of the same type, or nearly."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        near = rng.choice((-value, value + 1, value - 1, value * 2, value * 1e9, float(value), *rng.sample(NUMBERS, 4)))
        return max(-(2**63), min(near, 2**64 - 1)) if isinstance(near, int) else near  # as msgpack
    if isinstance(value, str):
        return rng.choice((value[:-1], value * 2, value + rng.choice(TEXTS), value * 200, rng.choice(TEXTS)))
    if isinstance(value, bytes):
        return altered(value, rng)
    if isinstance(value, list) and value:
        part = rng.randrange(len(value))
        return rng.choice((value[::-1], value[:part], value[part:], value * 2, rng.sample(value, len(value))))
    return _odd(rng)
