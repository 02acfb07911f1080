"""Small ONNX models for calibration and for trying versions, encoded here since the node has no onnx package."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

IR_VERSION, OPSET, ML_OPSET = 8, 17, 3
"""The versions that the builder exports unless the limits of a device are known."""

ML_DOMAIN = "ai.onnx.ml"
FLOAT, INT64 = 1, 7  # TensorProto.DataType


def linear_classifier(width: int, n_classes: int, *, seed: int = 0) -> bytes:
    """Return a LinearClassifier with random coefficients, as exported from a logistic regression."""
    return _classifier("LinearClassifier", width, _linear(width, n_classes, "SOFTMAX", seed))


def linear_pipeline(width: int, n_classes: int, *, scalers: int) -> bytes:
    """Return a chain of scalers and a classifier, as exported from a pipeline; with many scalers, as from a network."""
    names = ["X", *(f"scaled{k}" for k in range(scalers))]
    constants = {"offset": [0.1] * width, "scale": [0.9] * width}
    nodes = [_node("Scaler", [a], [b], constants) for a, b in pairwise(names)]
    nodes.append(_node("LinearClassifier", names[-1:], ["label", "raw"], _linear(width, n_classes, "LOGISTIC")))
    nodes.append(_node("Normalizer", ["raw"], ["scores"], {"norm": "L1"}))
    return model(nodes, width)


def constant_classifier(width: int, answer: int, n_classes: int = 2) -> bytes:
    """Return a classifier that answers `answer` for every finite row."""
    attributes = {
        "coefficients": [0.0] * (width * n_classes),
        "intercepts": [float(c == answer) for c in range(n_classes)],
        "classlabels_ints": list(range(n_classes)),
        "post_transform": "NONE",
    }
    return _classifier("LinearClassifier", width, attributes)


def trial_model(ir_version: int, opset: int, ml_opset: int) -> bytes:
    """Return a small linear classifier that declares these versions."""
    attributes = {"coefficients": [1.0, 0.0, 0.0, 1.0], "intercepts": [0.0, 0.0], "classlabels_ints": [0, 1]}
    return _classifier("LinearClassifier", 2, attributes, ir_version=ir_version, opset=opset, ml_opset=ml_opset)


def tree_classifier(width: int, n_classes: int, *, trees: int, depth: int, seed: int = 0) -> bytes:
    """Return a TreeEnsembleClassifier of full random trees with 2 ** depth leaves, as exported from a forest."""
    rng = np.random.default_rng(seed)
    inner, leaves = 2**depth - 1, 2**depth
    per_tree = inner + leaves
    position = np.tile(np.arange(per_tree), trees)
    is_leaf = position >= inner
    tree = np.repeat(np.arange(trees), per_tree)
    attributes = {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": position.tolist(),
        "nodes_featureids": np.where(is_leaf, 0, rng.integers(0, width, len(position))).tolist(),
        "nodes_values": np.where(is_leaf, 0.0, rng.normal(size=len(position))).tolist(),
        "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        "nodes_truenodeids": np.where(is_leaf, 0, 2 * position + 1).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, 2 * position + 2).tolist(),
        "class_treeids": tree[is_leaf].tolist(),
        "class_nodeids": position[is_leaf].tolist(),
        "class_ids": rng.integers(0, n_classes, int(is_leaf.sum())).tolist(),
        "class_weights": (rng.random(int(is_leaf.sum())) / trees).tolist(),
        "classlabels_int64s": list(range(n_classes)),
        "post_transform": "NONE",
    }
    return _classifier("TreeEnsembleClassifier", width, attributes)


def kernel_classifier(width: int, n_classes: int, *, vectors: int, seed: int = 0) -> bytes:
    """Return an SVMClassifier of random support vectors, as exported from a support vector machine with RBF kernel."""
    rng = np.random.default_rng(seed)
    count = vectors // n_classes * n_classes
    attributes = {
        "kernel_type": "RBF",
        "kernel_params": [1.0 / width, 0.0, 3.0],
        "support_vectors": rng.normal(size=count * width).tolist(),
        "vectors_per_class": [count // n_classes] * n_classes,
        "coefficients": rng.normal(size=(n_classes - 1) * count).tolist(),
        "rho": rng.normal(size=n_classes * (n_classes - 1) // 2).tolist(),
        "classlabels_ints": list(range(n_classes)),
        "post_transform": "NONE",
    }
    return _classifier("SVMClassifier", width, attributes)


def dense_classifier(width: int, n_classes: int, *, hidden: Sequence[int], seed: int = 0) -> bytes:
    """Return a network of dense layers with random weights, as exported from a multi-layer perceptron."""
    rng = np.random.default_rng(seed)
    sizes, nodes, weights, last = (width, *hidden, n_classes), [], {}, "X"
    for k, (a, b) in enumerate(pairwise(sizes)):
        weights[f"weights{k}"] = rng.normal(size=(a, b)) / a**0.5
        out = "scores" if k == len(hidden) else f"sums{k}"
        nodes.append(_node("MatMul", [last, f"weights{k}"], [out], {}, domain=""))
        if k < len(hidden):
            nodes.append(_node("Relu", [out], [last := f"layer{k}"], {}, domain=""))
    nodes.append(_node("ArgMax", ["scores"], ["label"], {"axis": 1, "keepdims": 0}, domain=""))
    return model(nodes, width, weights=weights)


def model(
    nodes: Sequence[bytes],
    width: int,
    *,
    weights: Mapping[str, NDArray[np.float64]] | None = None,
    ir_version: int = IR_VERSION,
    opset: int = OPSET,
    ml_opset: int = ML_OPSET,
) -> bytes:
    """Return a ModelProto: input X float32 ``(n, width)``, outputs label int64 ``(n,)`` and scores."""
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny")
    graph += b"".join(_field(5, _tensor(name, values)) for name, values in (weights or {}).items())
    graph += _field(11, _value("X", FLOAT, (None, width)))
    graph += _field(12, _value("label", INT64, (None,))) + _field(12, _value("scores", FLOAT, (None, None)))
    opsets = _field(8, _number(2, opset)) + _field(8, _field(1, ML_DOMAIN.encode()) + _number(2, ml_opset))
    return _number(1, ir_version) + _field(7, graph) + opsets


def _classifier(kind: str, width: int, attributes: Mapping[str, object], **versions: Any) -> bytes:
    return model([_node(kind, ["X"], ["label", "scores"], attributes)], width, **versions)


def _linear(width: int, n_classes: int, post_transform: str, seed: int = 0) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {
        "coefficients": rng.normal(size=width * n_classes).tolist(),
        "intercepts": rng.normal(size=n_classes).tolist(),
        "classlabels_ints": list(range(n_classes)),
        "post_transform": post_transform,
    }


def _node(
    kind: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    attributes: Mapping[str, object],
    *,
    domain: str = ML_DOMAIN,
) -> bytes:
    parts = [_field(1, name.encode()) for name in inputs] + [_field(2, name.encode()) for name in outputs]
    parts.append(_field(4, kind.encode()))
    parts += [_field(5, _attribute(name, value)) for name, value in attributes.items()]
    parts.append(_field(7, domain.encode()))
    return b"".join(parts)


def _attribute(name: str, value: object) -> bytes:
    """Return an AttributeProto: an int, a string, or a list of floats, of ints or of strings."""
    head = _field(1, name.encode())
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return head + _field(4, value.encode()) + _number(20, 3)
    assert isinstance(value, list)
    if isinstance(value[0], float):
        return head + _field(7, struct.pack(f"<{len(value)}f", *value)) + _number(20, 6)
    if isinstance(value[0], int):
        return head + _field(8, b"".join(map(_varint, value))) + _number(20, 7)
    return head + b"".join(_field(9, text.encode()) for text in value) + _number(20, 8)


def _value(name: str, kind: int, shape: Sequence[int | None]) -> bytes:
    """Return a ValueInfoProto of a tensor; None stands for any length."""
    dimensions = b"".join(_field(1, b"" if n is None else _number(1, n)) for n in shape)
    tensor = _number(1, kind) + _field(2, dimensions)
    return _field(1, name.encode()) + _field(2, _field(1, tensor))


def _tensor(name: str, values: NDArray[np.float64]) -> bytes:
    shape = b"".join(_number(1, n) for n in values.shape)
    return shape + _number(2, FLOAT) + _field(8, name.encode()) + _field(9, values.astype("<f4").tobytes())


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(tag: int, number: int) -> bytes:
    return _varint(tag << 3) + _varint(number)


def _field(tag: int, content: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(content)) + content
