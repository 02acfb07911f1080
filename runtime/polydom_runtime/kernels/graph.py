"""An ONNX model as a graph: its nodes with their attributes, its constants, and its inputs and outputs."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .proto import Array, attribute_of, tensor_of
from .wire import MAX_FIELDS, fields, left_fields, remembered, unsound

NEWEST: Mapping[str, int] = {"": 22, "ai.onnx": 22, "ai.onnx.ml": 4}
"""The newest versions of operators that are known, by domain: in a newer one an operator may do something else."""

OLDEST_SCAN = 9
"""The version of operators from which on Scan is the loop that is known."""

MAX_NODES, MAX_DEPTH = 4096, 2
"""The most nodes of a graph, and graphs inside each other. Only Scan has one: a loop over the rows of an array."""

MAX_ATTRIBUTES = 64
"""The most attributes of one node. No operator has more."""

MAX_NAMES = 1 << 14
"""The most inputs and outputs of a node, and constants, inputs and outputs of a graph."""


class Typed:
    """Has attributes; BundleFormatError says what is wrong with one of another type or length than it is asked for."""

    __slots__ = ()

    if TYPE_CHECKING:  # for a dataclass they would be the values of its fields

        @property
        def kind(self) -> str:
            """The operator."""

        @property
        def attributes(self) -> Mapping[str, Any]:
            """Numbers, texts, lists of them, and arrays."""

    def reals(self, name: str, count: int | None = None, *, compared: bool = False) -> Array:
        """Return a list of float32 numbers; infinite ones only if they are just `compared`."""
        found = self.attributes.get(name, np.empty(0, np.float32))
        is_list = isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype == np.float32
        if not is_list or np.isnan(found).any() or not (compared or np.isfinite(found).all()):
            raise unsound(f"finite numbers as {name} of {self.kind}", "others")
        if count is not None and len(found) != count:
            raise unsound(f"{count} numbers as {name} of {self.kind}", f"{len(found)}")
        return np.asarray(found)

    def integers(self, name: str, count: int | None = None) -> list[int]:
        """Return a list of integers; see `integer_array`."""
        found: list[int] = self.integer_array(name, count).tolist()
        return found

    def integer_array(self, name: str, count: int | None = None) -> Array:
        """Return a list of integers, with 64 bits each."""
        found = self.attributes.get(name, np.empty(0, np.int64))
        if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype != np.int64:
            raise unsound(f"integers as {name} of {self.kind}", "others")
        if count is not None and len(found) != count:
            raise unsound(f"{count} integers as {name} of {self.kind}", f"{len(found)}")
        return found

    def integer(self, name: str, default: int) -> int:
        """Return one integer."""
        found = self.attributes.get(name, default)
        if not isinstance(found, int):
            raise unsound(f"an integer as {name} of {self.kind}", "something else")
        return found

    def real(self, name: str, default: float) -> float:
        """Return one finite number."""
        found = self.attributes.get(name, default)
        if not isinstance(found, float) or not math.isfinite(found):
            raise unsound(f"a finite number as {name} of {self.kind}", "something else")
        return found

    def option(self, name: str, default: str) -> str:
        """Return a text."""
        found = self.attributes.get(name, default)
        if not isinstance(found, str):
            raise unsound(f"a text as {name} of {self.kind}", "something else")
        return found


class OfNode(Typed):
    """Has a node, whose attributes are its own, and the node's inputs."""

    __slots__ = ()

    if TYPE_CHECKING:
        node: Any
        inputs: Any

    @property
    def kind(self) -> str:
        """The operator."""
        return str(self.node.kind)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the node."""
        attributes: Mapping[str, Any] = self.node.attributes
        return attributes

    def input(self, position: int) -> Any:
        """Return an input; BundleFormatError if the node does not have it."""
        if position >= len(self.inputs) or (found := self.inputs[position]) is None:
            raise unsound(f"{position + 1} inputs of {self.kind}", "fewer")
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operation(Typed):
    """One operation."""

    kind: str
    """The name of the operator, with its domain in front unless that is the usual one."""
    inputs: list[str]
    outputs: list[str]
    """`inputs`, `outputs`: the names of tensors; empty for those that are left out."""
    attributes: Mapping[str, Any]
    graphs: "tuple[Graph, ...]" = ()


class Declared(NamedTuple):
    """What a file says of an input or output: ValueInfoProto."""

    name: str
    dtype: int
    """A number of TensorProto.DataType; 0 if it is not said."""
    shape: tuple[int, ...]
    """-1 for any length."""


class Graph(NamedTuple):
    """A model, or the loop inside of one."""

    inputs: list[Declared]
    """Without those that constants give."""
    outputs: list[Declared]
    nodes: list[Operation]
    """The operations, each after those that it reads."""
    constants: Mapping[str, Array]
    opset: int
    """The version of the usual operators."""
    unsure: Collection[str] = ()
    """What is read at places that an item may put outside of its array, as the gate finds."""

    @property
    def input(self) -> str:
        """The name of the first input."""
        return self.inputs[0].name

    @classmethod
    def read(cls, onnx_bytes: bytes) -> "Graph":
        """Read a ModelProto whose operators are not newer than those that are known."""
        left_fields.set([MAX_FIELDS])
        graphs: list[memoryview] = []
        versions: dict[str, int] = {}
        for f in fields(memoryview(onnx_bytes)):
            if f.tag == 7:
                graphs.append(f.data)
            elif f.tag == 8:
                domain, version = _version(f.data)
                if versions.setdefault(domain, version) != version:
                    raise unsound("one version of operators", f"version {version} and another of {domain or 'ONNX'}")
            elif f.tag == 25:
                raise unsound("operators that are known", "a function of its own")
        if len(graphs) != 1:
            raise unsound("a graph", f"{len(graphs)}")
        graph = _graph(graphs[0], versions.get("", versions.get("ai.onnx", 0)), frozenset(), 1)
        if len(graph.inputs) != 1:
            raise unsound("one input", f"{len(graph.inputs)}")
        return graph


@remembered
def _version(data: memoryview) -> tuple[str, int]:
    domain, version = "", 0
    for f in fields(data):
        if f.tag == 1:
            domain = f.text
        elif f.tag == 2:
            version = f.number
    if version > NEWEST.get(domain, version):
        raise unsound("operators of a known version", f"version {version} of {domain or 'ONNX'}")
    return domain, version


def _graph(data: memoryview, opset: int, outer: frozenset[str], depth: int) -> Graph:
    """Read a GraphProto; it may read the names in `outer` too."""
    if depth > MAX_DEPTH:
        raise unsound(f"at most {MAX_DEPTH} graphs inside each other", "more")
    parts: dict[int, list[memoryview]] = {tag: [] for tag in (1, 5, 11, 12, 13)}
    for f in fields(data):
        if f.tag in parts:
            parts[f.tag].append(f.data)
            if len(parts[1]) > MAX_NODES or len(parts[f.tag]) > MAX_NAMES:
                raise unsound(f"at most {MAX_NODES} nodes, and {MAX_NAMES} constants, inputs and outputs", "more")
        elif f.tag == 15:
            raise unsound("dense constants", "sparse ones")
    constants = dict(tensor_of(constant, texts=True) for constant in parts[5])
    inputs = [given for given in map(_declared, parts[11]) if given.name not in constants]
    outputs = [_declared(output) for output in parts[12]]
    names = [given.name for given in inputs]
    known = {*outer, *names, *constants}
    if "" in known or len(known) != len(outer) + len(names) + len(parts[5]) or not outputs:
        raise unsound("different names of inputs and constants, and an output", "others")
    known.add("")
    nodes = []
    for part in parts[1]:
        node = _node(part, opset, known, depth)
        new = [name for name in node.outputs if name]
        if not known.issuperset(node.inputs) or not known.isdisjoint(new) or len(set(new)) != len(new):
            raise unsound("nodes that read what is known and write what is new", f"other ones in {node.kind}")
        known.update(new)
        nodes.append(node)
    if depth == 1:  # of what is given or constant, onnxruntime fills no array that it is bound to
        known -= {*names, *constants}
    if "" in (written := {output.name for output in outputs}) or not written <= known or len(written) != len(outputs):
        raise unsound("different outputs that a node writes", "others")
    return Graph(inputs, outputs, nodes, constants, opset)


@remembered
def _declared(data: memoryview) -> Declared:
    name, dtype, shape = "", 0, []
    for f in fields(data):
        if f.tag == 1:
            name = f.text
        elif f.tag == 2:
            for tensor in (g.data for g in fields(f.data) if g.tag == 1):
                for g in fields(tensor):
                    if g.tag == 1:
                        dtype = g.number
                    elif g.tag == 2:
                        shape = [_length(h.data) for h in fields(g.data) if h.tag == 1]
    return Declared(name, dtype, tuple(shape))


def _length(data: memoryview) -> int:
    return next((f.number for f in fields(data) if f.tag == 1), -1)


def _node(data: memoryview, opset: int, outer: set[str], depth: int) -> Operation:
    inputs: list[str] = []
    outputs: list[str] = []
    kind = domain = ""
    attributes: dict[str, Any] = {}
    graphs: list[memoryview] = []
    for f in fields(data):
        if f.tag in (1, 2):
            (inputs if f.tag == 1 else outputs).append(f.text)
            if len(inputs) + len(outputs) > MAX_NAMES:
                raise unsound(f"at most {MAX_NAMES} inputs and outputs of a node", "more")
        elif f.tag in (3, 4):  # a name that is no text makes onnxruntime print to the standard output
            text = f.text
            kind = text if f.tag == 4 else kind
        elif f.tag == 5:
            name, value, inner = attribute_of(f.data)
            graphs += inner
            if name in attributes or len(attributes) > MAX_ATTRIBUTES:
                raise unsound(f"at most {MAX_ATTRIBUTES} different attributes", f"{name} again, or more")
            attributes[name] = value
        elif f.tag == 7:
            domain = f.text
    kind = kind if domain in ("", "ai.onnx") else f"{domain}.{kind}"
    if graphs and (kind != "Scan" or opset < OLDEST_SCAN):
        raise unsound("operators that always end", f"a graph in {kind}")
    inside = tuple(_graph(graph, opset, frozenset(outer - {""}), depth + 1) for graph in graphs)
    return Operation(kind, inputs, outputs, attributes, inside)
