"""Operators that only move numbers: to another shape, together, or some of them."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from .arithmetic import as_type
from .extents import Case, Extent
from .moved_extents import MOVING
from .proto import DTYPES, Array
from .tensors import KernelStep, Operator, UnknownModel, axis_of
from .wire import unsound


def _reshaped(step: KernelStep) -> list[Array]:
    """Return an array that shows the numbers of the first input in another shape: the one that the gate finds."""
    a = step.array(0)
    known = zip(step.inputs, step.constant, strict=True)
    extents = [None if b is None else Extent.of(b) if fixed else Extent(b.shape) for b, fixed in known]
    (shape,) = MOVING[step.kind](Case(step.node, extents))
    found = a.reshape(shape)
    if found.size and not np.shares_memory(found, a):
        raise UnknownModel(f"{step.kind} of numbers that are not side by side")
    return [found]


def _transpose(step: KernelStep) -> list[Array]:
    a = step.array(0)
    order = step.integers("perm") or list(range(a.ndim))[::-1]
    return [step.filled(lambda: a.transpose(order))]


def _concat(step: KernelStep) -> list[Array]:
    arrays = [step.array(k) for k in range(len(step.inputs))]
    axis = axis_of(step.integer("axis", 0), arrays[0].ndim)
    if any(a.dtype != arrays[0].dtype for a in arrays):
        raise unsound("inputs of Concat of one type", str([str(a.dtype) for a in arrays])[:80])
    out = step.new(np.concatenate(arrays, axis).shape, arrays[0].dtype)
    step.run(partial(np.concatenate, arrays, axis, out))
    return [out]


def _constant(step: KernelStep) -> list[Array]:
    value = step.attributes.get("value")
    if not isinstance(value, np.ndarray):
        raise UnknownModel("Constant of another kind")
    return [value]


def _constant_of_shape(step: KernelStep) -> list[Array]:
    value = step.attributes.get("value", np.zeros(1, np.float32))
    out = step.new(step.known(0).reshape(-1).tolist(), value.dtype)
    out.fill(value.reshape(-1)[0])
    return [out]


def _gather_last(step: KernelStep) -> list[Array]:
    """ArrayFeatureExtractor: choose along the last axis."""
    a, places = step.array(0), step.array(1).reshape(-1)
    if places.dtype.kind != "i" or a.ndim == 0:
        raise unsound("places that are integers", str(places.dtype))
    length = a.shape[-1]
    shape = (*(a.shape[:-1] or (1,)), len(places))
    are_numbers = step.constant[0] and a.size == length and np.array_equal(a.reshape(-1), np.arange(length))
    if are_numbers and a.dtype == places.dtype:  # the labels of classes are their numbers
        return [places.reshape(shape)]
    out = step.new(shape, a.dtype)
    step.run(partial(np.take, a.reshape(*shape[:-1], length), places, -1, out, "clip"))
    return [out]


def _cast_like(step: KernelStep) -> list[Array]:
    a, dtype = step.array(0), step.array(1).dtype
    if dtype not in DTYPES.values():
        raise UnknownModel("CastLike to another type")
    return [as_type(step, a, dtype)]


OPERATORS: Mapping[str, Operator] = {
    **dict.fromkeys(["Reshape", "Flatten", "Squeeze", "Unsqueeze"], _reshaped),
    "Identity": lambda step: [step.array(0)],
    "Transpose": _transpose,
    "Concat": _concat,
    "Shape": lambda step: [np.array(step.array(0).shape, dtype=np.int64)],
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "CastLike": _cast_like,
    "ai.onnx.ml.ArrayFeatureExtractor": _gather_last,
}
