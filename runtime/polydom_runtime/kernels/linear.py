"""Linear models, scalers, and layers of networks: sums of weighted inputs."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from .proto import Array
from .tensors import KernelStep, Operator, UnknownModel
from .wire import unsound

LAYER = "layer"
"""An operator that ONNX does not have: weights and a bias at once; see `polydom_runtime.kernels.kernel`."""


def _scaler(step: KernelStep) -> list[Array]:
    a = step.array(0)
    offset, scale = step.reals("offset"), step.reals("scale")
    out = step.new(a.shape)
    step.run(partial(np.subtract, a, offset, out))
    step.run(partial(np.multiply, out, scale, out))
    return [out]


def _normalizer(step: KernelStep) -> list[Array]:
    a, norm = step.array(0), step.option("norm", "MAX")
    if a.ndim != 2 or a.shape[0] != 1:
        raise UnknownModel("Normalizer of another shape")
    out = step.new(a.shape)
    row, shares = a.reshape(-1), out.reshape(-1)
    lengths: Mapping[str, Callable[[], Any]] = {
        "L1": lambda: np.add.reduce(np.absolute(row)),
        "L2": lambda: np.sqrt(row.dot(row)),
        "MAX": row.max,
    }
    if norm not in lengths:
        raise unsound("a norm of L1, L2 or MAX", norm)
    length = lengths[norm]

    def compute() -> None:
        np.divide(row, length() or 1.0, shares)

    step.run(compute)
    return [out]


def weighted(step: KernelStep, a: Array, weights: Array, bias: Array | None) -> Array:
    """Return ``a @ weights + bias`` of one row, shape ``(1, n)``; weights have the shape ``(width, n)``."""
    if a.size != weights.shape[0] or a.dtype != weights.dtype:
        raise unsound(f"a row of {weights.shape[0]} numbers", f"shape {a.shape}")
    out = step.new((1, weights.shape[1]), a.dtype)
    row, sums = a.reshape(-1), out.reshape(-1)
    # dot with an output array is the call of numpy that takes the least time for few numbers.
    step.run(partial(np.dot, row, np.ascontiguousarray(weights), sums))
    if bias is not None and bias.any():
        step.run(partial(np.add, sums, bias, sums))
    return out


def _matmul(step: KernelStep) -> list[Array]:
    a, b = step.array(0), step.array(1)
    if a.ndim == 2 and a.shape[0] == 1 and b.ndim == 2 and step.constant[1]:
        return [weighted(step, a, b, None)]
    if a.ndim != 2 or b.ndim != 2 or a.dtype != b.dtype:
        raise unsound("matrices that can be multiplied", f"{a.shape} and {b.shape}")
    step.space.take(a.size * b.shape[1])
    out = step.new((a.shape[0], b.shape[1]), a.dtype)
    step.run(partial(np.matmul, a, b, out))
    return [out]


def _gemm(step: KernelStep) -> list[Array]:
    a, b = step.array(0), step.known(1)
    alpha, beta = (step.real(name, 1.0) for name in ("alpha", "beta"))
    if step.integer("transA", 0) or a.ndim != 2 or a.shape[0] != 1 or b.ndim != 2:
        raise UnknownModel("Gemm of another shape")
    weights = (b.T if step.integer("transB", 0) else b) * b.dtype.type(alpha)
    bias = step.known(2).reshape(-1) * b.dtype.type(beta) if len(step.inputs) > 2 else None
    return [weighted(step, a, weights, bias)]


def _linear_regressor(step: KernelStep) -> list[Array]:
    a, targets = step.array(0), step.integer("targets", 1)
    if step.option("post_transform", "NONE") != "NONE":
        raise UnknownModel("LinearRegressor with a transform")
    weights, bias = coefficients(step, a.shape[-1], targets)
    return [weighted(step, a, weights, bias)]


def _linear_classifier(step: KernelStep) -> list[Array]:
    a = step.array(0)
    labels = step.integers("classlabels_ints")
    if len(labels) < 2 or "classlabels_strings" in step.attributes:
        raise UnknownModel("LinearClassifier without two labels that are integers")
    weights, bias = coefficients(step, a.shape[-1], len(labels))
    if not step.wanted[1] and len(labels) == 2 and (weights[:, 0] == -weights[:, 1]).all() and bias[0] == -bias[1]:
        return [_of_two(step, a, weights[:, 1], bias[1], labels), step.new((1, 2))]
    scores = weighted(step, a, weights, bias)
    label = label_of(step, scores, labels)
    if step.wanted[1]:
        transform(step, scores, step.option("post_transform", "NONE"))
    return [label, scores]


def _of_two(step: KernelStep, a: Array, weights: Array, bias: Any, labels: list[int]) -> Array:
    """Return the array that each run fills with the label, for two classes with opposite scores: one product does."""
    if a.size != len(weights) or a.dtype != weights.dtype:
        raise unsound(f"a row of {len(weights)} numbers", f"shape {a.shape}")
    out, product, row = step.new((1,), np.int64), np.ascontiguousarray(weights).dot, a.reshape(-1)
    first, second = labels
    step.run(lambda: out.fill(second if product(row) + bias > 0.0 else first))
    return out


def coefficients(step: KernelStep, width: int, count: int) -> tuple[Array, Array]:
    """Return weights of shape ``(width, count)`` and a bias for each column; UnknownModel if two classes share one."""
    weights, bias = step.reals("coefficients"), step.reals("intercepts")
    if len(weights) == width and count == 2:
        raise UnknownModel("two classes with one score")
    return weights.reshape(count, width).T, bias if len(bias) else np.zeros(count, np.float32)


def label_of(step: KernelStep, scores: Array, labels: list[int]) -> Array:
    """Return the label with the highest score, the first one of several, shape ``(1,)``."""
    out = step.new((1,), np.int64)
    place = scores.reshape(-1).argmax
    if labels == list(range(len(labels))):
        step.run(lambda: out.fill(place()))
    else:
        step.run(lambda: out.fill(labels[place()]))
    return out


def transform(step: KernelStep, scores: Array, kind: str) -> None:
    """Turn scores into what a classifier states of them; UnknownModel if the transform is not known."""
    if kind == "LOGISTIC":
        from .arithmetic import logistic

        logistic(step, scores, scores)
    elif kind == "SOFTMAX":
        step.run(partial(_softmax, scores))
    elif kind != "NONE":
        raise UnknownModel(f"the transform {kind}")


def _softmax(scores: Array) -> None:
    np.subtract(scores, scores.max(), scores)
    np.exp(scores, scores)
    np.divide(scores, scores.sum(), scores)


OPERATORS: Mapping[str, Operator] = {
    LAYER: lambda step: [weighted(step, step.array(0), step.attributes["weights"], step.attributes["bias"])],
    "MatMul": _matmul,
    "Gemm": _gemm,
    "ai.onnx.ml.Scaler": _scaler,
    "ai.onnx.ml.Normalizer": _normalizer,
    "ai.onnx.ml.LinearRegressor": _linear_regressor,
    "ai.onnx.ml.LinearClassifier": _linear_classifier,
}
