"""How large the results of operators are that only move numbers, and the numbers that may be a shape."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from .extents import MAX_VALUES, Case, Extent, Range, Rule, Shape, together
from .proto import INT32, INT64, Array
from .tensors import axis_of
from .wire import unsound


def _concat(case: Case) -> list[Shape]:
    shapes, axis = [case.shape(k) for k in range(len(case.inputs))], case.axis(0)
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) != 1 or len(set(map(len, shapes))) != 1:
        raise unsound("inputs of Concat of like shapes", str(shapes)[:80])
    return [(*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])]


def constant_of(case: Case) -> Array:
    """Return the numbers of Constant, or the one of ConstantOfShape; BundleFormatError if it has others."""
    fills = case.kind == "ConstantOfShape"
    value = case.attributes.get("value", np.zeros(1, np.float32) if fills else None)
    alone = len(case.attributes) <= 1  # of several, an engine may take another one
    if not isinstance(value, np.ndarray) or not alone or (fills and value.size != 1):
        raise unsound(f"numbers with a shape in {case.kind}, one to fill an array", "others")
    return value


def _flatten(case: Case) -> list[Shape]:
    shape, axis = case.shape(), case.integer("axis", 1)
    axis = axis if axis == len(shape) else axis_of(axis, len(shape))
    return [(math.prod(shape[:axis]), math.prod(shape[axis:]))]


def _check_places(case: Case, first: int, length: int) -> None:
    """Check that all places are in the array, if they are known: what is read elsewhere depends on the engine."""
    within = case.extent(1).within
    case.sure &= within is not None
    if within and not first <= within[0] <= within[1] < length:
        raise unsound(f"places from {first} to {length - 1} for {case.kind}", f"{within[0]} to {within[1]}")


def _gather(case: Case) -> list[Shape]:
    shape, axis = case.shape(), case.axis(0)
    _check_places(case, -shape[axis], shape[axis])
    return [(*shape[:axis], *case.shape(1), *shape[axis + 1 :])]


def _gather_each(case: Case) -> list[Shape]:
    length = case.shape()[case.axis(0)]
    _check_places(case, -length, length)
    return [case.shape(1)]


def _gather_last(case: Case) -> list[Shape]:
    """ArrayFeatureExtractor: choose along the last axis."""
    shape = case.shape()
    if not shape:
        raise unsound("an array to choose from", "one number")
    _check_places(case, 0, shape[-1])
    return [(*(shape[:-1] or (1,)), math.prod(case.shape(1)))]


def _split(case: Case) -> list[Shape]:
    shape, axis, n = case.shape(), case.axis(0), len(case.node.outputs)
    parts = case.values_or_attribute(1, "split")
    if parts is None:
        step = -(-shape[axis] // n)
        parts = [max(min(step, shape[axis] - k * step), 0) for k in range(n)]
    if case.integer("num_outputs", n) != n or len(parts) != n or sum(parts) != shape[axis] or min(parts) < 0:
        raise unsound(f"{n} parts of {shape[axis]}", str(parts)[:80])
    return [(*shape[:axis], part, *shape[axis + 1 :]) for part in parts]


def _transpose(case: Case) -> list[Shape]:
    shape = case.shape()
    order = case.integers("perm") or list(range(len(shape)))[::-1]
    if sorted(order) != list(range(len(shape))):
        raise unsound("an order of all axes", str(order)[:80])
    return [tuple(shape[k] for k in order)]


def _reshape(case: Case) -> list[Shape]:
    old, keeps = case.shape(), not case.integer("allowzero", 0)
    new = [old[k] if n == 0 and keeps and k < len(old) else n for k, n in enumerate(case.values(1))]
    size, rest = math.prod(old), math.prod(n for n in new if n != -1)
    if new.count(-1) == 1 and rest > 0 and size % rest == 0:
        new[new.index(-1)] = size // rest
    if min(new, default=0) < 0 or math.prod(new) != size:
        raise unsound(f"a shape for {size} numbers", str(new)[:80])
    return [tuple(new)]


def _slice(case: Case) -> list[Shape]:
    shape = list(case.shape())
    starts, ends, axes, steps = (
        case.values_or_attribute(k + 1, name) for k, name in enumerate(("starts", "ends", "axes", "steps"))
    )
    count = len(starts or ())
    axes, steps = list(range(count)) if axes is None else axes, [1] * count if steps is None else steps
    if not starts or ends is None or {len(ends), len(axes), len(steps)} != {count} or 0 in steps:
        raise unsound("a start, an end and a step for each axis", "others")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        place = axis_of(axis, len(shape))
        shape[place] = len(range(shape[place])[start:end:step])
    return [tuple(shape)]


def _squeeze(case: Case) -> list[Shape]:
    shape, axes = case.shape(), case.values_or_attribute(1, "axes")
    gone = {k for k, n in enumerate(shape) if n == 1} if axes is None else {axis_of(k, len(shape)) for k in axes}
    if any(shape[k] != 1 for k in gone):
        raise unsound("axes of length 1", f"{sorted(gone)} of {shape}")
    return [tuple(n for k, n in enumerate(shape) if k not in gone)]


def _tile(case: Case) -> list[Shape]:
    shape, times = case.shape(), case.values(1)
    if len(times) != len(shape):
        raise unsound(f"{len(shape)} repeats", f"{len(times)}")
    return [tuple(n * k for n, k in zip(shape, times, strict=True))]


def _unsqueeze(case: Case) -> list[Shape]:
    axes, shape = case.values_or_attribute(1, "axes") or [], case.shape()
    size, rest = len(shape) + len(axes), iter(shape)
    places = {axis_of(axis, size) for axis in axes}
    if len(places) != len(axes):
        raise unsound("different axes", str(axes)[:80])
    return [tuple(1 if k in places else next(rest) for k in range(size))]


def _shape_part(case: Case) -> list[int]:
    return list(case.shape()[case.integer("start", 0) : case.attributes.get("end") and case.integer("end", 0)])


MOVING: Mapping[str, Rule] = {
    "Concat": _concat,
    "Constant": lambda case: [constant_of(case).shape],
    "ConstantOfShape": lambda case: [tuple(case.values(0))],
    "Expand": lambda case: [together([case.shape(), tuple(case.values(1))])],
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_each,
    "Reshape": _reshape,
    "Shape": lambda case: [(len(_shape_part(case)),)],
    "Size": lambda case: [()],
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "ai.onnx.ml.ArrayFeatureExtractor": _gather_last,
}


def _joined(case: Case) -> list[int] | None:
    if any(len(case.shape(k)) != 1 for k in range(len(case.inputs))):
        return None
    return [value for k in range(len(case.inputs)) for value in case.values(k)]


def _chosen(case: Case) -> list[int] | None:
    values = case.values(0)
    return [values[k] for k in case.values(1)] if len(case.shape()) == 1 else None


def _first(case: Case) -> list[int] | None:
    return case.values(0) if case.integer("to", INT64) == INT64 else None


VALUES: Mapping[str, Callable[[Case], list[int] | None]] = {
    **dict.fromkeys(["Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"], _first),
    "Concat": _joined,
    "Gather": _chosen,
}
"""The operators that make shapes of shapes."""


def values_of(case: Case) -> list[int] | None:
    """Return the numbers of the first output, if they may be a shape and are known."""
    found: list[int] | None = None
    if case.kind == "Shape":
        found = _shape_part(case)
    elif case.kind == "Size":
        found = [math.prod(case.shape())]
    elif case.kind == "Constant":
        found = Extent.of(constant_of(case)).values
    elif case.kind in VALUES and all(e is not None and e.values is not None for e in case.inputs):
        found = VALUES[case.kind](case)
    return found if found is None or len(found) <= MAX_VALUES else None


def within_of(case: Case) -> Range | None:
    """Return the least and the largest integer that the first output may hold: one that the inputs hold."""
    read = case.inputs if case.kind == "Concat" else case.inputs[1:3] if case.kind == "Where" else case.inputs[:1]
    if case.kind == "Cast" and case.integer("to", INT64) not in (INT32, INT64):
        return None
    known = [extent.within for extent in read if extent is not None and extent.within is not None]
    if len(known) < len(read) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)
