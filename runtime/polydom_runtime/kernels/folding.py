"""What need not be computed: nodes that no wanted output reads, and scalers, which become a part of the weights."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph import Graph, Operation
from .linear import LAYER
from .proto import Array

MAX_SHIFT = 64.0
"""A scaler is folded if it moves no column by more than this, in units of its scale. Folded, the move is a part of a
sum, and the rounding of float32 grows with it."""

LINEAR_MODELS = ("ai.onnx.ml.LinearClassifier", "ai.onnx.ml.LinearRegressor")


class Affine(NamedTuple):
    """A tensor that is ``scale * source + offset``, column by column, in float64."""

    source: str
    scale: Array
    offset: Array


def folded(graph: Graph, outputs: Sequence[str]) -> list[Operation]:
    """Return the nodes that compute some outputs of a graph, fewer and larger ones if possible."""
    nodes = _needed(graph.nodes, outputs)
    if len(outputs) == 1 and any(node.kind == "ArgMax" for node in nodes):
        from .two_classes import compared

        nodes = compared(_without_softmax(nodes, outputs), graph.constants)
    nodes = _with_bias(_without_scalers(graph, nodes), graph.constants, outputs)
    return _needed(nodes, outputs)


def _needed(nodes: Sequence[Operation], outputs: Sequence[str]) -> list[Operation]:
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.outputs):
            wanted.update(node.inputs)
            kept.append(node)
    return kept[::-1]


def _readers(nodes: Sequence[Operation], outputs: Sequence[str]) -> Counter[str]:
    return Counter([*outputs, *(name for node in nodes for name in node.inputs)])


def _without_softmax(nodes: Sequence[Operation], outputs: Sequence[str]) -> list[Operation]:
    """Leave out a Softmax if only the place of its largest number is asked for: that of its input is the same."""
    readers, renamed, kept = _readers(nodes, outputs), {}, []
    only = {node.inputs[0] for node in nodes if node.kind == "ArgMax" and readers[node.inputs[0]] == 1}
    for node in reversed(nodes):  # a Softmax comes before what reads it
        if node.kind in ("Softmax", "Identity") and node.outputs[0] in only:
            renamed[node.outputs[0]] = node.inputs[0]
            if readers[node.inputs[0]] == 1:
                only.add(node.inputs[0])
        else:
            kept.append(node)

    def real(name: str) -> str:
        while name in renamed:
            name = renamed[name]
        return name

    return [Operation(n.kind, [real(name) for name in n.inputs], n.outputs, n.attributes) for n in kept[::-1]]


def _without_scalers(graph: Graph, nodes: Sequence[Operation]) -> list[Operation]:
    """Let linear models and layers read the input itself, with weights that have the scalers in them."""
    known = {graph.input: Affine(graph.input, np.ones(1), np.zeros(1))}
    found = []
    for node in nodes:
        source = known.get(node.inputs[0]) if node.inputs else None
        if affine := _affine(node, known, graph.constants):
            known[node.outputs[0]] = affine
        if source is not None and source.source != node.inputs[0]:
            node = _folded(node, source, graph.constants) or node
        found.append(node)
    return found


def _affine(node: Operation, known: Mapping[str, Affine], constants: Mapping[str, Array]) -> Affine | None:
    """Return what a node makes of a tensor that is scaled and moved only; None if it does anything else."""
    first, second = (*node.inputs, "", "")[:2]
    if node.kind == "ai.onnx.ml.Scaler" and first in known:
        offset, scale = (_flat(node.attributes.get(name)) for name in ("offset", "scale"))
        return None if offset is None or scale is None else _after(known[first], scale, -offset * scale)
    if node.kind == "Cast" and first in known and node.attributes.get("to") == 1:
        return known[first]
    if node.kind not in ("Add", "Sub", "Mul", "Div"):
        return None
    if first in known and (c := _flat(constants.get(second))) is not None:
        one = np.ones(1)
        if node.kind == "Div":
            return None if not c.all() else _after(known[first], 1.0 / c, np.zeros(1))
        scale, offset = {"Add": (one, c), "Sub": (one, -c), "Mul": (c, np.zeros(1))}[node.kind]
        return _after(known[first], scale, offset)
    if second in known and node.kind in ("Add", "Mul") and (c := _flat(constants.get(first))) is not None:
        return _after(known[second], *((np.ones(1), c) if node.kind == "Add" else (c, np.zeros(1))))
    return None


def _after(before: Affine, scale: Array, offset: Array) -> Affine | None:
    sizes = {len(a) for a in (before.scale, before.offset, scale, offset)} - {1}
    if len(sizes) > 1:
        return None
    return Affine(before.source, before.scale * scale, before.offset * scale + offset)


def _flat(numbers: Any) -> Array | None:
    """Return one number, or one for each column, in float64; None for anything else."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float32 or not numbers.size:
        return None
    if not np.isfinite(numbers).all():
        return None
    return numbers.reshape(-1).astype(np.float64) if numbers.size in (1, numbers.shape[-1]) else None


def _folded(node: Operation, source: Affine, constants: Mapping[str, Array]) -> Operation | None:
    """Return a node with the scaler of its input in its weights; None if it has none, or if float32 forbids it."""
    weights, bias = _weights(node, source, constants)
    if weights is None or np.abs(source.offset).max() > MAX_SHIFT:
        return None
    scale, offset = (np.broadcast_to(a, len(weights)) for a in (source.scale, source.offset))
    bias = (offset @ weights + bias).astype(np.float32)
    weights = (scale[:, None] * weights).astype(np.float32)
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        return None
    if node.kind == "MatMul":
        return Operation(LAYER, [source.source], node.outputs, {"weights": weights, "bias": bias})
    attributes = {**node.attributes, "coefficients": weights.T.reshape(-1), "intercepts": bias}
    return Operation(node.kind, [source.source], node.outputs, attributes)


def _weights(node: Operation, source: Affine, constants: Mapping[str, Array]) -> tuple[Array | None, Array]:
    """Return the weights of a node, shape ``(width, n)`` and float64, and its bias; None if it has none that fit."""
    nothing = None, np.zeros(1)
    width = max(len(source.scale), len(source.offset))
    if node.kind == "MatMul":
        weights = constants.get(node.inputs[1])
        if weights is None or weights.ndim != 2 or weights.dtype != np.float32 or width not in (1, len(weights)):
            return nothing
        return weights.astype(np.float64), np.zeros(weights.shape[1])
    if node.kind not in LINEAR_MODELS:
        return nothing
    flat, bias = (node.attributes.get(name) for name in ("coefficients", "intercepts"))
    if not isinstance(flat, np.ndarray) or not isinstance(bias, np.ndarray) or not len(bias) or width == 1:
        return nothing
    if flat.size != width * len(bias):
        return nothing
    return flat.reshape(len(bias), width).T.astype(np.float64), bias.astype(np.float64)


def _with_bias(nodes: Sequence[Operation], constants: Mapping[str, Array], outputs: Sequence[str]) -> list[Operation]:
    """Let a product and the addition after it be one layer."""
    readers = _readers(nodes, outputs)
    layers: dict[str, Operation] = {}
    found: list[Operation] = []
    for node in nodes:
        if node.kind == LAYER:
            layers[node.outputs[0]] = node
        elif node.kind == "MatMul" and (weights := constants.get(node.inputs[1])) is not None and weights.ndim == 2:
            bias = np.zeros(weights.shape[1], weights.dtype)
            layers[node.outputs[0]] = Operation(
                LAYER, node.inputs[:1], node.outputs, {"weights": weights, "bias": bias}
            )
        elif node.kind == "Add" and len(node.inputs) == 2:
            a, b = node.inputs
            name, other = (a, b) if a in layers else (b, a)
            layer, more = layers.get(name), constants.get(other)
            if layer is not None and more is not None and readers[name] == 1:
                bias, weights = layer.attributes["bias"], layer.attributes["weights"]
                if more.dtype == bias.dtype and more.size in (1, len(bias)) and more.ndim <= 2:
                    joined = {"weights": weights, "bias": bias + more.reshape(-1)}
                    node = layers[node.outputs[0]] = Operation(LAYER, layer.inputs, node.outputs, joined)
        found.append(node)
    return found
