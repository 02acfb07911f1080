"""Both engines give one answer, or one of them refuses the model; and the comparison finds where they do not."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.kernel import Kernel

from . import two_engines
from .two_engines import differences
from .typed_models import typed_model

WIDTH = 6


def stump(
    n: int, ids: Sequence[int], weights: Sequence[float], base: Sequence[float] = (), transform: str = "NONE"
) -> bytes:
    """Return a model of one split at ``x[0] <= 0`` whose two leaves score one class each."""
    attributes: dict[str, Any] = {
        **{"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0]},
        **{"nodes_values": [0.0, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"]},
        **{"nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "class_treeids": [0, 0]},
        **{"class_nodeids": [1, 2], "class_ids": ids, "class_weights": weights, "classlabels_int64s": range(n)},
    }
    if base:
        attributes["base_values"] = base
    made = helper.make_node(
        *("TreeEnsembleClassifier", ["x"], ["label", "scores"]),
        domain="ai.onnx.ml",
        post_transform=transform,
        **attributes,
    )
    row = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, WIDTH])
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, n]),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([made], "stump", [row], outputs)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes([n, WIDTH]) + bytes(model.SerializeToString())


@pytest.mark.parametrize(
    "data",
    [
        stump(3, [1, 2], [-0.5, -0.25]),
        stump(4, [0, 3], [-0.5, -0.25], transform="SOFTMAX"),
        stump(3, [2, 2], [-0.5, 0.5]),
        stump(2, [1, 1], [-0.5, 0.5], [0.25], "SOFTMAX"),
        stump(2, [1, 1], [0.1, 0.9], [0.45]),
        stump(2, [1, 1], [0.4, 0.9], [0.2], "LOGISTIC"),
    ],
)
def test_stumps_that_engines_decided_otherwise_have_no_kernel(data: bytes) -> None:
    with pytest.raises(BundleFormatError, match="no kernel"):
        differences(data)


@pytest.mark.parametrize(
    "data",
    [
        stump(3, [1, 2], [0.5, 0.25]),
        stump(3, [1, 2], [-0.5, -0.25], [0.0, 0.0, 0.0]),
        stump(2, [0, 0], [-0.5, 0.5], [0.25], "LOGISTIC"),
        stump(2, [0, 0], [0.1, 0.9]),
        stump(2, [0, 0], [0.1, 0.9], [-0.45]),
        stump(2, [0, 0], [0.4, 0.9], transform="SOFTMAX"),
    ],
)
def test_stumps_that_have_a_kernel_get_one_answer(data: bytes) -> None:
    assert differences(data) == ""


def test_typed_models_get_one_answer_or_are_refused() -> None:
    found, n_compared = [], 0
    for seed in range(250):
        try:
            found.append(differences(typed_model(Random(seed))))
        except BundleFormatError:
            continue
        n_compared += 1

    assert not any(found), [said for said in found if said]
    assert n_compared > 75


@pytest.mark.parametrize("what", ["labels", "scores"])
def test_another_label_or_score_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Kernel):
        def __call__(self) -> int | float:
            answer = super().__call__()
            return 1 - answer if what == "labels" else answer

        def confidence(self) -> float:
            return 0.9 * super().confidence()

    monkeypatch.setattr(two_engines, "Kernel", Other)
    monkeypatch.setattr(two_engines, "_around", lambda *given: np.full((given[-1].sum(), 2), -1.0))

    assert differences(stump(2, [0, 0], [0.1, 0.9])).startswith(what)
