"""Reference items: a few training items and their features, to notice features that are not those of the build.

A feature that was edited since, or that gives other numbers with the libraries of this machine, would make every answer
wrong without a sign.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from polydom_runtime.codec.forms import MAX_ROWS
from polydom_runtime.codec.marks import As, In, Size, Unsound
from polydom_runtime.costs import HUGE
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.features import FeatureSpace

MAX_ITEMS, MAX_BYTES, MAX_AXES = 8, 1 << 16, 8
"""The most items that a bundle has, and the most bytes and axes of one."""

DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{kind}{n}" for kind in "iu" for n in (2, 4, 8)), "<f2", "<f4", "<f8"])
"""The types of arrays that are stored."""

RELATIVE = 1e-3
"""Features may differ by this share of their value, and by this share of their spread over the training items: other
versions of numpy and other processors round differently."""


def _read(item: Any) -> tuple[Any, ...]:
    found = _checked(item)
    if stored(restored(found)) is None:
        raise Unsound(f"have at most {MAX_BYTES} bytes", item)
    return found


def _checked(item: object) -> tuple[Any, ...]:
    if type(item) is not list or not item:
        raise Unsound("be a list of its kind and its content", item)
    kind, *parts = item
    if kind == "array" and len(parts) == 3:
        return kind, *_checked_array(*parts)
    if kind == "value" and len(parts) == 1 and (type(parts[0]) in (str, bytes) or _is_number(parts[0])):
        return kind, parts[0]
    if kind in ("list", "tuple") and all(map(_is_number, parts)):
        return kind, *parts
    raise Unsound("be an array, a text, a number or a list of numbers", item)


def _checked_array(dtype: object, shape: object, data: object) -> Sequence[Any]:
    if type(dtype) is not str or dtype not in DTYPES or type(shape) is not list or type(data) is not bytes:
        raise Unsound("have a type, a shape and bytes", (dtype, shape))
    if not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape):
        raise Unsound(f"have axes of 0 to {MAX_BYTES} numbers", shape)
    sizes = tuple(shape)
    # Not the product alone: numpy makes no array of no numbers whose other axes are huge.
    if len(sizes) > MAX_AXES or math.prod(max(n, 1) for n in sizes) > MAX_BYTES:
        raise Unsound(f"have at most {MAX_AXES} axes and {MAX_BYTES} numbers", sizes)
    if math.prod(sizes) * np.dtype(dtype).itemsize != len(data):
        raise Unsound(f"have the numbers of an array of shape {sizes}", f"{len(data)} bytes")
    return dtype, sizes, data


def _is_number(value: object) -> bool:
    return type(value) in (int, float, bool) and (type(value) is not int or -(1 << 63) <= value < 1 << 63)


def _written(item: tuple[Any, ...]) -> list[Any]:
    return [list(part) if isinstance(part, tuple) else part for part in item]


Stored = Annotated[tuple[Any, ...], As(_read, _written)]
"""An item as it is stored: its kind, and what it is made from."""


ReferenceRow = Annotated[tuple[float, ...], Size(1, MAX_ROWS)]


class References(NamedTuple):
    """Items and the row of features that each one had when the bundle was built."""

    items: Annotated[tuple[Stored, ...], Size(0, MAX_ITEMS)] = ()
    rows: Annotated[tuple[ReferenceRow, ...], Size(0, MAX_ITEMS), In(-HUGE, HUGE)] = ()
    """A row for each item, with all columns in the order of the bundle."""
    limits: Annotated[tuple[float, ...], In(0.0, math.inf)] = ()
    """How much each column may differ, besides a share of its value."""

    def _check(self) -> None:
        if len(self.rows) != len(self.items) or not {len(row) for row in self.rows} <= {len(self.limits)}:
            raise Unsound("have a row for each item, and a limit for each column", [*map(len, self.rows)])

    def differences(self, space: FeatureSpace) -> Iterator[str]:
        """Yield a line for each feature of a space that differs from what it was on a reference item.

        `space`: a space with the features of the bundle, in its order.
        """
        for item, expected in zip(self.items, self.rows, strict=True):
            try:
                row = space.extract_all(restored(item))
            except FeatureError as e:
                yield str(e)
                continue
            wanted = np.array(expected)
            differs = ~(np.abs(row - wanted) <= np.array(self.limits) + RELATIVE * np.abs(wanted))
            for name, columns in zip(space.names, space.column_slices(), strict=True):
                if differs[columns].any():
                    k = int(np.argmax(differs[columns])) + columns.start
                    yield f"feature {name!r} gives {row[k]:.6g}; when the bundle was built it was {wanted[k]:.6g}"


def stored(item: Any) -> Stored | None:
    """Return an item as it can be stored, or None if it is of another kind or too large."""
    if type(item) is np.ndarray:
        dtype = item.dtype.newbyteorder("<")
        small = item.nbytes <= MAX_BYTES and item.ndim <= MAX_AXES
        return ("array", dtype.str, item.shape, item.astype(dtype).tobytes()) if small and dtype.str in DTYPES else None
    if _is_number(item) or (type(item) is bytes and len(item) <= MAX_BYTES):
        return "value", item
    if type(item) is str and len(item.encode(errors="ignore").decode()) == len(item) <= MAX_BYTES // 4:
        return "value", item
    if type(item) in (list, tuple) and len(item) <= MAX_BYTES // 8 and all(map(_is_number, item)):
        return type(item).__name__, *item
    return None


def restored(item: Stored) -> Any:
    """Return the item that was stored."""
    kind, *parts = item
    if kind == "array":
        dtype, shape, data = parts
        return np.frombuffer(data, dtype=dtype).reshape(shape)
    return parts[0] if kind == "value" else list(parts) if kind == "list" else tuple(parts)
