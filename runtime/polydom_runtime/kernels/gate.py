"""What a model must be like before any engine sees it: operators that always end, in memory that is known before.

onnxruntime runs what a file says, and a file can say a loop without an end, a tree whose child is its parent, or an
array of any size. So only operators are let in whose time and memory depend on shapes alone, and only where all shapes
are constant. Then they are worked out before anything runs.
"""

import math
from collections.abc import Mapping

from polydom_runtime.exceptions import BundleFormatError

from .extents import MODELS, Case, Extent, Range, limited
from .graph import Declared, Graph
from .proto import DTYPES, FLOAT, INT64, Array
from .wire import unsound

MAX_MEMORY = 64 << 20
"""The bytes that all results of all operators together may take, besides the size of the file."""

MAX_WORK = 1 << 30
"""The numbers that all operators together may read, write and multiply: some seconds on a node."""

PLACES = ("ArgMax", "ArgMin", "TopK")

INTEGERS = ("ArgMax", "ArgMin", "Shape", "Size")

CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")

SOURCES = {"Where": 1, "CastLike": 1}
"""The input that an output has the type of; the first one in other operators."""

SCAN_ORDERS = ("input_axes", "input_directions", "output_axes", "output_directions")

FLAGS = [
    *("allowzero", "exclusive", "keepdims", "largest", "noop_with_empty_axes", "reverse"),
    *("select_last_index", "sorted", "transA", "transB"),
]
"""Attributes that say yes or no. Engines and this check may understand numbers other than 1 and 0 differently."""


class Room:
    """The bytes of memory, and the numbers of work, that a model may still take; `unsure`: see `Graph`."""

    __slots__ = ("memory", "unsure", "work")

    def __init__(self, memory: int) -> None:
        self.memory, self.work = memory, MAX_WORK
        self.unsure: set[str] = set()

    def take(self, kind: str, memory: int, work: int) -> None:
        """Take room for one operator; BundleFormatError if there is too little left."""
        self.memory -= memory
        self.work -= work
        if self.memory < 0 or self.work < 0:
            raise unsound(
                f"results of at most {MAX_MEMORY >> 20} MiB above the size of the file, of {MAX_WORK} numbers at most",
                f"more in {kind}",
            )


def check_model(onnx_bytes: bytes, width: int, n_classes: int, sure: bool = False) -> Graph:
    """Return the graph of a model that can be handed to an engine; BundleFormatError if it cannot.

    Every operator ends, within the limits of memory; all fit each other and the width; numbers are in the file, trees
    are trees, there are no functions, and one label or number comes out. `n_classes`: 0 for a regressor. `sure`:
    whether its scores are read.
    """
    try:
        graph = Graph.read(onnx_bytes)
        (given,) = graph.inputs
        if given.dtype != FLOAT or given.shape not in [(rows, n) for rows in (-1, 1) for n in (-1, width)]:
            raise unsound(f"an input of float32 (1, {width})", f"type {given.dtype} and shape {given.shape}")
        known = {given.name: Extent((1, width))}
        found = _sized(graph, known, room := Room(MAX_MEMORY + len(onnx_bytes)), 1)
        _check_outputs(graph.outputs, found, n_classes, sure)
        return graph._replace(unsure=room.unsure)
    except BundleFormatError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError) as e:  # of attributes of other types
        raise unsound("attributes that are known", str(e)) from e


def _check_outputs(outputs: list[Declared], found: list[Extent], n_classes: int, sure: bool) -> None:
    """Check that an answer is one class number or number, and that there are scores if they are read."""
    kind, name = (INT64, "int64") if n_classes else (FLOAT, "float32")
    if outputs[0].dtype != kind or math.prod(found[0].shape) != 1:
        raise unsound(f"one {name}", f"type {outputs[0].dtype} and shape {found[0].shape}")
    shapes = [(1, n_classes), *[(1, 1)] * (n_classes == 2)]  # two classes may share a decision value
    if sure and (len(outputs) < 2 or outputs[1].dtype != FLOAT or found[1].shape not in shapes):
        raise unsound(f"{n_classes} scores", "none" if len(outputs) < 2 else f"shape {found[1].shape}")


def _sized(graph: Graph, known: dict[str, Extent], room: Room, times: int) -> list[Extent]:
    """Return the sizes of the outputs of a graph that runs some times; `known` are those that it reads."""
    known.update((name, Extent.of(array)) for name, array in graph.constants.items())
    for node in graph.nodes:
        case = Case(node, [known.get(name) for name in node.inputs])
        found = _loop(case, known, room, times) if node.kind == "Scan" else _results(case)
        if len(found) < len(node.outputs) or "" in node.outputs:
            raise unsound(f"at most {len(found)} outputs of {node.kind}, all named", str(node.outputs)[:80])
        results = sum(math.prod(limited(extent.shape, node.kind)) for extent in found)
        read = sum(math.prod(extent.shape) for extent in case.inputs if extent is not None)
        room.take(node.kind, results * case.item(), (results + read + case.work) * times)
        known.update(zip(node.outputs, found, strict=False))
        if not case.sure:
            room.unsure.update(node.outputs)
    return [known[output.name] for output in graph.outputs]


def _results(case: Case) -> list[Extent]:
    rule, moves, values, kept = MODELS.get(case.kind), False, None, None
    if rule is None:  # models need nothing else
        from .computed_extents import COMPUTING
        from .moved_extents import MOVING, values_of, within_of

        moves, values = case.kind in MOVING, values_of
        kept = within_of if moves or case.kind in ("Cast", "Identity", "Where") else None
        rule = MOVING.get(case.kind) or COMPUTING.get(case.kind)
    if rule is None or case.node.graphs:
        raise unsound("operators that always end", case.kind)
    if other := [name for name in FLAGS if case.attributes.get(name, 0) not in (0, 1)]:
        raise unsound(f"0 or 1 as {other[0]} of {case.kind}", "another number")
    if not moves and any(extent is not None and 0 in extent.shape for extent in case.inputs):
        raise unsound(f"numbers for {case.kind}", "an empty array")  # some divide by its length
    if case.kind == "Div":
        _check_divisor(case.extent(1))
    shapes, item, (first, others) = rule(case), case.item(), _are_real(case)
    places, is_top = _places(case), case.kind == "TopK"  # its places are the second output
    rest = [Extent(shape, item, None, others, places if is_top else None) for shape in shapes[1:]]
    within = kept(case) if kept else None if is_top else places
    return [*(Extent(shape, item, values and values(case), first, within) for shape in shapes[:1]), *rest]


def _places(case: Case) -> Range | None:
    """Return the least and the largest place or label that an operator may give; None for other operators."""
    if case.kind in PLACES:
        return 0, case.shape()[case.axis(-1 if case.kind == "TopK" else 0)] - 1
    if case.kind.removeprefix("ai.onnx.ml.") in CLASSIFIERS:
        labels = case.integers("classlabels_ints") or case.integers("classlabels_int64s")
        return (min(labels), max(labels)) if len(labels) > 1 else None
    return None


def _are_real(case: Case) -> tuple[bool, bool]:
    """Return whether the first output of an operator holds numbers with a fraction, for sure, and the other ones."""
    kind = case.kind.removeprefix("ai.onnx.ml.")
    if kind in CLASSIFIERS:
        return False, True
    if kind in ("Constant", "ConstantOfShape"):
        from .moved_extents import constant_of

        return constant_of(case).dtype.kind == "f", False
    if kind == "Cast":
        return DTYPES[case.integer("to", 0)].kind == "f", False
    if kind in INTEGERS:
        return False, False
    source = case.extent(SOURCES.get(kind, 0)).real
    return source, source and kind != "TopK"


def _check_divisor(divisor: Extent) -> None:
    """Check a divisor of integers: the processor stops a process that divides by 0, or the lowest one by -1."""
    if not divisor.real and (divisor.values is None or not {0, -1}.isdisjoint(divisor.values)):
        raise unsound("integers to be divided by constants other than 0 and -1", f"{divisor.values or 'others'}"[:80])


def _loop(case: Case, known: Mapping[str, Extent], room: Room, times: int) -> list[Extent]:
    """Return the outputs of Scan: those that it carries along, and those that it collects from row to row."""
    (graph,), extents = case.node.graphs, [case.extent(k) for k in range(len(case.inputs))]
    carried = len(extents) - case.integer("num_scan_inputs", 0)
    if any(any(case.integers(f"scan_{order}")) for order in SCAN_ORDERS) or not 0 <= carried < len(extents):
        raise unsound("Scan over the rows of arrays", "another one")
    rows, *others = {extent.shape[0] for extent in extents[carried:]}
    if others or len(graph.inputs) != len(extents):
        raise unsound("arrays of the same number of rows in Scan, and a place for each", "others")
    inside = [
        extent._replace(shape=extent.shape[k >= carried :], values=None, within=None)
        for k, extent in enumerate(extents)
    ]
    names = [given.name for given in graph.inputs]
    found = _sized(graph, {**known, **dict(zip(names, inside, strict=True))}, room, times * rows)
    for before, after in zip(inside[:carried], found, strict=False):
        if before.shape != after.shape or before.real != after.real:
            raise unsound("the same shape and type in each turn of Scan", f"{before.shape} and {after.shape}")
    whole = [extent._replace(shape=(rows, *extent.shape)) for extent in found[carried:]]
    return [extent._replace(values=None) for extent in (*found[:carried], *whole)]


def score_of(scores: Array, label: int) -> float:
    """Return a label's score, or the largest if it has none; the absolute value of one that two classes share.

    >>> import numpy as np
    >>> score_of(np.array([[0.25, 0.75]]), 0), score_of(np.array([[0.25, 0.75]]), 2), score_of(np.array([[-2.0]]), 0)
    (0.25, 0.75, 2.0)
    """
    if scores.size == 1:
        return abs(float(scores.item()))
    return float(scores.item(label)) if 0 <= label < scores.size else float(scores.max())


def check_answer(answer: float, n_classes: int) -> None:
    """Check what a model answers first; BundleFormatError if it is no class number, or no finite number."""
    if n_classes and not 0 <= answer <= n_classes:
        raise BundleFormatError(
            f"A model must return a class number below {n_classes}, or {n_classes} to abstain. Got {answer}."
        )
    if not math.isfinite(answer):
        raise BundleFormatError(f"A model must return a finite number. Got {answer}.")
