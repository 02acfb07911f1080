"""The label of two classes that share one score: a comparison with zero, if nothing else is asked for."""

from collections.abc import Mapping, Sequence

import numpy as np

from .graph import Operation
from .proto import Array
from .tensors import KernelStep, Operator, UnknownModel

IS_POSITIVE = "is positive"
"""The name of an operator that ONNX does not have: 1 if a score is above zero, and else 0."""


def compared(nodes: Sequence[Operation], constants: Mapping[str, Array]) -> list[Operation]:
    """Let the place of the larger of two scores that mirror each other be the sign of the second one.

    Networks state ``(1 - s, s)`` with a sigmoid s, linear models ``(-s, s)``. Only for models whose label alone is
    wanted: what they then compute needlessly is left out later.
    """
    writers = {name: node for node in nodes for name in node.outputs}
    found = []
    for node in nodes:
        score = _mirrored(writers.get(node.inputs[0]), writers, constants) if node.kind == "ArgMax" else None
        keeps = node.attributes.get("axis") in (1, -1) and not node.attributes.get("select_last_index")
        found.append(Operation(IS_POSITIVE, [score], node.outputs, node.attributes) if score and keeps else node)
    return found


def _mirrored(pair: Operation | None, writers: Mapping[str, Operation], constants: Mapping[str, Array]) -> str | None:
    """Return the score whose sign tells which one of a pair is larger; None if they do not mirror each other."""
    if pair is None or pair.kind != "Concat" or len(pair.inputs) != 2 or pair.attributes.get("axis") not in (1, -1):
        return None
    first, second = (writers.get(name) for name in pair.inputs)
    if first is None or second is None or len(first.inputs) != 2:
        return None
    a, b = first.inputs
    if first.kind == "Sub" and b == pair.inputs[1] and _is(constants.get(a), 1.0) and second.kind == "Sigmoid":
        return second.inputs[0]
    return pair.inputs[1] if first.kind == "Mul" and a == pair.inputs[1] and _is(constants.get(b), -1.0) else None


def _is(constant: Array | None, number: float) -> bool:
    return constant is not None and constant.size == 1 and bool((constant == number).all())


def _is_positive(step: KernelStep) -> list[Array]:
    a = step.array(0)
    if a.shape != (1, 1):
        raise UnknownModel("scores of several rows or classes")
    out = step.new((1, 1) if step.integer("keepdims", 1) else (1,), np.int64)
    score = a.item
    step.run(lambda: out.fill(score() > 0.0))
    return [out]


OPERATORS: Mapping[str, Operator] = {IS_POSITIVE: _is_positive}
