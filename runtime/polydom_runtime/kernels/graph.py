"""An ONNX model as a graph: its nodes with their attributes, its constants, and the names of its input and outputs."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .wire import BYTES, FIXED32, Field, UnknownModel, fields, unsound, varints

Array = NDArray[Any]

DTYPES: Mapping[int, np.dtype[Any]] = {
    1: np.dtype("<f4"),
    6: np.dtype("<i4"),
    7: np.dtype("<i8"),
    9: np.dtype("?"),
    11: np.dtype("<f8"),
}
"""The number types of ONNX that are known, by their numbers in TensorProto.DataType."""

NEWEST: Mapping[str, int] = {"": 22, "ai.onnx": 22, "ai.onnx.ml": 4}
"""The newest versions of operators that are known, by domain: in a newer one an operator may do something else."""

MAX_NODES = 4096

MAX_LENGTH = 1 << 30
"""Of one axis; an array without numbers could have any."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    Attributes
    ----------
    kind : str
        The name of the operator, with its domain in front unless that is the usual one.
    inputs, outputs : list of str
        The names of tensors; empty for those that are left out.
    attributes : dict of str to object
        Numbers, texts, lists of them, and arrays.
    """

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Graph:
    """A model.

    Attributes
    ----------
    input : str
        The name of its one input.
    outputs : list of str
    nodes : list of Node
        Each after those that it reads.
    constants : dict of str to array
    opset : int
        The version of the usual operators.
    """

    input: str
    outputs: list[str]
    nodes: list[Node]
    constants: Mapping[str, Array]
    opset: int

    @classmethod
    def read(cls, onnx_bytes: bytes) -> "Graph":
        """Read a ModelProto.

        Raises
        ------
        BundleFormatError
            If the bytes are not sound.
        UnknownModel
            If its operators are newer than those that are known.
        """
        graph: memoryview | None = None
        opset = 0
        for f in fields(memoryview(onnx_bytes)):
            if f.tag == 7:
                graph = f.data
            elif f.tag == 8:
                domain, version = "", 0
                for g in fields(f.data):
                    domain, version = (g.text, version) if g.tag == 1 else (domain, g.number)
                if version > NEWEST.get(domain, version):
                    raise UnknownModel(f"version {version} of the operators {domain}".rstrip())
                opset = version if domain in ("", "ai.onnx") else opset
        if graph is None:
            raise unsound("a graph", "none")
        return _graph(graph, opset)


@dataclass(slots=True)
class _Parts:
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def _graph(data: memoryview, opset: int) -> Graph:
    parts = _Parts()
    for f in fields(data):
        if f.tag == 1:
            parts.nodes.append(node_of(f.data))
        elif f.tag == 5:
            name, array = tensor_of(f.data)
            parts.constants[name] = array
        elif f.tag in (11, 12):
            (parts.inputs if f.tag == 11 else parts.outputs).append(name_of(f.data))
        elif f.tag == 15:
            raise unsound("dense constants", "sparse ones")
    inputs = [name for name in parts.inputs if name not in parts.constants]
    if len(inputs) != 1 or not parts.outputs or len(parts.nodes) > MAX_NODES:
        raise unsound(
            f"one input, an output and at most {MAX_NODES} nodes",
            f"{len(inputs)} inputs, {len(parts.outputs)} outputs, {len(parts.nodes)} nodes",
        )
    known = {"", *inputs, *parts.constants}
    for node in parts.nodes:
        if not known.issuperset(node.inputs) or known.intersection(filter(None, node.outputs)):
            raise unsound("nodes that read what is known and write what is new", f"other ones in {node.kind}")
        known.update(node.outputs)
    if not known.issuperset(parts.outputs):
        raise unsound("outputs that a node writes", "an unknown one")
    return Graph(inputs[0], parts.outputs, parts.nodes, parts.constants, opset)


def name_of(data: memoryview) -> str:
    """Return the name of a ValueInfoProto."""
    return next((f.text for f in fields(data) if f.tag == 1), "")


def _no_graph(data: memoryview) -> None:
    raise UnknownModel("a graph inside an attribute")


def node_of(data: memoryview, on_graph: Callable[[memoryview], object] = _no_graph) -> Node:
    """Read a NodeProto.

    Parameters
    ----------
    data : memoryview
    on_graph : callable
        Called with each graph inside.

    Raises
    ------
    BundleFormatError
        If it is not sound.
    """
    inputs: list[str] = []
    outputs: list[str] = []
    kind = domain = ""
    attributes: dict[str, Any] = {}
    for f in fields(data):
        if f.tag in (1, 2):
            (inputs if f.tag == 1 else outputs).append(f.text)
        elif f.tag == 4:
            kind = f.text
        elif f.tag == 5:
            name, value = _attribute(f.data, on_graph)
            attributes[name] = value
        elif f.tag == 7:
            domain = f.text
    return Node(kind if domain in ("", "ai.onnx") else f"{domain}.{kind}", inputs, outputs, attributes)


def _attribute(data: memoryview, on_graph: Callable[[memoryview], object]) -> tuple[str, Any]:
    """Return the name and the value of an AttributeProto. Lists may be packed or not."""
    name, value = "", None
    numbers: list[int] = []
    texts: list[str] = []
    reals: list[Array] = []
    kind = 0
    for f in fields(data):
        if f.tag == 1:
            name = f.text
        elif f.tag in _SINGLE:
            value = _SINGLE[f.tag](f)
        elif f.tag == 7:
            reals.append(_packed(f))
        elif f.tag == 8:
            numbers += varints(f.data) if f.kind == BYTES else [f.number]
        elif f.tag == 9:
            texts.append(f.text)
        elif f.tag == 20:
            kind = f.number
        elif f.tag == 6:
            on_graph(f.data)
        elif f.tag in (10, 11, 22, 23):
            raise UnknownModel("lists of tensors or graphs inside an attribute")
    lists: dict[int, Any] = {6: np.concatenate([np.empty(0, np.float32), *reals]), 7: numbers, 8: texts}
    return name, lists.get(kind, value)


_SINGLE: Mapping[int, Callable[[Field], Any]] = {
    2: lambda f: f.real,
    3: lambda f: f.number,
    4: lambda f: f.text,
    5: lambda f: tensor_of(f.data)[1],
}


def _packed(f: Field) -> Array:
    """Return float32 numbers, one or many."""
    if f.kind == FIXED32:
        return np.array([f.real], dtype=np.float32)
    if len(f.data) % 4:
        raise unsound("whole float32 numbers", f"{len(f.data)} bytes")
    return np.frombuffer(f.data, dtype="<f4")


def tensor_of(data: memoryview) -> tuple[str, Array]:
    """Return the name and the numbers of a TensorProto.

    Raises
    ------
    BundleFormatError
        If they are not as many as its shape says, or not all in the file.
    """
    name, dtype, raw = "", None, None
    shape: list[int] = []
    values: list[Array] = []
    for f in fields(data):
        if f.tag == 1:
            shape += varints(f.data) if f.kind == BYTES else [f.number]
        elif f.tag == 2:
            dtype = DTYPES.get(f.number)
        elif f.tag == 4:
            values.append(_packed(f))
        elif f.tag in (5, 7):
            values.append(np.array(varints(f.data) if f.kind == BYTES else [f.number], dtype=np.int64))
        elif f.tag == 8:
            name = f.text
        elif f.tag == 9:
            raw = f.data
        elif f.tag == 10 and f.kind == BYTES and len(f.data) % 8 == 0:
            values.append(np.frombuffer(f.data, dtype="<f8"))
        elif f.tag in (6, 10, 11, 13):
            raise unsound("numbers inside the file, of a known type", f"field {f.tag} of a tensor")
    if dtype is None:
        raise unsound("a tensor of a known type", "another type")
    if raw is None:
        found: Array = np.concatenate([np.empty(0, dtype), *values]).astype(dtype)
    elif len(raw) % dtype.itemsize:
        raise unsound("whole numbers in a tensor", f"{len(raw)} bytes")
    else:
        found = np.frombuffer(raw, dtype=dtype)
    if any(not 0 <= n <= MAX_LENGTH for n in shape) or math.prod(shape) != len(found):
        raise unsound(f"a tensor of shape {shape}", f"{len(found)} numbers")
    if not np.isfinite(found).all():
        raise unsound("finite numbers", "others")
    return name, found.reshape(shape)
