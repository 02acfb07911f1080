"""Support vector machines: sums of similarities to vectors of the training items."""

from collections.abc import Mapping
from functools import partial
from itertools import combinations

import numpy as np

from .linear import label_of
from .proto import Array
from .tensors import Call, KernelStep, Operator, UnknownModel


def _similarities(step: KernelStep, count: int) -> Array:
    """Return the similarity of the row to each support vector, shape ``(count,)``."""
    a = step.array(0)
    width = a.size
    vectors = step.reals("support_vectors").reshape(count, width)
    gamma, offset, degree = (np.float32(x) for x in step.reals("kernel_params"))
    row, out = a.reshape(-1), step.new((count,))
    kind = step.option("kernel_type", "LINEAR")
    if kind == "RBF":
        apart, columns, column = step.new((width, count)), np.ascontiguousarray(vectors.T), row.reshape(width, 1)
        step.run(partial(np.subtract, columns, column, apart))
        step.run(partial(np.multiply, apart, apart, apart))
        step.run(partial(np.add.reduce, apart, 0, None, out))  # column after column, as onnxruntime adds them
        step.run(partial(np.multiply, out, -gamma, out))
        step.run(partial(np.exp, out, out))
        return out
    step.run(partial(np.dot, vectors, row, out))
    if kind == "POLY" and degree != np.floor(degree):
        raise UnknownModel("a kernel with a fraction as its degree")  # powers of numbers below 0 are none
    if kind in ("POLY", "SIGMOID"):
        step.run(partial(np.multiply, out, gamma, out))
        step.run(partial(np.add, out, offset, out))
        step.run(_power(step, out, float(degree)) if kind == "POLY" else partial(np.tanh, out, out))
    return out


def _power(step: KernelStep, a: Array, degree: float) -> Call:
    """Return a call that raises numbers to a power in their own array: a small one by products, which are quicker."""
    if degree not in (1.0, 2.0, 3.0, 4.0):
        return partial(np.power, a, np.float32(degree), a)
    factor = step.new(a.shape)

    def multiply() -> None:
        np.copyto(factor, a)
        for _ in range(int(degree) - 1):
            np.multiply(a, factor, a)

    return multiply


def _regressor(step: KernelStep) -> list[Array]:
    count = step.integer("n_supports", 0)
    if count < 1 or step.integer("one_class", 0) or step.option("post_transform", "NONE") != "NONE":
        raise UnknownModel("SVMRegressor of another kind")
    weights, rho = step.reals("coefficients"), float(step.reals("rho")[0])
    out = step.new((1, 1))
    dot, alike = weights.dot, _similarities(step, count)
    step.run(lambda: out.fill(dot(alike) + rho))
    return [out]


def _classifier(step: KernelStep) -> list[Array]:
    """The class with the most votes of all pairs; the first one of several."""
    labels, sizes = step.integers("classlabels_ints"), step.integers("vectors_per_class")
    n = len(labels)
    if n < 2 or len(sizes) != n or step.wanted[1] or len(step.reals("prob_a")):
        raise UnknownModel("SVMClassifier with scores or without vectors")
    count = sum(sizes)
    given = step.reals("coefficients").reshape(n - 1, count)
    rho = step.reals("rho")
    pairs = list(combinations(range(n), 2))
    ends = np.cumsum((0, *sizes)).tolist()
    weights = step.new((len(pairs), count))
    for k, (i, j) in enumerate(pairs):
        weights[k, ends[i] : ends[i + 1]] = given[j - 1, ends[i] : ends[i + 1]]
        weights[k, ends[j] : ends[j + 1]] = given[i, ends[j] : ends[j + 1]]
    sums = step.new((len(pairs),))
    step.run(partial(np.dot, weights, _similarities(step, count), sums))
    step.run(partial(np.add, sums, rho, sums))
    if n == 2:
        label, (first, second) = step.new((1,), np.int64), labels
        step.run(lambda: label.fill(first if sums[0] > 0.0 else second))
        return [label, step.new((1, 1))]
    winners, losers = np.array(pairs).T.copy()
    votes = step.new((n,), np.int64)
    step.run(lambda: np.copyto(votes, np.bincount(np.where(sums > 0.0, winners, losers), minlength=n)))
    return [label_of(step, votes, labels), step.new((1, n))]


OPERATORS: Mapping[str, Operator] = {
    "ai.onnx.ml.SVMRegressor": _regressor,
    "ai.onnx.ml.SVMClassifier": _classifier,
}
