"""What a model must be like before onnxruntime sees it: a list of operators that always ends, in memory that shows.

onnxruntime runs what a file says, and a file can say a loop without an end, or a tree whose child is its parent. So
only operators are let in whose time and memory depend on shapes alone, and only where all shapes are constant: then
the first run, when a model is loaded, shows what every later run takes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from polydom_runtime.exceptions import BundleFormatError

from .graph import Node, name_of, node_of
from .wire import UnknownModel, fields, unsound

ELEMENTWISE = [
    "Abs",
    "Add",
    "And",
    "Cast",
    "CastLike",
    "Ceil",
    "Clip",
    "Div",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Sign",
    "Softmax",
    "LogSoftmax",
    "Softplus",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
    "Where",
    "Xor",
]
REDUCING = [
    "ArgMax",
    "ArgMin",
    "CumSum",
    "Gemm",
    "LpNormalization",
    "MatMul",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
]
MOVING = [
    "Concat",
    "Constant",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Scan",
    "Shape",
    "Size",
    "Split",
    "Transpose",
]
ML = [
    "ArrayFeatureExtractor",
    "Binarizer",
    "Imputer",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "OneHotEncoder",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
]

SHAPED: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
}
"""Operators whose output has a shape that inputs say, and the numbers of these inputs, which must be constant."""

KNOWN = frozenset(
    [*ELEMENTWISE, *REDUCING, *MOVING, *SHAPED, *(f"ai.onnx.ml.{name}" for name in ML), "com.microsoft.CDist"]
)

MAX_NODES, MAX_DEPTH = 4096, 2
"""The most nodes of a graph, and graphs inside each other. Only Scan has one: a loop over the rows of an array."""

BRANCHES = frozenset(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])


def check_model(onnx_bytes: bytes) -> None:
    """Check that a model can be handed to onnxruntime.

    Raises
    ------
    BundleFormatError
        If it has operators that may not end or may take any memory, numbers outside of the file, functions of its own,
        or trees that are none.
    """
    try:
        for f in fields(memoryview(onnx_bytes)):
            if f.tag == 7:
                _check_graph(f.data, frozenset(), 1)
            elif f.tag == 25:
                raise unsound("operators that are known", "a function of its own")
    except BundleFormatError:
        raise
    except (UnknownModel, TypeError, ValueError, ArithmeticError, LookupError) as e:  # of attributes of other types
        raise unsound("attributes that are known", str(e)) from e


def _check_graph(data: memoryview, outer: frozenset[str], depth: int) -> None:
    """Check a graph; names in `outer` are constant outside of it."""
    nodes: list[tuple[Node, list[memoryview]]] = []
    constants: set[str] = set()
    inputs: set[str] = set()
    for f in fields(data):
        if f.tag == 1:
            graphs: list[memoryview] = []
            nodes.append((node_of(f.data, graphs.append), graphs))
        elif f.tag == 5:
            constants.add(_tensor_name(f.data))
        elif f.tag == 11:
            inputs.add(name_of(f.data))
        elif f.tag == 15:
            raise unsound("dense constants", "sparse ones")
    if len(nodes) > MAX_NODES or depth > MAX_DEPTH:
        raise unsound(f"at most {MAX_NODES} nodes, in {MAX_DEPTH} graphs inside each other", f"{len(nodes)} nodes")
    known = set(outer - inputs) | constants
    for node, graphs in nodes:
        _check_node(node, known)
        if graphs and node.kind != "Scan":
            raise unsound("operators that always end", f"a graph in {node.kind}")
        for graph in graphs:
            _check_graph(graph, frozenset(known), depth + 1)
        is_known = node.kind in ("Shape", "Size") or (not graphs and known.issuperset(filter(None, node.inputs)))
        known = known.union(node.outputs) if is_known else known.difference(node.outputs)


def _tensor_name(data: memoryview) -> str:
    """Return the name of a tensor, of numbers or texts, after a check that they are in the file."""
    name = ""
    for f in fields(data):
        if f.tag == 8:
            name = f.text
        elif f.tag == 13 or (f.tag == 14 and f.number):
            raise unsound("numbers inside the file", "a reference to another one")
    return name


def _check_node(node: Node, known: set[str]) -> None:
    """Check a node; names in `known` are constant."""
    if node.kind not in KNOWN:
        raise unsound("operators that always end", node.kind)
    for place in SHAPED.get(node.kind, ()):
        if place < len(node.inputs) and node.inputs[place] not in {"", *known}:
            raise unsound(f"a constant shape in {node.kind}", "one that depends on the item")
    if "nodes_treeids" in node.attributes:
        check_trees(node.attributes)


def check_trees(attributes: Mapping[str, Any]) -> None:
    """Check that trees are trees: each node has one parent in its own tree, and the first one has none.

    Then every way ends at a leaf. O(n log n) for n nodes.

    Raises
    ------
    BundleFormatError
        If they are not.
    """
    lists = (attributes.get(f"nodes_{name}") for name in ("treeids", "nodeids", "truenodeids", "falsenodeids", "modes"))
    trees, nodes, yes, no, modes = ([] if values is None else values for values in lists)
    count = len(trees)
    if not count or {len(nodes), len(yes), len(no), len(modes)} != {count}:
        raise unsound("nodes of trees with a mode and two children each", f"{count} nodes")
    if not set(modes) <= BRANCHES | {"LEAF"}:
        raise unsound("comparisons of numbers", str(set(modes) - BRANCHES)[:80])
    branch = np.array([mode != "LEAF" for mode in modes])
    columns = np.array([trees, nodes, yes, no], dtype=np.int64)  # also where the usual integers have 32 bits
    if columns.min() < 0 or columns.max() >= 1 << 31:
        raise unsound("numbers of nodes and trees from 0 to 2^31", str(columns.max()))
    tree, node, if_true, if_false = columns
    key = tree << 32 | node
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    wanted = np.concatenate([tree[branch] << 32 | if_true[branch], tree[branch] << 32 | if_false[branch]])
    found = np.minimum(np.searchsorted(ranked, wanted), count - 1)
    if (ranked[1:] == ranked[:-1]).any() or (ranked[found] != wanted).any():
        raise unsound("different nodes, with children in the same tree", "others")
    labels = (attributes.get(f"classlabels_{kind}") or () for kind in ("int64s", "strings"))
    ids, most = attributes.get("class_ids"), max(map(len, labels))
    if ids is None:
        ids, most = attributes.get("target_ids") or [0], attributes.get("n_targets") or 1
    if min(ids) < 0 or max(ids) >= most or min(attributes.get("nodes_featureids") or [0]) < 0:
        raise unsound(f"columns from 0, and results below {most}", "others")
    parents = np.bincount(order[found], minlength=count)
    starts = np.concatenate([[True], tree[1:] != tree[:-1]])  # where onnxruntime sees the root of a tree
    if parents.max() > 1 or (parents[starts] != 0).any() or starts.sum() != len(np.unique(tree)):
        raise unsound("nodes with one parent, and none for the first of each tree", "others")
