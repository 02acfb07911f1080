"""Reference items: a few training items and their features, to notice features that are not those of the build.

A feature that was edited since, or that gives other numbers with the libraries of this machine, would make every answer
wrong without a sign.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.codec.forms import MAX_ROWS
from polydom_runtime.codec.marks import As, In, Size, Text, Unsound
from polydom_runtime.costs import HUGE
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.features import MAX_FEATURES, FeatureSpace

from .number_types import DTYPES, matters, number_type, retyped

MAX_ITEMS, MAX_BYTES, MAX_AXES = 8, 1 << 16, 8
"""The most items that a bundle has, and the most bytes and axes of one."""

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
    number_type: Annotated[str, Text(3, 0)] = ""
    """The type of the numbers of all training items; empty if they differ, or it is not known."""
    unsteady: Annotated[tuple[str, ...], Size(0, MAX_FEATURES)] = ()
    """The features that gave other numbers when they were computed again on the same item: by a state that they keep,
    a clock or chance. They are not compared, and not computed beside real answers."""
    seen: Annotated[bytes, Size(0, 1 << 13)] = b""
    """Digests of training items, by which test items that are among them are noticed; see `items.digests`."""

    def unsteady_in(self, space: FeatureSpace) -> tuple[int, frozenset[str]]:
        """Return the unsteady features as a bit mask, and the names of them and of their steps."""
        steps = (f.step.name for f in space.features if f.step is not None and f.name in self.unsteady)
        return space.mask_of(self.unsteady), frozenset([*self.unsteady, *steps])

    @property
    def type_name(self) -> str:
        """The type of the numbers of all training items, such as ``uint8``."""
        return np.dtype(self.number_type).name

    def _check(self) -> None:
        if len(self.rows) != len(self.items) or not {len(row) for row in self.rows} <= {len(self.limits)}:
            raise Unsound("have a row for each item, and a limit for each column", [*map(len, self.rows)])
        if self.number_type not in ("", *DTYPES):
            raise Unsound("have a type of numbers, such as <f4", self.number_type)

    def differences(self, space: FeatureSpace, other: str = "") -> Iterator[str]:
        """Yield a line for each feature of a space that differs from what it was on a reference item.

        `space`: a space with the features of the bundle, in its order. `other`: only on items whose numbers this other
        type has, too, and with the numbers in that type.
        """
        part, columns = self.steady(space)
        for item, expected in zip(self.items, self.rows, strict=True):
            found = retyped(restored(item), other) if other else restored(item)
            if part is not None and found is not None:
                wanted, limits = np.array(expected)[columns], np.array(self.limits)[columns]
                yield from differing(part, found, wanted, limits, "when the bundle was built it was", other)

    def type_differences(self, space: FeatureSpace, item: Any) -> Iterator[str]:
        """Yield a line for each feature that gives other numbers for an item's type of numbers than for the build's.

        They are compared on the reference items, and on the item itself.
        """
        if not matters(other := number_type(item), self.number_type):
            return
        yield from self.differences(space, other)
        part, columns = self.steady(space)
        same = retyped(item, self.number_type)
        if part is None or same is None:
            return
        try:
            wanted = part.extract_all(same)
        except FeatureError as e:
            yield str(e).removesuffix(".")
            return
        limits = np.array(self.limits)[columns] if self.limits else np.zeros(len(columns))
        yield from differing(part, item, wanted, limits, f"for the same of {self.type_name} it gives", other)

    def steady(self, space: FeatureSpace) -> tuple[FeatureSpace | None, NDArray[np.intp]]:
        """Return the features that are steady, None if there are none, and their columns."""
        slices = zip(space.names, space.column_slices(), strict=True)
        kept = {name: np.arange(s.start, s.stop) for name, s in slices if name not in self.unsteady}
        return (space.part([*kept]) if kept else None), np.concatenate([np.zeros(0, np.intp), *kept.values()])


def differing(
    space: FeatureSpace, item: Any, wanted: NDArray[Any], limits: NDArray[Any], was: str, number_type: str = ""
) -> Iterator[str]:
    """Yield a line for each feature that fails on an item, or whose values are not the wanted ones within limits."""
    parts = zip(space.names, space.column_slices(), strict=True)
    try:
        row = space.extract_all(item)
    except FeatureError as e:
        if len(space) == 1:
            yield str(e).removesuffix(".")
        else:
            for name, columns in parts:
                yield from differing(space.part([name]), item, wanted[columns], limits[columns], was, number_type)
        return
    differs = ~(np.abs(row - wanted) <= limits + RELATIVE * np.abs(wanted))
    of_type = f" for numbers of {np.dtype(number_type)}" if number_type else ""
    for name, columns in parts:
        if differs[columns].any():
            k = int(np.argmax(differs[columns])) + columns.start
            yield f"feature {name!r} gives {row[k]:.6g}{of_type}; {was} {wanted[k]:.6g}"


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
