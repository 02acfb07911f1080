"""Files that are no sound models are refused, whatever is wrong in them, without taking memory."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel

WIDTH, N_CLASSES = 4, 3

MODELS: dict[str, Callable[[], bytes]] = {
    "linear": lambda: tiny.linear_classifier(WIDTH, N_CLASSES),
    "scalers": lambda: tiny.linear_pipeline(WIDTH, N_CLASSES, scalers=2),
    "trees": lambda: tiny.tree_classifier(WIDTH, N_CLASSES, trees=3, depth=3),
    "support vectors": lambda: tiny.kernel_classifier(WIDTH, N_CLASSES, vectors=12),
    "layers": lambda: tiny.dense_classifier(WIDTH, N_CLASSES, hidden=(5,)),
}
N_MUTATIONS = 500


def load(data: bytes, width: int = WIDTH) -> Kernel:
    return Kernel(data, InputRow(width), width, N_CLASSES)


def node(kind: str, inputs: list[str], outputs: list[str], **attributes: object) -> bytes:
    return tiny._node(kind, inputs, outputs, attributes, domain="")


ARG_MAX = node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "a graph"),
        (b"no protobuf", "sound ONNX"),
        (tiny.linear_classifier(WIDTH, N_CLASSES)[:-90], "sound ONNX"),
        (tiny.linear_classifier(WIDTH + 1, N_CLASSES), "an input of float32"),
        (tiny.tree_classifier(WIDTH + 4, N_CLASSES, trees=3, depth=3), "an input of float32"),
        (tiny.kernel_classifier(WIDTH + 1, N_CLASSES, vectors=12), "an input of float32"),
        (tiny.model([node("Relu", ["nothing"], ["scores"]), ARG_MAX], WIDTH), "read what is known"),
        (tiny.model([node("Relu", ["X"], ["X"]), ARG_MAX], WIDTH), "write what is new"),
        (tiny.model([node("Relu", ["X"], ["b"]), ARG_MAX], WIDTH), "read what is known"),
        (tiny.model([node("Relu", ["X"], ["label"]), node("Relu", ["X"], ["scores"])], WIDTH), "one int64"),
        (tiny.model([node("Add", ["X"], ["scores"]), ARG_MAX], WIDTH), "2 inputs of Add"),
        (
            tiny.model([node("Relu", ["X"], ["scores"]), node("ArgMax", ["scores"], ["label"], axis=7)], WIDTH),
            "an axis of 2",
        ),
        (
            tiny.model([node("Relu", ["X"], ["scores"]), node("ArgMax", ["scores"], ["label"], axis="x")], WIDTH),
            "an integer",
        ),
        (
            tiny.model(
                [tiny._node("Scaler", ["X"], ["scores"], {"offset": [1.0, 2.0], "scale": [1.0]}), ARG_MAX], WIDTH
            ),
            "one offset or 4",
        ),
        (
            tiny.model(
                [tiny._node("Scaler", ["X"], ["scores"], {"offset": [1.0], "scale": [float("nan")]}), ARG_MAX], WIDTH
            ),
            "finite",
        ),
    ],
)
def test_unsound_model_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(BundleFormatError, match=said):
        load(data)


def test_label_that_is_no_class_is_refused() -> None:
    with pytest.raises(BundleFormatError, match="class number below 3"):
        load(tiny.constant_classifier(WIDTH, 5, n_classes=6))


def test_operator_that_is_not_known_is_no_fault_of_the_file() -> None:
    with pytest.raises(UnknownModel, match="Erf"):
        load(tiny.model([node("Erf", ["X"], ["scores"]), ARG_MAX], WIDTH))


@pytest.mark.parametrize("domain", [b"", b"ai.onnx.ml"])
def test_operators_that_may_do_something_else_are_refused(domain: bytes) -> None:
    imported = b"\x0a" + bytes([len(domain)]) + domain + b"\x10\x63"  # version 99
    with pytest.raises(BundleFormatError, match="version 99"):
        load(tiny.linear_classifier(WIDTH, N_CLASSES) + b"\x42" + bytes([len(imported)]) + imported)


@pytest.mark.parametrize("kind", ["layer", "is positive"])
def test_operators_that_only_folding_makes_are_not_taken_from_a_file(kind: str) -> None:
    with pytest.raises(BundleFormatError, match=kind):
        load(tiny.model([node(kind, ["X"], ["scores"]), ARG_MAX], WIDTH))


def tree(children: list[tuple[int, int]]) -> bytes:
    """Return one tree whose first nodes have these children; the next three are leaves."""
    n = len(children) + 3
    is_leaf = [k >= len(children) for k in range(n)]
    pairs = [*children, *[(0, 0)] * 3]
    leaves = [k for k in range(n) if is_leaf[k]]
    attributes: dict[str, object] = {
        "nodes_treeids": [0] * n,
        "nodes_nodeids": list(range(n)),
        "nodes_featureids": [0] * n,
        "nodes_values": [0.5] * n,
        "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        "nodes_truenodeids": [yes for yes, _ in pairs],
        "nodes_falsenodeids": [no for _, no in pairs],
        "class_treeids": [0] * 3,
        "class_nodeids": leaves,
        "class_ids": [0, 1, 2],
        "class_weights": [1.0, 1.0, 1.0],
        "classlabels_int64s": [0, 1, 2],
        "post_transform": "NONE",
    }
    return tiny.model([tiny._node("TreeEnsembleClassifier", ["X"], ["label", "scores"], attributes)], WIDTH)


@pytest.mark.parametrize(
    ("children", "said"),
    [
        ([(1, 2), (0, 3)], "two ways"),  # a cycle
        ([(1, 1), (2, 3)], "two ways"),  # a node with two parents
        ([(1, 2), (9, 3)], "children in the same tree"),
    ],
)
def test_what_is_no_tree_is_refused(children: list[tuple[int, int]], said: str) -> None:
    assert load(tree([(1, 2), (3, 4)]))() in (0, 1, 2)
    with pytest.raises(BundleFormatError, match=said):
        load(tree(children))


def test_declared_size_is_not_taken_from_memory() -> None:
    """A tensor of 2 GB that the file does not have, and an operator that would make one."""
    declared = tiny._number(1, 1 << 29) + tiny._number(2, tiny.FLOAT) + tiny._field(8, b"w") + tiny._field(9, b"1234")
    graph = tiny._field(5, declared) + tiny._field(11, tiny._value("X", tiny.FLOAT, (None, WIDTH)))
    shape = np.array([1.0])
    made = node("ConstantOfShape", ["w"], ["scores"])
    tracemalloc.start()
    for data in (tiny._field(7, graph), tiny.model([made, ARG_MAX], WIDTH, weights={"w": shape * 2e9})):
        with pytest.raises(BundleFormatError, match="sound ONNX"):
            load(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1 << 22


@pytest.mark.parametrize("name", MODELS)
def test_mutated_model_is_refused_or_loads(name: str) -> None:
    """No other error, and no warning, whatever bytes are changed, cut out or put in."""
    rng, sound = np.random.default_rng(0), MODELS[name]()
    outcomes = {True: 0, False: 0}
    for _ in range(N_MUTATIONS):
        try:
            kernel = load(mutated(sound, rng))
            assert 0 <= kernel() < N_CLASSES
            outcomes[True] += 1
        except (BundleFormatError, UnknownModel):
            outcomes[False] += 1

    assert min(outcomes.values()) > 0


@pytest.mark.onnxruntime
@pytest.mark.parametrize("name", MODELS)
def test_mutated_model_that_loads_answers_as_in_onnxruntime(name: str) -> None:
    from polydom_runtime.bundles.engines import ModelRunner

    rng, sound, compared = np.random.default_rng(1), MODELS[name](), 0
    for _ in range(N_MUTATIONS // 5):
        data, row = mutated(sound, rng), InputRow(WIDTH)
        try:
            runs = Kernel(data, row, WIDTH, N_CLASSES), ModelRunner(data, row, WIDTH, N_CLASSES)
        except (BundleFormatError, UnknownModel):
            continue
        for numbers in rng.normal(size=(5, WIDTH)):
            row.values[:] = numbers
            ours, theirs = (run() for run in runs)
            compared += 1
            assert ours == theirs, data

    assert compared > 0


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, cut out or put in a few bytes."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(len(out))), int(rng.integers(3))
        if kind == 0:
            out[at] = int(rng.integers(256))
        elif kind == 1:
            del out[at : at + int(rng.integers(1, 5))]
        else:
            out[at:at] = rng.bytes(int(rng.integers(1, 5)))
    return bytes(out)
