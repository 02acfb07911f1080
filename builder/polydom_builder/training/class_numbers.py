"""Exported classifiers that return class numbers, with which the node works, though they were trained on labels.

In most converted models one operator holds the list of labels: there the numbers take their place, which costs
nothing. After any other operator an encoder is appended.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.bundle import Label
from polydom_runtime.device.tiny_models import ML_DOMAIN

PASSING = ("Identity", "Cast", "Reshape")
"""Operators that hand on labels as they are."""

TEXT_LABELS = "classlabels_strings"
ENCODES = 2
"""The first version of ai.onnx.ml with encoders from and to all labels."""

NUMBERS = {
    "LinearClassifier": "classlabels_ints",
    "SVMClassifier": "classlabels_ints",
    "TreeEnsembleClassifier": "classlabels_int64s",
}
"""The attribute for labels that are integers, of each operator that holds labels."""

ENCODED, CLASS_NUMBERS = "class_number", "class_numbers"


def number_labels(proto: Any, classes: Sequence[Label], ml_opset: int) -> None:
    """Let output 0 of a converted classifier be the position of the label among the rising classes.

    `ExportError` if it needs an encoder of labels, which versions of ai.onnx.ml up to `ml_opset` may lack.
    """
    if list(classes) == list(range(len(classes))):
        return
    from onnx import TensorProto

    graph = proto.graph
    if not _replaced(graph, list(classes)):
        _append_encoder(proto, list(classes), ml_opset)
    graph.output[0].type.tensor_type.elem_type = TensorProto.INT64


def _replaced(graph: Any, classes: list[Label]) -> bool:
    """Replace the labels where an operator holds them; tell whether that was possible."""
    made_by = {output: node for node in graph.node for output in node.output}
    name = graph.output[0].name
    node = made_by.get(name)
    while node is not None and node.op_type in PASSING:
        name = node.input[0]
        if sum(list(other.input).count(name) for other in graph.node) > 1:  # the labels have another use
            return False
        node = made_by.get(name)
    if node is None:
        return False
    if node.op_type in NUMBERS:
        return _replaced_in_attribute(node, classes)
    return node.op_type == "ArrayFeatureExtractor" and _replaced_in_constant(graph, node, classes)


def _replaced_in_attribute(node: Any, classes: list[Label]) -> bool:
    from onnx.helper import make_attribute

    name = TEXT_LABELS if isinstance(classes[0], str) else NUMBERS[node.op_type]
    held = [a for a in node.attribute if a.name == name]
    if not held or [s.decode() for s in held[0].strings] + list(held[0].ints) != classes:
        return False
    node.attribute.remove(held[0])
    node.attribute.append(make_attribute(NUMBERS[node.op_type], list(range(len(classes)))))
    return True


def _replaced_in_constant(graph: Any, node: Any, classes: list[Label]) -> bool:
    from onnx.numpy_helper import from_array, to_array

    held = next((constant for constant in graph.initializer if constant.name == node.input[0]), None)
    if held is None:
        return False
    labels = to_array(held)
    known = [x.decode() if isinstance(x, bytes) else x for x in labels.reshape(-1).tolist()]
    is_number = labels.dtype.kind in "if"
    # skl2onnx cuts integers off at 32 bits.
    expected = np.array(classes).astype(labels.dtype).tolist() if is_number else classes
    if known != expected:
        return False
    dtype = labels.dtype if is_number else np.dtype(np.int64)
    graph.initializer.append(from_array(np.arange(len(classes), dtype=dtype).reshape(labels.shape), CLASS_NUMBERS))
    node.input[0] = CLASS_NUMBERS
    if not any(held.name in other.input for other in graph.node):
        graph.initializer.remove(held)
    return True


def _append_encoder(proto: Any, classes: list[Label], ml_opset: int) -> None:
    from onnx.helper import make_node, make_operatorsetid

    graph = proto.graph
    last = next(node for node in graph.node if graph.output[0].name in node.output)
    if last.op_type == "ArgMax":  # converted without its labels
        return
    if ml_opset < ENCODES:
        raise ExportError(f"it needs version {ENCODES} of {ML_DOMAIN} for its labels")
    known = [o for o in proto.opset_import if o.domain == ML_DOMAIN]
    if known:
        known[0].version = max(known[0].version, ENCODES)
    else:
        proto.opset_import.append(make_operatorsetid(ML_DOMAIN, ENCODES))
    keys = "keys_strings" if isinstance(classes[0], str) else "keys_int64s"
    table: dict[str, Any] = {keys: classes, "values_int64s": list(range(len(classes))), "default_int64": -1}
    graph.node.append(make_node("LabelEncoder", [graph.output[0].name], [ENCODED], domain=ML_DOMAIN, **table))
    graph.output[0].name = ENCODED
