"""Operators that only move numbers: to another shape, together, or some of them."""

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from .arithmetic import Operator
from .tensor_proto import DTYPES, Array
from .tensors import MAX_DIMENSIONS, MAX_ELEMENTS, Step, UnknownModel, axis_of
from .wire import unsound


def _shown(step: Step, found: Array) -> list[Array]:
    """Return an array that shows the numbers of the first input in another shape, or a copy that follows it."""
    if np.shares_memory(found, step.array(0)) or found.size == 0:
        return [found]
    raise UnknownModel(f"{step.node.kind} of numbers that are not side by side")


def _same(step: Step) -> list[Array]:
    return [step.array(0)]


def _reshape(step: Step) -> list[Array]:
    a, shape = step.array(0), step.known(1).reshape(-1).tolist()
    if step.integer("allowzero", 0):
        raise UnknownModel("Reshape to nothing")
    shape = [a.shape[k] if n == 0 and k < a.ndim else int(n) for k, n in enumerate(shape)]
    rest = math.prod(n for n in shape if n != -1)
    fits = a.size == rest if -1 not in shape else rest > 0 and a.size % rest == 0
    if any(n < -1 for n in shape) or shape.count(-1) > 1 or not fits:
        raise unsound(f"a shape for {a.size} numbers", str(shape))
    return _shown(step, a.reshape(shape))


def _flatten(step: Step) -> list[Array]:
    a = step.array(0)
    axis = step.integer("axis", 1)
    axis = a.ndim if axis == a.ndim else axis_of(axis, a.ndim)
    return _shown(step, a.reshape(math.prod(a.shape[:axis]), math.prod(a.shape[axis:])))


def _transpose(step: Step) -> list[Array]:
    a = step.array(0)
    order = step.integers("perm") or list(range(a.ndim))[::-1]
    if sorted(order) != list(range(a.ndim)):
        raise unsound("an order of all axes", str(order))
    return [step.filled(lambda: a.transpose(order))]


def _squeeze(step: Step) -> list[Array]:
    a = step.array(0)
    axes = step.known_or_attribute(1, "axes")
    axes = [k for k, n in enumerate(a.shape) if n == 1] if axes is None else [axis_of(int(x), a.ndim) for x in axes]
    if any(a.shape[axis] != 1 for axis in axes):
        raise unsound("axes of length 1", str(axes))
    return _shown(step, a.reshape([n for k, n in enumerate(a.shape) if k not in axes]))


def _unsqueeze(step: Step) -> list[Array]:
    a = step.array(0)
    axes = step.known_or_attribute(1, "axes") or []
    places = sorted(axis_of(int(axis), a.ndim + len(axes)) for axis in axes)
    if len(set(places)) != len(places):
        raise unsound("different axes", str(axes))
    rest = iter(a.shape)
    return _shown(step, a.reshape([1 if k in places else next(rest) for k in range(a.ndim + len(places))]))


def _concat(step: Step) -> list[Array]:
    arrays = [step.array(k) for k in range(len(step.inputs))]
    axis = axis_of(step.integer("axis", 0), arrays[0].ndim)
    others = [a.shape[:axis] + a.shape[axis + 1 :] for a in arrays]
    if any(a.dtype != arrays[0].dtype or a.ndim != arrays[0].ndim for a in arrays) or len(set(others)) != 1:
        raise unsound("inputs of Concat of like shapes", str([a.shape for a in arrays]))
    length = sum(a.shape[axis] for a in arrays)
    out = step.new((*arrays[0].shape[:axis], length, *arrays[0].shape[axis + 1 :]), arrays[0].dtype)
    step.run(partial(np.concatenate, arrays, axis, out))
    return [out]


def _shape(step: Step) -> list[Array]:
    return [np.array(step.array(0).shape, dtype=np.int64)]


def _constant(step: Step) -> list[Array]:
    value = step.attributes.get("value")
    if not isinstance(value, np.ndarray):
        raise UnknownModel("Constant of another kind")
    return [value]


def _constant_of_shape(step: Step) -> list[Array]:
    shape = step.known(0).reshape(-1).tolist()
    value = step.attributes.get("value", np.zeros(1, np.float32))
    if len(shape) > MAX_DIMENSIONS or any(not 0 <= n <= MAX_ELEMENTS for n in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise unsound(f"a shape of at most {MAX_ELEMENTS} numbers", str(shape[:MAX_DIMENSIONS]))
    out = step.new(shape, value.dtype)
    out.fill(value.reshape(-1)[0])
    return [out]


def _gather_last(step: Step) -> list[Array]:
    """ArrayFeatureExtractor: choose along the last axis."""
    a, places = step.array(0), step.array(1).reshape(-1)
    if places.dtype.kind != "i" or a.ndim == 0:
        raise unsound("places that are integers", str(places.dtype))
    length = a.shape[-1]
    if step.constant[1] and len(places) and (places.min() < 0 or places.max() >= length):
        raise unsound(f"places below {length}", str(places.max()))
    shape = (*(a.shape[:-1] or (1,)), len(places))
    are_numbers = step.constant[0] and a.size == length and np.array_equal(a.reshape(-1), np.arange(length))
    if are_numbers and a.dtype == places.dtype:  # the labels of classes are their numbers
        return [places.reshape(shape)]
    out = step.new(shape, a.dtype)
    step.run(partial(np.take, a.reshape(*shape[:-1], length), places, -1, out, "clip"))
    return [out]


def _cast_like(step: Step) -> list[Array]:
    a, dtype = step.array(0), step.array(1).dtype
    if dtype not in DTYPES.values():
        raise UnknownModel("CastLike to another type")
    out = step.new(a.shape, dtype)
    step.run(partial(np.copyto, out, a, casting="unsafe"))
    return [out]


SHAPES: Mapping[str, Operator] = {
    "Identity": _same,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Shape": _shape,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "CastLike": _cast_like,
    "ai.onnx.ml.ArrayFeatureExtractor": _gather_last,
}
"""The operators by their names."""
