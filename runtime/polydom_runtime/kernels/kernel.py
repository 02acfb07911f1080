"""From a checked graph to a kernel: steps are folded into each other, and the rest are translated to calls of numpy."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.gate import check_answer, check_model, score_of
from polydom_runtime.kernels.graph import Graph, Operation
from polydom_runtime.kernels.linear import LAYER
from polydom_runtime.kernels.proto import Array
from polydom_runtime.kernels.tensors import Call, KernelStep, Operator, Space, UnknownModel
from polydom_runtime.kernels.wire import unsound

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
    """Return a node as scale and offset of a tensor; None if it does anything else."""
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
    """Return the node with the scaler of its input merged into its weights; None if that cannot be exact enough."""
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


REFUSALS = (ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
"""Errors of numpy for numbers, types and shapes that it cannot use. What it checks well is not checked twice."""

FAMILIES = ("linear", "arithmetic", "shapes", "trees", "two_classes", "support_vectors", "neighbours")
"""The modules of operators. Each is imported when a model has an operator that those before it do not have."""


class Row(Protocol):
    """Has the numbers that models read."""

    values: Array


class Kernel:
    """A model that reads the first `width` numbers of a row, whose array must not be replaced.

    It takes the place of `polydom_runtime.bundles.engines.ModelRunner`. `model`: ONNX, or a graph that `check_model`
    let in. `n_classes`: 0 for a regressor. `sure`: whether its scores, output 1, are computed for `confidence`.
    """

    __slots__ = ("_calls", "_fill", "_output", "_run", "_scores")

    def __init__(self, model: bytes | Graph, row: Row, width: int, n_classes: int, sure: bool = False) -> None:
        graph = model if isinstance(model, Graph) else check_model(model, width, n_classes, sure)
        wanted = [output.name for output in graph.outputs[: 1 + sure]]
        self._run = _without_warnings()
        arrays, self._calls = self._run(_checked, graph, wanted, row.values[:width].reshape(1, width))
        self._fill = _one_after_another(self._calls)
        self._output = arrays[0]
        self._scores = arrays[1] if sure else None
        dtype = np.int64 if n_classes else np.float32
        if self._output.size != 1 or self._output.dtype != dtype:
            raise unsound(f"one {np.dtype(dtype)}", f"{self._output.size} of {self._output.dtype}")
        check_answer(self(), n_classes)

    def __call__(self) -> int | float:
        """Return the class number, or a regressor's number, for what the row holds now."""
        self._run(self._fill)
        answer: int | float = self._output.item()
        return answer

    def confidence(self) -> float:
        """Return the score of the label that the last run gave."""
        return 0.0 if self._scores is None else score_of(self._scores, int(self._output.item()))


def _without_warnings() -> Callable[..., Any]:
    """Return a caller of functions in which numpy overflows in silence; a context is ten times as quick as errstate."""
    if int(np.__version__.partition(".")[0]) < 2:
        return np.errstate(all="ignore")(lambda function, *arguments: function(*arguments))
    with np.errstate(all="ignore"):
        return copy_context().run


def _one_after_another(calls: tuple[Call, ...]) -> Call:
    def run() -> None:
        for call in calls:
            call()

    return calls[0] if len(calls) == 1 else run


def _checked(graph: Graph, wanted: list[str], row: Array) -> tuple[list[Array], tuple[Call, ...]]:
    """Translate a model. What numpy refuses in it is an error in its file."""
    space = Space()
    if any(array.dtype.kind == "O" for array in graph.constants.values()):
        raise UnknownModel("texts")
    if graph.unsure:
        raise UnknownModel("places that an item may put outside of an array")
    for node in graph.nodes:
        space.take(sum(graph.constants[name].size for name in node.inputs if name in graph.constants))
    try:
        return _translated(graph, folded(graph, wanted), wanted, row)
    except BundleFormatError:
        raise
    except REFUSALS as e:
        raise unsound("numbers and shapes that fit each other", f"what numpy refuses: {e}") from e


@cache
def _operator(kind: str) -> Operator:
    """Return the translation of an operator; UnknownModel if there is none."""
    for family in FAMILIES:
        operators: Mapping[str, Operator] = import_module(f".{family}", __package__).OPERATORS
        if kind in operators:
            return operators[kind]
    raise UnknownModel(kind)


def _translated(
    graph: Graph, nodes: list[Operation], wanted: list[str], row: Array
) -> tuple[list[Array], tuple[Call, ...]]:
    """Return the arrays of the wanted outputs, and the calls that fill them; constants are computed at once."""
    arrays: dict[str, Array] = {graph.input: row, **graph.constants}
    constant = dict.fromkeys(graph.constants, True)
    read = {*wanted, *(name for node in nodes for name in node.inputs)}
    calls: list[Call] = []
    space = Space()
    for node in nodes:
        known = [constant.get(name, False) for name in node.inputs]
        outputs = [name in read for name in node.outputs]
        inputs = [arrays.get(name) for name in node.inputs]
        space.take(sum(array.size for array in inputs if array is not None))
        step = KernelStep(node, inputs, known, graph.opset, [*outputs, False, False], space)
        made = _operator(node.kind)(step)
        if len(made) < len(node.outputs):
            raise unsound(f"{len(made)} outputs of {node.kind}", str(len(node.outputs)))
        for call in step.calls:
            call()
        is_constant = all(known) and bool(known or node.kind == "Constant")
        is_constant |= node.kind in ("Constant", "Shape")
        if not is_constant:
            calls += step.calls
        for name, array in zip(node.outputs, made, strict=False):
            arrays[name] = array
            constant[name] = is_constant
    return [arrays[name] for name in wanted], tuple(calls)
