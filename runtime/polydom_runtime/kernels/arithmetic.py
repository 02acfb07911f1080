"""Operators that compute numbers one by one, and those that sum or compare along an axis."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from .proto import DTYPES, Array
from .tensors import KernelStep, Operator, UnknownModel, axis_of


def _two(function: np.ufunc, dtype: Any = None) -> Operator:
    def operator(step: KernelStep) -> list[Array]:
        a, b = step.array(0), step.array(1)
        out = step.new(np.broadcast_shapes(a.shape, b.shape), dtype or np.result_type(a, b))
        step.run(partial(function, a, b, out))
        return [out]

    return operator


def _one(function: np.ufunc) -> Operator:
    def operator(step: KernelStep) -> list[Array]:
        a = step.array(0)
        out = step.new(a.shape, a.dtype)
        step.run(partial(function, a, out))
        return [out]

    return operator


def _of_known(function: np.ufunc) -> Operator:
    """Return an operator for constants: of numbers below 0 it makes none, among which engines choose differently."""

    def operator(step: KernelStep) -> list[Array]:
        step.known(0)
        return _one(function)(step)

    return operator


def _relu(step: KernelStep) -> list[Array]:
    a = step.array(0)
    out = step.new(a.shape, a.dtype)
    step.run(partial(np.maximum, a, a.dtype.type(0), out=out))
    return [out]


def _sigmoid(step: KernelStep) -> list[Array]:
    a = step.array(0)
    logistic(step, a, out := step.new(a.shape, a.dtype))
    return [out]


def logistic(step: KernelStep, a: Array, out: Array) -> None:
    """Compute 1 / (1 + exp(-x)) as (1 + tanh(x / 2)) / 2, which does not overflow. Both arrays may be the same."""
    half = a.dtype.type(0.5)
    step.run(partial(np.multiply, a, half, out))
    step.run(partial(np.tanh, out, out))
    step.run(partial(np.multiply, out, half, out))
    step.run(partial(np.add, out, half, out))


def _sum(step: KernelStep) -> list[Array]:
    arrays = [step.array(k) for k in range(len(step.inputs))]
    out = step.new(np.broadcast_shapes(*(a.shape for a in arrays)), arrays[0].dtype)
    step.run(partial(np.copyto, out, arrays[0]))
    for other in arrays[1:]:
        step.run(partial(np.add, out, other, out))
    return [out]


def _pow(step: KernelStep) -> list[Array]:
    a, b = step.array(0), step.array(1)
    out = step.new(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    if step.constant[1] and (b == 2).all():
        step.run(partial(np.multiply, a, a, out))
    else:
        if not step.constant[0] and not (step.constant[1] and (b >= 0).all()):
            raise UnknownModel("Pow below 0")  # see `_of_known`
        step.run(partial(np.power, a, b, out, casting="unsafe"))
    return [out]


def _div(step: KernelStep) -> list[Array]:
    if step.array(0).dtype.kind != "f":
        raise UnknownModel("Div of integers")
    if not step.array(1).all():  # as for the row of zeros that is there when a model is opened
        raise UnknownModel("Div by a number that may be 0")
    return _two(np.divide)(step)


def _where(step: KernelStep) -> list[Array]:
    condition, a, b = step.array(0), step.array(1), step.array(2)
    out = step.new(np.broadcast_shapes(condition.shape, a.shape, b.shape), np.result_type(a, b))
    step.run(lambda: np.copyto(out, np.where(condition, a, b)))
    return [out]


def _cast(step: KernelStep) -> list[Array]:
    a, dtype = step.array(0), DTYPES.get(step.integer("to", 0))
    if dtype is None:
        raise UnknownModel("Cast to another type")
    return [a if dtype == a.dtype else as_type(step, a, dtype)]


def as_type(step: KernelStep, a: Array, dtype: Any) -> Array:
    """Return the numbers of an array in another type."""
    out = step.new(a.shape, dtype)
    step.run(partial(np.copyto, out, a, casting="unsafe"))
    return out


def _axes(step: KernelStep, a: Array) -> tuple[int, ...]:
    axes = step.known_or_attribute(1, "axes")
    if not axes:
        return tuple(range(a.ndim))
    return tuple(axis_of(int(axis), a.ndim) for axis in axes)


def _reduce(function: np.ufunc) -> Operator:
    reduce = function.reduce  # without the checks of functions such as numpy.sum

    def operator(step: KernelStep) -> list[Array]:
        a = step.array(0)
        axes, keep = _axes(step, a), bool(step.integer("keepdims", 1))
        out = step.new(reduce(a, axes, keepdims=keep).shape, a.dtype)
        step.run(partial(reduce, a, axis=axes, out=out, keepdims=keep))
        return [out]

    return operator


def _mean(step: KernelStep) -> list[Array]:
    (out,) = _reduce(np.add)(step)
    if out.dtype.kind != "f" or not out.size:
        raise UnknownModel("ReduceMean of integers or nothing")
    step.run(partial(np.divide, out, out.dtype.type(step.array(0).size // out.size), out))
    return [out]


def _log_sum_exp(step: KernelStep) -> list[Array]:
    a = step.array(0)
    axes, keep = _axes(step, a), bool(step.integer("keepdims", 1))

    def compute() -> Array:
        most = a.max(axis=axes, keepdims=True)
        sums = np.log(np.exp(a - most).sum(axis=axes, keepdims=True)) + most
        return np.asarray(sums if keep else np.squeeze(sums, axis=axes))

    return [step.filled(compute)]


def _arg(function: Callable[..., Any]) -> Operator:
    def operator(step: KernelStep) -> list[Array]:
        a = step.array(0)
        axis, keep = axis_of(step.integer("axis", 0), a.ndim), bool(step.integer("keepdims", 1))
        if step.integer("select_last_index", 0):
            raise UnknownModel("ArgMax of the last one")
        out = step.new(function(a, axis=axis, keepdims=keep).shape, np.int64)
        if out.size == 1 and a.size == a.shape[axis]:
            flat = a.reshape(-1)
            place = flat.argmax if function is np.argmax else flat.argmin
            step.run(lambda: out.fill(place()))
        else:
            step.run(partial(function, a, axis, out, keepdims=keep))
        return [out]

    return operator


def _softmax(step: KernelStep) -> list[Array]:
    a = step.array(0)
    axis = axis_of(step.integer("axis", -1), a.ndim)
    if step.opset < 13 and axis != a.ndim - 1:
        raise UnknownModel("Softmax over several axes")
    out = step.new(a.shape, a.dtype)

    def compute() -> None:
        np.subtract(a, a.max(axis=axis, keepdims=True), out)
        np.exp(out, out)
        np.divide(out, out.sum(axis=axis, keepdims=True), out)

    step.run(compute)
    return [out]


OPERATORS: Mapping[str, Operator] = {
    "Add": _two(np.add),
    "Sub": _two(np.subtract),
    "Mul": _two(np.multiply),
    "Div": _div,
    "Pow": _pow,
    "Equal": _two(np.equal, np.bool_),
    "Less": _two(np.less, np.bool_),
    "Greater": _two(np.greater, np.bool_),
    "LessOrEqual": _two(np.less_equal, np.bool_),
    "GreaterOrEqual": _two(np.greater_equal, np.bool_),
    "Not": _one(np.logical_not),
    "Neg": _one(np.negative),
    "Abs": _one(np.absolute),
    "Exp": _one(np.exp),
    "Log": _of_known(np.log),
    "Sqrt": _of_known(np.sqrt),
    "Tanh": _one(np.tanh),
    "Relu": _relu,
    "Sigmoid": _sigmoid,
    "Sum": _sum,
    "Where": _where,
    "Cast": _cast,
    "ReduceSum": _reduce(np.add),
    "ReduceMean": _mean,
    "ReduceMax": _reduce(np.maximum),
    "ReduceMin": _reduce(np.minimum),
    "ReduceLogSumExp": _log_sum_exp,
    "ArgMax": _arg(np.argmax),
    "ArgMin": _arg(np.argmin),
    "Softmax": _softmax,
}
