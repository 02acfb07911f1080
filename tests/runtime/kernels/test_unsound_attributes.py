"""A model whose attributes do not fit each other is refused, whatever its operator."""

from collections.abc import Mapping

import pytest

from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.tensors import UnknownModel
from tests.runtime.kernels.loading import WIDTH, kernel

LINEAR: Mapping[str, object] = {
    "coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    "intercepts": [0.0, 0.0],
    "classlabels_ints": [0, 1],
    "post_transform": "NONE",
}

TREE: Mapping[str, object] = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [0, 0, 0, 2, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0, 0.25, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
    "nodes_truenodeids": [1, 0, 0] * 2,
    "nodes_falsenodeids": [2, 0, 0] * 2,
    "class_treeids": [0, 0, 1, 1],
    "class_nodeids": [1, 2, 1, 2],
    "class_ids": [0, 0, 0, 0],
    "class_weights": [0.5, 0.5, 0.5, 0.5],
    "classlabels_int64s": [0, 1],
    "post_transform": "NONE",
}

MIXED: Mapping[str, object] = {
    "nodes_treeids": [0, 1, 0, 0, 1, 1],
    "nodes_nodeids": [0, 0, 1, 2, 1, 2],
    "nodes_modes": ["BRANCH_LEQ"] * 2 + ["LEAF"] * 4,
    "nodes_truenodeids": [1, 1, 0, 0, 0, 0],
    "nodes_falsenodeids": [2, 2, 0, 0, 0, 0],
}

VECTORS: Mapping[str, object] = {
    "kernel_type": "RBF",
    "kernel_params": [0.5, 0.0, 3.0],
    "support_vectors": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    "vectors_per_class": [1, 1],
    "coefficients": [1.0, -1.0],
    "rho": [0.1],
    "classlabels_ints": [0, 1],
    "post_transform": "NONE",
}


NO_TREES: list[Mapping[str, object]] = [
    {"nodes_truenodeids": [0, 0, 0] * 2},
    {"nodes_truenodeids": [2, 0, 0] * 2},
    {"nodes_falsenodeids": [3, 0, 0] * 2},
    {"nodes_treeids": [0, 0, 5, 1, 1, 1]},
    {"nodes_nodeids": [0, 1, 1] * 2},
    {"nodes_nodeids": [0, 1]},
    {"class_treeids": [0, 0, 1], "class_nodeids": [1, 2, 1], "class_ids": [0] * 3, "class_weights": [0.5] * 3},
]
"""Changes of `TREE` after which it is none."""


def node(kind: str, attributes: Mapping[str, object], domain: str = tiny.ML_DOMAIN) -> bytes:
    return tiny._node(kind, ["X"], ["label", "scores"], attributes, domain=domain)


def one(kind: str, attributes: Mapping[str, object], **changed: object) -> bytes:
    """Return a model of one node, some of its attributes changed; None leaves one out."""
    given = {name: value for name, value in {**attributes, **changed}.items() if value is not None}
    return tiny.model([node(kind, given)], WIDTH)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [("LinearClassifier", LINEAR), ("TreeEnsembleClassifier", TREE), ("SVMClassifier", VECTORS)],
    ids=["linear", "trees", "vectors"],
)
def test_the_models_that_are_spoiled_here_are_sound(kind: str, attributes: Mapping[str, object]) -> None:
    assert kernel(one(kind, attributes))() in (0, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no protobuf at all",
        b"\x3a\x80\x80\x80\x80\x08",
        tiny._field(7, b""),
        tiny._field(7, tiny._field(11, tiny._value("X", 1, (None, 3)))),
        one("LinearClassifier", LINEAR)[:-40],
    ],
    ids=["empty", "text", "length of 2 GB", "empty graph", "no outputs", "cut"],
)
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(BundleFormatError):
        kernel(data)


@pytest.mark.parametrize(
    "changed",
    [
        {"coefficients": [1.0, 0.0, 0.0, 1.0]},
        {"coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, float("inf")]},
        {"coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, float("nan")]},
        {"coefficients": [1, 0, 0, 0, 1, 0]},
        {"coefficients": "ABC"},
        {"coefficients": None},
        {"intercepts": [1.0]},
        {"classlabels_ints": [0.0, 1.0]},
        {"classlabels_ints": [0, 1, 2]},
        {"classlabels_ints": [7, 9]},
        {"classlabels_ints": 1},
    ],
    ids=str,
)
def test_linear_models_that_do_not_fit_are_refused(changed: Mapping[str, object]) -> None:
    with pytest.raises(BundleFormatError):
        kernel(one("LinearClassifier", LINEAR, **changed))


@pytest.mark.parametrize(
    "changed",
    [
        *NO_TREES,
        {"nodes_modes": ["BRANCH_LEQ", "LEAF"] * 3},
        {"nodes_modes": ["BRANCH_LEQ"] * 6, "nodes_truenodeids": [1, 2, 0] * 2, "nodes_falsenodeids": [2, 0, 1] * 2},
        {"nodes_modes": [1, 2, 3]},
        {"nodes_featureids": [3, 0, 0] * 2},
        {"nodes_featureids": [1 << 40, 0, 0] * 2},
        {"nodes_values": [float("nan")] * 6},
        {"nodes_values": [0.5]},
        {"class_nodeids": [1, 2, 1, 7]},
        {"class_nodeids": [1, 2]},
        {"class_ids": [0, 1, 0, 2]},
        {"class_treeids": [0, 0, 1, 2]},
        {"class_weights": [0.5, float("-inf"), 0.5, 0.5]},
        {"nodes_treeids": None},
    ],
    ids=str,
)
def test_trees_that_are_no_trees_are_refused(changed: Mapping[str, object]) -> None:
    with pytest.raises(BundleFormatError):
        kernel(one("TreeEnsembleClassifier", TREE, **changed))


def test_trees_that_are_deeper_than_any_training_makes_them_are_refused() -> None:
    depth = 600
    inner, leaf = list(range(depth)), list(range(depth, 2 * depth + 1))
    chain = {
        "nodes_treeids": [0] * (2 * depth + 1),
        "nodes_nodeids": inner + leaf,
        "nodes_featureids": [0] * (2 * depth + 1),
        "nodes_values": [0.0] * (2 * depth + 1),
        "nodes_modes": ["BRANCH_LEQ"] * depth + ["LEAF"] * (depth + 1),
        "nodes_truenodeids": [*inner[1:], leaf[-1], *[0] * (depth + 1)],
        "nodes_falsenodeids": [*leaf[:-1], *[0] * (depth + 1)],
        "class_treeids": [0, 0],
        "class_nodeids": [depth, depth + 1],
    }
    both: Mapping[str, object] = {"class_ids": [0, 1], "class_weights": [0.5, 0.5]}

    with pytest.raises(BundleFormatError, match="depth"):
        kernel(one("TreeEnsembleClassifier", TREE, **chain, **both))


@pytest.mark.parametrize(
    "changed",
    [
        {"vectors_per_class": [1, 2]},
        {"vectors_per_class": [1 << 40, 1]},
        {"support_vectors": [1.0, 0.0]},
        {"kernel_params": [1.0]},
        {"kernel_type": "CUBIC"},
        {"kernel_type": 3},
        {"coefficients": [1.0]},
        {"rho": [1.0, 2.0]},
        {"classlabels_ints": list(range(9000)), "vectors_per_class": [1] + [0] * 8999, "coefficients": [1.0] * 8999},
    ],
    ids=lambda changed: str(changed)[:60],
)
def test_support_vectors_that_do_not_fit_are_refused(changed: Mapping[str, object]) -> None:
    with pytest.raises(BundleFormatError):
        kernel(one("SVMClassifier", VECTORS, **changed))


@pytest.mark.parametrize(
    "data",
    [
        tiny.model([node("LinearClassifier", LINEAR, domain="org.example")], WIDTH),
        tiny.model([node("Imputer", {})], WIDTH),
        tiny.model([node("LSTM", {}, domain="")], WIDTH),
        one("TreeEnsembleClassifier", TREE, **MIXED),
        one("TreeEnsembleClassifier", TREE, nodes_values=None, nodes_values_as_tensor=1),
        one("LinearClassifier", LINEAR, classlabels_strings=["no", "yes"]),
    ],
    ids=["domain", "no value", "operator", "trees that are mixed", "thresholds of float64", "labels of two types"],
)
def test_what_no_estimator_needs_is_refused(data: bytes) -> None:
    with pytest.raises(BundleFormatError):
        kernel(data)


@pytest.mark.parametrize(
    "data",
    [
        one("LinearClassifier", LINEAR, post_transform="PROBIT"),
        one("TreeEnsembleClassifier", TREE, nodes_modes=["BRANCH_GT", "LEAF", "LEAF"] * 2),
        one("LinearClassifier", LINEAR, classlabels_ints=None, classlabels_strings=["no", "yes"]),
    ],
    ids=["transform", "comparison", "labels that are texts"],
)
def test_what_may_be_sound_but_has_no_kernel_is_told_apart(data: bytes) -> None:
    with pytest.raises(UnknownModel):
        kernel(data, sure=True)


BOTH: Mapping[str, object] = {
    "class_treeids": [0, 0, 0, 0, 1, 1, 1, 1],
    "class_nodeids": [1, 1, 2, 2] * 2,
    "class_ids": [0, 1] * 4,
    "class_weights": [0.25, 0.5] * 4,
}


@pytest.mark.parametrize(
    "changed",
    [
        {"class_ids": [0, 1, 0, 1]},
        {"class_ids": [1, 1, 1, 1], "base_values": [0.25]},
        {"class_ids": [1, 1, 1, 1]},
        {"base_values": [0.25, 0.5]},
        BOTH,
    ],
    ids=["one each", "second and base", "second", "two bases", "both"],
)
def test_scores_of_the_second_of_two_classes_are_left_to_onnxruntime(changed: Mapping[str, object]) -> None:
    """It does not choose the class with the larger one."""
    with pytest.raises(UnknownModel, match="second of two classes"):
        kernel(one("TreeEnsembleClassifier", TREE, **changed))


THREE: Mapping[str, object] = {**TREE, "classlabels_int64s": [0, 1, 0]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"class_ids": [1, 2, 1, 2], "class_weights": [-0.5, -0.25, 0.5, 0.5]}, "some classes no score"),
        ({"class_ids": [0, 1, 2, 2], "class_weights": [0.0, 0.25, 0.5, 0.5]}, "some classes no score"),
        ({"class_ids": [0, 1, 2, 2]}, None),
        ({"class_ids": [1, 2, 1, 2], "class_weights": [-0.5, -0.25, 0.5, 0.5], "base_values": [0.0] * 3}, None),
        ({"class_ids": [0, 0, 1, 1], "class_weights": [-0.5, -0.25, 0.5, 0.5]}, "some classes no score"),
    ],
    ids=["below 0", "0", "above 0", "base values", "a class without trees"],
)
def test_classes_without_a_score_are_left_to_onnxruntime(changed: Mapping[str, object], said: str | None) -> None:
    """It never chooses them, whatever the others score."""
    data = one("TreeEnsembleClassifier", THREE, **changed)
    if said is None:
        assert kernel(data)() in (0, 1)
        return
    with pytest.raises(UnknownModel, match=said):
        kernel(data)


@pytest.mark.parametrize("kind", ["SOFTMAX", "LOGISTIC"])
def test_odd_transforms_of_one_score_for_two_classes_are_left_to_onnxruntime(kind: str) -> None:
    with pytest.raises(UnknownModel, match=kind):
        kernel(one("TreeEnsembleClassifier", TREE, post_transform=kind), sure=True)
