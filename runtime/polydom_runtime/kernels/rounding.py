"""Where rounding decides: answers that another engine or processor may give otherwise, and none of them is wrong.

Sums of float32 end in other digits if they are added in another order, which matters where two labels have the same
score, two training items are as near, or a number lies on a threshold. Such answers are found by moving all numbers
that sums are made of a little; trees compare exactly, so their thresholds and inputs stay.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools

from .graph import Graph
from .proto import Array

NEAR = 2.0**-18
"""Numbers that differ by less than this share are equal but for rounding: so much do sums of a hundred products lose in
float32."""

TRIES = 64
"""The number of models and rows with moved numbers that are tried."""

LEAVES = frozenset({"class_weights", "target_weights", "base_values"})
"""Attributes of operators that trees add up."""

TERMS = LEAVES | {"coefficients", "intercepts", "support_vectors", "rho", "scale", "offset"}
"""Attributes of operators that sums are made of."""

Rows = NDArray[np.float32]


def has_trees(kinds: Iterator[str]) -> bool:
    """Return whether there are trees among operators, given by their names: then their leaves alone are moved."""
    return any(kind.startswith("ai.onnx.ml.TreeEnsemble") for kind in kinds)


def moved(numbers: Array, rng: np.random.Generator) -> Array:
    """Return numbers that differ by rounding; zeros move by as much as the largest number of their column."""
    scale = np.abs(numbers)
    scale = np.where(scale > 0.0, scale, scale.max(axis=0, initial=0.0) if numbers.ndim > 1 else 0.0)
    return np.asarray(numbers + NEAR * rng.uniform(-1.0, 1.0, numbers.shape) * scale, dtype=numbers.dtype)


def moved_graph(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return a model whose numbers differ by rounding."""
    leaves_only = has_trees(node.kind for node in graph.nodes)
    exponents = {node.inputs[1] for node in graph.nodes if node.kind == "Pow"}
    nodes, constants, names = [], dict(graph.constants), LEAVES if leaves_only else TERMS
    for node in graph.nodes:
        found = {name: node.attributes[name] for name in sorted(names & node.attributes.keys())}
        changed = {name: moved(numbers, rng) for name, numbers in found.items() if isinstance(numbers, np.ndarray)}
        nodes.append(replace(node, attributes={**node.attributes, **changed}))
    for name, array in graph.constants.items():
        if array.dtype.kind == "f" and not leaves_only and name not in exponents:
            constants[name] = moved(array, rng)
    return graph._replace(nodes=nodes, constants=constants)


def unexplained(found: Array, expected: Array, around: Callable[[Bools], Array], precision: float = 0.0) -> Bools:
    """Return where answers of two models differ and rounding does not explain it, shape ``(n_rows,)``.

    `around`: returns the answers of the model of `found` to some rows with its numbers moved, shape ``(n_some,
    TRIES)``. `precision`: how far a regressor may be off, as a share of the range plus the largest absolute value; 0
    for a classifier.
    """
    limit = precision * float(np.ptp(expected) + np.abs(expected).max())
    wrong: Bools = ~(np.abs(found - expected) <= limit)  # also where a number is none
    if wrong.any():
        tried, wanted = around(wrong), expected[wrong]
        low, high = tried.min(axis=1), tried.max(axis=1)
        spread = high - low + limit  # of many items at one distance, no trial may choose the same ones
        explained = (low - spread <= wanted) & (wanted <= high + spread)
        wrong[wrong] = ~(explained if precision else (tried == wanted[:, None]).any(axis=1))
    return wrong
