"""What onnxruntime may see: models that always end, and take the memory that their first run shows."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.gate import check_model
from tests.runtime.kernels.loading import WIDTH
from tests.runtime.kernels.test_unsound_attributes import MIXED, NO_TREES, TREE, one
from tests.runtime.kernels.test_unsound_graphs import SIX, tensor, with_constant

BELOW_0 = (1 << 64) - 1
"""-1, as it is written in a file."""

GOLDEN = Path(__file__).parents[2] / "golden"


def op(kind: str, *inputs: str, out: str = "a", graph: bytes = b"", **attributes: object) -> bytes:
    """Return a node, with a graph inside if one is given."""
    node = tiny._node(kind, inputs, [out], attributes, domain="")
    return node + (tiny._field(5, tiny._field(1, b"body") + tiny._field(6, graph)) if graph else b"")


def nested(*nodes: bytes) -> bytes:
    graph = b"".join(tiny._field(1, node) for node in nodes)
    return graph + tiny._field(11, tiny._value("row", 1, (None,))) + tiny._field(12, tiny._value("a", 1, (None,)))


def made(*nodes: bytes) -> bytes:
    return tiny.model(nodes, WIDTH)


@pytest.mark.parametrize(
    "data",
    [
        tiny.linear_pipeline(WIDTH, 3, scalers=2),
        tiny.tree_classifier(WIDTH, 3, trees=4, depth=3),
        tiny.kernel_classifier(WIDTH, 3, vectors=5),
        tiny.dense_classifier(WIDTH, 3, hidden=(4,)),
        one("TreeEnsembleClassifier", TREE, nodes_modes=["BRANCH_GT", "LEAF", "LEAF"] * 2),
        one("TreeEnsembleClassifier", TREE, classlabels_int64s=None, classlabels_strings=["calm", "loud"]),
        with_constant(tensor((1,), tiny._field(6, b"text"), kind=8)),
        made(op("Shape", "X", out="s"), op("ConstantOfShape", "s")),
        made(op("Scan", "X", graph=nested(op("Relu", "row")), num_scan_inputs=1)),
        *(file.read_bytes() for file in sorted(GOLDEN.glob("*.bundle/models/*.onnx"))),
    ],
)
def test_models_of_estimators_are_let_in(data: bytes) -> None:
    check_model(data)


LOOP = op("Loop", "n", "", "X", graph=nested(op("Relu", "row")))


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (made(LOOP), "Loop"),
        (made(op("If", "X", graph=nested(LOOP))), "If"),
        (made(op("Relu", "X", graph=nested(op("Relu", "row")))), "a graph in Relu"),
        (made(op("Scan", "X", graph=nested(op("Scan", "row", graph=nested(op("Relu", "row")))))), "3|graphs inside"),
        (made(op("Scan", "X", graph=nested(op("Tile", "row", "row")))), "depends on the item"),
        (made(op("ConstantOfShape", "X")), "depends on the item"),
        (made(op("Cast", "X", out="s", to=7), op("Reshape", "X", "s")), "depends on the item"),
        (made(op("NonZero", "X")), "NonZero"),
        (made(op("Unknown", "X")), "Unknown"),
        (made(*[op("Relu", "X", out=f"a{k}") for k in range(5000)]), "5000 nodes"),
        (tiny.linear_classifier(WIDTH, 2) + tiny._field(25, b""), "a function of its own"),
        (with_constant(tensor((2,), tiny._field(13, b"path"))), "another one"),
        (with_constant(tensor((2,), tiny._number(14, 1))), "another one"),
        (with_constant(tensor((3, 2), SIX), extra=tiny._field(15, b"")), "sparse"),
    ],
)
def test_models_that_may_not_end_or_may_take_any_memory_are_refused(data: bytes, got: str) -> None:
    with pytest.raises(BundleFormatError, match=got):
        check_model(data)


@pytest.mark.parametrize(
    "changed",
    [
        *NO_TREES,
        {
            "nodes_nodeids": [1, 0, 2] * 2,
            "nodes_modes": ["LEAF", "BRANCH_LEQ", "LEAF"] * 2,
            "nodes_truenodeids": [0, 1, 0] * 2,
            "nodes_falsenodeids": [0, 2, 0] * 2,
        },
        {"nodes_modes": ["BRANCH_LEQ"] * 6, "nodes_truenodeids": [1, 2, 0] * 2, "nodes_falsenodeids": [2, 0, 1] * 2},
        {"nodes_modes": ["BRANCH_ODD", "LEAF", "LEAF"] * 2},
        {"nodes_featureids": [BELOW_0, 0, 0] * 2},
        {"nodes_treeids": [0, 0, 0, BELOW_0, BELOW_0, BELOW_0]},
        {"class_ids": [0, 0, 0, 2]},
        {"class_ids": 2},
        {"nodes_treeids": 3},
        {"nodes_modes": [1, 2, 3, 1, 2, 3]},
        {"nodes_nodeids": ["a", "b", "c"] * 2},
        {"class_ids": [0, 0, 0, BELOW_0]},
        MIXED,
    ],
    ids=str,
)
def test_trees_without_an_end_are_refused(changed: Mapping[str, object]) -> None:
    with pytest.raises(BundleFormatError):
        check_model(one("TreeEnsembleClassifier", TREE, **changed))
