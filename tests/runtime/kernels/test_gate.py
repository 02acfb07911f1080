"""What any engine may see: models that always end, and take memory that is known before they run."""

import struct
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from polydom_runtime.bundles.engines import InputRow, ModelRunner
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.gate import check_model
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tree_nodes import MAX_DEPTH
from tests.runtime.kernels.loading import N_CLASSES, WIDTH
from tests.runtime.kernels.test_unsound_attributes import LINEAR, MIXED, NO_TREES, TREE, VECTORS, one
from tests.runtime.kernels.test_unsound_graphs import SIX, tensor, with_constant

BELOW_0 = (1 << 64) - 1
"""-1, as it is written in a file."""

GOLDEN = Path(__file__).parents[2] / "golden"

INF, NAN = float("inf"), float("nan")

MANY = 200_000
"""A model with as many things of a kind is refused in less than a second."""


def op(kind: str, *inputs: str, out: str = "a", graph: bytes = b"", **attributes: object) -> bytes:
    """Return a node, with a graph inside if one is given."""
    node = tiny._node(kind, inputs, [out], attributes, domain="")
    body = tiny._field(1, b"body") + tiny._field(6, graph) + tiny._number(20, 5)
    return node + (tiny._field(5, body) if graph else b"")


def nested(*nodes: bytes, inputs: tuple[str, ...] = ("row",)) -> bytes:
    graph = b"".join(tiny._field(1, node) for node in nodes)
    graph += b"".join(tiny._field(11, tiny._value(name, 1, (None,))) for name in inputs)
    return graph + tiny._field(12, tiny._value("a", 1, (None,)))


LABEL = op("ArgMax", "X", out="label", axis=1, keepdims=0)


def made(*nodes: bytes, more: bytes = b"", outputs: tuple[str, ...] = ("label",), **constants: list[int]) -> bytes:
    """Return a model of some nodes and a label, with lists of integers as constants."""
    return of_version(17, *nodes, more=more, outputs=outputs, **constants)


def of_version(
    opset: int, *nodes: bytes, more: bytes = b"", outputs: tuple[str, ...] = ("label",), **constants: list[int]
) -> bytes:
    graph = b"".join(tiny._field(1, node) for node in (*nodes, LABEL)) + more
    for name, values in constants.items():
        numbers = tiny._field(9, struct.pack(f"<{len(values)}q", *values))
        given = tiny._number(1, len(values)) + tiny._number(2, tiny.INT64) + tiny._field(8, name.encode()) + numbers
        graph += tiny._field(5, given)
    graph += tiny._field(11, tiny._value("X", tiny.FLOAT, (None, WIDTH)))
    graph += b"".join(tiny._field(12, tiny._value(name, tiny.INT64, (None,))) for name in outputs)
    return tiny._number(1, 8) + tiny._field(7, graph) + tiny._field(8, tiny._number(2, opset))


def check(data: bytes) -> None:
    check_model(data, WIDTH, N_CLASSES)


SCAN = op("Scan", "X", graph=nested(op("Relu", "row")), num_scan_inputs=1)


@pytest.mark.parametrize(
    "data",
    [
        tiny.linear_pipeline(WIDTH, 3, scalers=2),
        tiny.tree_classifier(WIDTH, 3, trees=4, depth=3),
        tiny.kernel_classifier(WIDTH, 3, vectors=5),
        tiny.dense_classifier(WIDTH, 3, hidden=(4,)),
        one("TreeEnsembleClassifier", TREE, nodes_modes=["BRANCH_GT", "LEAF", "LEAF"] * 2),
        one("TreeEnsembleClassifier", TREE, classlabels_int64s=None, classlabels_strings=["calm", "loud"]),
        made(more=tiny._field(5, tensor((1,), tiny._field(6, b"text"), kind=8))),
        made(op("Shape", "X", out="s"), op("ConstantOfShape", "s")),
        made(SCAN),
        of_version(1),
    ],
)
def test_models_of_estimators_are_let_in(data: bytes) -> None:
    check(data)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.bundle")), ids=lambda path: path.stem)
def test_models_of_old_bundles_are_let_in(path: Path) -> None:
    bundle = load_bundle(path)

    for number, entry in enumerate(bundle.models):
        width = sum(bundle.space.widths[i] for i in entry.order)
        check_model(bundle.model_bytes(number), width, len(bundle.space.classes))


LOOP = op("Loop", "n", "", "X", graph=nested(op("Relu", "row")))


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (made(LOOP), "Loop"),
        (made(op("If", "X", graph=nested(LOOP))), "If"),
        (made(op("Relu", "X", graph=nested(op("Relu", "row")))), "a graph in Relu"),
        (made(op("Scan", "X", graph=nested(op("Scan", "row", graph=nested(op("Relu", "row")))))), "2 graphs"),
        (made(op("Scan", "X", graph=nested(op("Tile", "row", "row")), num_scan_inputs=1)), "depends on the item"),
        (made(op("ConstantOfShape", "X")), "depends on the item"),
        (made(op("Cast", "X", out="s", to=7), op("Reshape", "X", "s")), "depends on the item"),
        (made(op("NonZero", "X")), "NonZero"),
        (made(op("Unknown", "X")), "Unknown"),
        (made(*[op("Relu", "X", out=f"a{k}") for k in range(5000)]), "4096 nodes"),
        (tiny.linear_classifier(WIDTH, 2) + tiny._field(25, b""), "a function of its own"),
        (with_constant(tensor((2,), tiny._field(13, b"path"))), "another one"),
        (with_constant(tensor((2,), tiny._number(14, 1))), "another one"),
        (with_constant(tensor((3, 2), SIX), extra=tiny._field(15, b"")), "sparse"),
    ],
)
def test_models_that_may_not_end_or_may_take_any_memory_are_refused(data: bytes, got: str) -> None:
    with pytest.raises(BundleFormatError, match=got):
        check(data)


@pytest.mark.parametrize("kind", ["Max", "Mean", "Min", "Sum"])
def test_inputs_that_are_left_out_where_that_ends_the_process_are_refused(kind: str) -> None:
    with pytest.raises(BundleFormatError, match=f"2 inputs of {kind}"):
        check(made(op(kind, "X", "")))


EMPTY = op("ConstantOfShape", "n", out="empty")


@pytest.mark.parametrize("kind", ["LpNormalization", "ReduceSumSquare", "ReduceMax", "Softmax"])
def test_empty_arrays_are_refused_where_they_are_computed_with(kind: str) -> None:
    """In some of these operators onnxruntime ends the process."""
    with pytest.raises(BundleFormatError, match=f"numbers for {kind}. Got an empty array"):
        check(made(EMPTY, op(kind, "empty"), n=[0, 3]))


def test_a_single_number_is_no_row_to_be_normalized() -> None:
    """There onnxruntime ends the process."""
    normalizer = tiny._node("Normalizer", ["one"], ["a"], {})

    with pytest.raises(BundleFormatError, match=r"rows of numbers for .*Normalizer"):
        check(made(op("Size", "X", out="one"), normalizer))


def test_outputs_that_are_left_out_are_refused() -> None:
    """In Split onnxruntime ends the process, and an input without a name would be taken for this output."""
    with pytest.raises(BundleFormatError, match="outputs of Split, all named"):
        check(made(op("Split", "X", out="", num_outputs=1)))


@pytest.mark.parametrize("kind", ["ArgMax", "ReduceMax", "ReduceSumSquare"])
def test_a_flag_is_0_or_1(kind: str) -> None:
    """With another number onnxruntime drops the axes, and what comes next may end the process."""
    with pytest.raises(BundleFormatError, match=f"0 or 1 as keepdims of {kind}"):
        check(made(op(kind, "X", keepdims=11)))


def test_a_constant_has_one_value() -> None:
    """Of several, onnxruntime takes the first one, whose size would not be known."""
    first = tiny._node("Constant", [], ["a"], {"value_ints": [10] * 8}, domain="")
    second = tiny._field(1, b"value") + tiny._field(5, tensor((3, 2), SIX)) + tiny._number(20, 4)

    with pytest.raises(BundleFormatError, match="numbers with a shape in Constant"):
        check(made(first + tiny._field(5, second)))


def test_parts_are_as_many_as_a_split_says() -> None:
    """Before it compares the two, onnxruntime takes memory for all that it says."""
    with pytest.raises(BundleFormatError, match="1 parts of"):
        check(made(op("Split", "X", num_outputs=1 << 31)))


WIDE = op("ConstantOfShape", "n", out="wide")
TALL = op("ConstantOfShape", "m", out="tall")
SPREAD = nested(op("Expand", "row", "m"))


@pytest.mark.parametrize(
    "data",
    [
        made(op("ConstantOfShape", "n"), n=[1 << 40]),
        made(op("ConstantOfShape", "n"), n=[1 << 31, 1 << 31, 1 << 31]),
        made(op("Expand", "X", "n"), n=[1 << 24, 3]),
        made(op("Tile", "X", "n"), n=[1 << 24, 1]),
        made(WIDE, TALL, op("Add", "wide", "tall"), n=[1, 9000], m=[9000, 1]),
        made(WIDE, TALL, op("MatMul", "tall", "wide"), n=[1, 9000], m=[9000, 1]),
        made(WIDE, TALL, op("Gemm", "tall", "wide"), n=[1, 9000], m=[9000, 1]),
        made(WIDE, op("Gather", "wide", "m"), n=[1, 1 << 20], m=[0] * 100),
        made(WIDE, op("Concat", *["wide"] * 100, axis=0), n=[1 << 20]),
        made(WIDE, *[op("Neg", "wide", out=f"a{k}") for k in range(100)], n=[1 << 20]),
        made(WIDE, op("Scan", "wide", graph=SPREAD, num_scan_inputs=1), n=[9000], m=[9000]),
        made(
            op("Shape", "X", out="s"), op("Concat", "n", "s", out="m", axis=0), op("Expand", "X", "m"), n=[1 << 23, 1]
        ),
    ],
)
def test_results_of_any_size_are_refused(data: bytes) -> None:
    """Of files of a few bytes, each in less than 1 MB, as numpy tells it to tracemalloc."""
    tracemalloc.start()
    try:
        with pytest.raises(BundleFormatError, match="64 MiB above"):
            check(data)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


INTEGERS = op("Cast", "X", out="i", to=7)


@pytest.mark.parametrize(
    "nodes",
    [
        [INTEGERS, op("Div", "i", "i")],
        [INTEGERS, op("Div", "i", "zero")],
        [INTEGERS, op("Div", "i", "minus")],
        [INTEGERS, op("Mod", "i", "two")],
        [op("ArgMax", "X", out="i"), op("Div", "two", "i")],
        [tiny._node("TopK", ["X", "two"], ["v", "i"], {}, domain=""), op("Div", "i", "i")],
        [INTEGERS, op("Neg", "i", out="j"), op("Where", "c", "j", "j", out="k"), op("Div", "i", "k")],
        [op("Scan", "X", out="k", graph=nested(op("Cast", "row", to=7)), num_scan_inputs=1), op("Div", "k", "k")],
    ],
)
def test_quotients_that_end_the_process_are_refused(nodes: list[bytes]) -> None:
    """The first run, with zeros, may be right, and a number of an item that is huge may be the first to do it."""
    with pytest.raises(BundleFormatError, match=r"divided|Mod"):
        check(made(op("Less", "X", "X", out="c"), *nodes, zero=[2, 0, 1], minus=[-1], two=[2]))


def test_other_quotients_are_let_in() -> None:
    check(made(INTEGERS, op("Div", "i", "two"), op("Cast", "a", out="b", to=1), op("Div", "b", "X", out="c"), two=[2]))


def test_results_within_the_limit_are_let_in() -> None:
    check(made(WIDE, n=[1 << 22]))
    with pytest.raises(BundleFormatError, match="64 MiB above the size of the file"):
        check(made(WIDE, op("Neg", "wide"), op("Neg", "wide", out="b"), n=[1 << 22]))


def test_products_that_take_hours_are_refused() -> None:
    products = [op("MatMul", "wide", "wide", out=f"a{k}") for k in range(20)]

    with pytest.raises(BundleFormatError, match="numbers at most"):
        check(made(WIDE, *products, n=[500, 500]))


def test_texts_count_with_their_characters() -> None:
    text = tensor((1,), tiny._field(6, b"x" * 100_000), kind=8)

    with pytest.raises(BundleFormatError, match="64 MiB"):
        check(made(op("Expand", "w", "n"), more=tiny._field(5, text), n=[1000]))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (made(op("Relu", "b"), op("Relu", "a", out="b")), "read what is known"),
        (made(op("Relu", "nothing")), "read what is known"),
        (made(op("Relu", "X"), op("Relu", "X")), "write what is new"),
        (made(op("Relu", "X", out="X")), "write what is new"),
        (made(tiny._node("TopK", ["X", "n"], ["a", "a"], {}, domain=""), n=[1]), "write what is new"),
        (made(n=[1], more=tiny._field(5, tensor((3, 2), SIX)) * 2), "different names"),
        (made(more=tiny._field(5, tensor((3, 2), SIX) + tiny._field(8, b""))), "different names"),
        (made(op("Scan", "X", graph=nested(op("Relu", "row", out="X"), op("Neg", "row")))), "write what is new"),
        (made(outputs=("label", "label")), "different outputs"),
        (made(outputs=("other",)), "different outputs"),
        (made(outputs=()), "an output"),
        (made(more=tiny._field(11, tiny._value("Z", 1, (None, 1)))), "one input"),
        (made() + tiny._field(7, b""), "a graph. Got 2"),
        (made() + tiny._field(8, tiny._number(2, 99)), "version 99"),
        (made() + tiny._field(8, tiny._number(2, 16)), "version 16"),
        (made() + tiny._field(8, tiny._number(2, 99) + tiny._number(3, 17)), "version 99"),
        (of_version(8, SCAN), "a graph in Scan"),
        (tiny.linear_classifier(WIDTH + 1, N_CLASSES), "an input of float32 .1, 3."),
        (tiny.model([op("Cast", "X", out="label", to=7), op("Neg", "X", out="scores")], WIDTH), "one int64"),
        (tiny.model([op("Neg", "X", out="label"), op("Neg", "X", out="scores")], WIDTH), "one int64"),
        (made(op("Cast", "X", to=8)), "a known type"),
        (made(op("TopK", "X", "n"), n=[4]), "at most 3"),
        (made(op("ArgMax", "X", axis=2)), "an axis of 2"),
        (made(op("Relu", "X") + tiny._field(3, b"\xff")), "UTF-8 text"),
        (made(op("ArgMax", "X", axis="x")), "an integer as axis"),
        (made(op("ConstantOfShape", "n", value=1), n=[1]), "one to fill an array"),
        (made(op("Constant", value=1)), "numbers with a shape"),
        (made(op("Constant") + tiny._field(5, tiny._field(1, b"value") + tiny._number(20, 4))), "numbers with a shape"),
        (made(op("Reshape", "X", "n"), n=[2, -1]), "a shape for 3 numbers"),
        (made(op("Unsqueeze", "X", "n"), n=list(range(20))), "at most 8 axes"),
        (made(op("Tile", "X", "n"), n=[-1, -1]), "at most 8 axes"),
        (with_constant(tensor((1,) * 9, tiny._field(9, bytes(4)))), "a tensor of shape"),
        (with_constant(tensor((3, 2), tiny._field(9, struct.pack("<6f", 1, 2, 3, 4, 5, INF)))), "finite"),
    ],
)
def test_graphs_whose_parts_do_not_fit_each_other_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(BundleFormatError, match=said):
        check(data)


@pytest.mark.parametrize(
    ("kind", "attributes", "changed"),
    [
        ("LinearClassifier", LINEAR, {"coefficients": [1.0] * 9}),
        ("LinearClassifier", LINEAR, {"coefficients": [1.0] * 5 + [NAN]}),
        ("LinearClassifier", LINEAR, {"coefficients": "ABCDEF"}),
        ("LinearClassifier", LINEAR, {"intercepts": [1.0]}),
        ("LinearClassifier", LINEAR, {"intercepts": None}),
        ("LinearClassifier", LINEAR, {"classlabels_ints": [0, 1, 2]}),
        ("SVMClassifier", VECTORS, {"support_vectors": [1.0] * 8}),
        ("SVMClassifier", VECTORS, {"vectors_per_class": [1, BELOW_0]}),
        ("SVMClassifier", VECTORS, {"vectors_per_class": [1 << 62, 1 << 62]}),
        ("SVMClassifier", VECTORS, {"coefficients": [1.0, INF]}),
        ("SVMClassifier", VECTORS, {"rho": [1.0, 2.0]}),
        ("SVMClassifier", VECTORS, {"prob_a": [1.0]}),
        ("SVMClassifier", VECTORS, {"kernel_params": [1.0]}),
        ("SVMClassifier", VECTORS, {"kernel_type": "CUBIC"}),
        ("TreeEnsembleClassifier", TREE, {"nodes_featureids": [WIDTH, 0, 0] * 2}),
        ("TreeEnsembleClassifier", TREE, {"nodes_values": [NAN, 0.0, 0.0] * 2}),
        ("TreeEnsembleClassifier", TREE, {"nodes_values": [0.5] * 5}),
        ("TreeEnsembleClassifier", TREE, {"nodes_hitrates": [0.5] * 5}),
        ("TreeEnsembleClassifier", TREE, {"class_weights": [0.5, 0.5, 0.5, -INF]}),
        ("TreeEnsembleClassifier", TREE, {"class_weights": [0.5]}),
        ("TreeEnsembleClassifier", TREE, {"class_nodeids": [1, 2, 1, 7]}),
        ("TreeEnsembleClassifier", TREE, {"class_nodeids": [1, 2, 1, 0]}),
        ("TreeEnsembleClassifier", TREE, {"class_nodeids": [1, 1, 1, 2]}),
        ("TreeEnsembleClassifier", TREE, {"base_values": [0.5] * 3}),
    ],
    ids=str,
)
def test_numbers_that_do_not_fit_the_width_are_refused(
    kind: str, attributes: Mapping[str, object], changed: Mapping[str, object]
) -> None:
    with pytest.raises(BundleFormatError):
        check(one(kind, attributes, **changed))


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
        {"nodes_treeids": [0, 0, 0, 1 << 62, 1 << 62, 1 << 62]},
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
        check(one("TreeEnsembleClassifier", TREE, **changed))


def deep(depth: int) -> bytes:
    """Return one tree as a chain."""
    inner, leaf = list(range(depth)), list(range(depth, 2 * depth + 1))
    count, chain = 2 * depth + 1, {**TREE}
    chain |= {
        "nodes_treeids": [0] * count,
        "nodes_nodeids": inner + leaf,
        "nodes_featureids": [0] * count,
        "nodes_values": [0.0] * count,
        "nodes_modes": ["BRANCH_LEQ"] * depth + ["LEAF"] * (depth + 1),
        "nodes_truenodeids": [*inner[1:], leaf[-1], *[0] * (depth + 1)],
        "nodes_falsenodeids": [*leaf[:-1], *[0] * (depth + 1)],
        "class_treeids": [0] * len(leaf),
        "class_nodeids": leaf,
        "class_ids": [0] * len(leaf),
        "class_weights": [0.5] * len(leaf),
    }
    return one("TreeEnsembleClassifier", chain)


def test_trees_that_are_so_deep_that_onnxruntime_crashes_are_refused() -> None:
    check(deep(MAX_DEPTH))
    with pytest.raises(BundleFormatError, match="depth 512"):
        check(deep(20_000))


def test_nodes_that_lead_to_each_other_alone_are_refused() -> None:
    apart = {
        "nodes_treeids": [0] * 6,
        "nodes_nodeids": list(range(6)),
        "nodes_modes": ["LEAF", "BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [0, 2, 3, 1, 0, 0],
        "nodes_falsenodeids": [0, 4, 5, 2, 0, 0],
        "class_treeids": [0],
        "class_nodeids": [0],
        "class_ids": [0],
        "class_weights": [0.5],
    }

    with pytest.raises(BundleFormatError):
        check(one("TreeEnsembleClassifier", TREE, **apart))


@pytest.mark.parametrize(
    "attribute",
    [
        tiny._number(3, 1) + tiny._number(20, 3),
        tiny._number(3, 1) + tiny._field(4, b"x") + tiny._number(20, 2),
        tiny._number(3, 1) + tiny._number(3, 2) + tiny._number(20, 2),
        tiny._number(3, 1),
        tiny._field(21, b"other") + tiny._number(20, 2),
        tiny._field(10, b"") + tiny._number(20, 9),
        tiny._field(7, b"123") + tiny._number(20, 6),
        tiny._field(8, b"\xff") + tiny._number(20, 7),
        tiny._field(4, b"\xff") + tiny._number(20, 3),
    ],
)
def test_attributes_of_another_type_than_they_state_are_refused(attribute: bytes) -> None:
    node = op("ArgMax", "X") + tiny._field(5, tiny._field(1, b"axis") + attribute)

    with pytest.raises(BundleFormatError):
        check(made(node))


def test_attributes_of_the_same_name_are_refused() -> None:
    with pytest.raises(BundleFormatError, match="axis again"):
        check(made(op("ArgMax", "X", axis=1) + tiny._field(5, tiny._attribute("axis", 0))))


SMALL = tiny._field(5, tiny._attribute("x", 1))


@pytest.mark.parametrize(
    "data",
    [
        made(op("Relu", "X") + b"".join(tiny._field(5, tiny._attribute(f"a{k}", 1)) for k in range(MANY))),
        made(op("Relu", "X") + SMALL * MANY),
        made(tiny._node("Sum", ["X"] * MANY, ["a"], {}, domain="")),
        made(op("Relu", "X"), more=tiny._field(1, op("Relu", "X")) * MANY),
        made(more=tiny._field(5, tensor((1,), tiny._field(9, bytes(4)))) * MANY),
        made(more=tiny._field(11, tiny._value("Z", 1, (None, 1))) * MANY),
    ],
    ids=["attributes", "of one name", "inputs of a node", "nodes", "constants", "inputs"],
)
def test_models_with_many_parts_are_refused_at_once(data: bytes) -> None:
    """The first part that is too many ends it, so that the rest takes neither time nor memory."""
    tracemalloc.start()
    try:
        with pytest.raises(BundleFormatError, match=r"at most|again"):
            check(data)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_probabilities_are_needed_only_if_they_are_read() -> None:
    data = tiny.linear_classifier(WIDTH, 3)

    check_model(data, WIDTH, 3, sure=True)
    check(data)
    with pytest.raises(BundleFormatError, match="2 scores"):
        check_model(data, WIDTH, 2, sure=True)


def test_answer_of_a_regressor_is_one_float32() -> None:
    with pytest.raises(BundleFormatError, match="one float32"):
        check_model(tiny.linear_classifier(WIDTH, 2), WIDTH, 0)


@pytest.mark.onnxruntime
@pytest.mark.parametrize("threshold", [INF, -INF])
def test_threshold_of_a_tree_may_be_infinite(threshold: float) -> None:
    """Trees that were trained with missing values have some; all other numbers are on one side."""
    data = one("TreeEnsembleClassifier", TREE, nodes_values=[threshold, 0.0, 0.0] * 2)
    row = InputRow(WIDTH)
    row.values[:] = 1e30

    assert Kernel(data, row, WIDTH, N_CLASSES)() == ModelRunner(data, row, WIDTH, N_CLASSES)()
