"""A kernel: an exported model as numpy calls, translated once for one row."""

from collections.abc import Callable, Mapping
from contextvars import copy_context
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from polydom_runtime.exceptions import BundleFormatError

from .folding import folded
from .gate import check_answer, check_model, score_of
from .graph import Graph, Operation
from .proto import Array
from .tensors import Call, KernelStep, Operator, Space, UnknownModel
from .wire import unsound

REFUSALS = (ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
"""What numpy raises for numbers, types and shapes that it cannot use. What it checks well is not checked twice."""

FAMILIES = ("linear", "arithmetic", "shapes", "trees", "two_classes", "support_vectors", "neighbours")
"""The modules of operators. Each is imported when a model has an operator that those before it do not have."""


class Row(Protocol):
    """Has the numbers that models read."""

    values: Array


class Kernel:
    """A model that reads the first `width` numbers of an input row: a classifier, or a regressor if `n_classes` is 0.

    It takes the place of `polydom_runtime.bundles.engines.ModelRunner`.

    `model`: ONNX, or what was read from it and let in before (see `check_model`). `row`: its array must not be
    replaced. `sure`: whether its scores, output 1, are computed too, for `confidence`; see `ModelRunner`.
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
    """Return what calls a function while numpy overflows in silence: rows of huge numbers are no error.

    From numpy 2 on a context can hold that. To run in it takes a tenth of the time of `numpy.errstate`.
    """
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
    """Return what translates an operator; UnknownModel if nothing does."""
    for family in FAMILIES:
        operators: Mapping[str, Operator] = import_module(f".{family}", __package__).OPERATORS
        if kind in operators:
            return operators[kind]
    raise UnknownModel(kind)


def _translated(
    graph: Graph, nodes: list[Operation], wanted: list[str], row: Array
) -> tuple[list[Array], tuple[Call, ...]]:
    """Return the arrays of the wanted outputs, and the calls that fill them from the row.

    What depends on constants only is computed at once.
    """
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
