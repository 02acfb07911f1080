"""Labels of least expected cost, from the probabilities of a model: in scikit-learn and in ONNX."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier

from polydom_runtime.bundles.confidence import ErrorCosts

TIE_SHARE, MOST_OF_COST = 2.0**-20, 1e-3
"""Each label costs more than the one before it by this share of the largest cost, and by this share of the smallest one
at most. So of labels that cost the same the first is chosen, whatever the rounding of an engine."""

LABEL = "least_cost"


def decision_costs(errors: ErrorCosts) -> NDArray[np.float64]:
    """Return the costs to decide by, ``(n_true, n_said)``: at most 1, ties to the first label, abstaining last."""
    costs = np.array(errors.costs)
    costs /= costs.max()
    count = costs.shape[1]
    costs += min(TIE_SHARE, MOST_OF_COST * costs[costs > 0.0].min() / count) * np.arange(count)
    return costs


class LeastCostModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier that answers with the label of least expected cost, or abstains if that costs less.

    `sharpness`: the power of the probabilities that is used for the choice: above 1 if the model is too unsure.
    """

    def __init__(self, model: Any, costs: NDArray[np.float64], sharpness: float = 1.0) -> None:
        self.model = model
        self.costs = costs
        self.sharpness = sharpness
        self.classes_ = np.asarray(model.classes_)

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return labels, shape ``(n_items,)``; None for each item without an answer."""
        labels: NDArray[Any] = answers_of(self.classes_, self.costs.shape[1])[self.numbers(rows)]
        return labels

    def numbers(self, rows: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return class numbers, shape ``(n_items,)``; the number after them for each item without an answer."""
        expected = self.predict_proba(rows) ** self.sharpness @ self.costs
        numbers: NDArray[np.intp] = expected.argmin(axis=1)
        return numbers

    def predict_proba(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return the probabilities of the model, shape ``(n_items, n_classes)``."""
        return np.asarray(self.model.predict_proba(rows))


def answers_of(classes: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the answers by their numbers: the classes, and None after them if the count is one more."""
    return classes if count == len(classes) else np.array([*classes.tolist(), None], dtype=object)


def always_abstains(classes: NDArray[Any], targets: NDArray[Any], weights: Any = None) -> LeastCostModel:
    """Return a model that never gives an answer; its probabilities are the shares of the classes."""
    shares = DummyClassifier(strategy="prior").fit(np.zeros((len(targets), 1)), targets, sample_weight=weights)
    return LeastCostModel(shares, np.repeat([[1.0] * len(classes) + [0.0]], len(classes), axis=0))


def choose_by_cost(proto: Any, costs: NDArray[np.float64], sharpness: float) -> None:
    """Let output 0 of a converted classifier be the answer of least expected cost, by its probabilities, output 1.

    A linear model of two classes gets another intercept for its label: then a node computes no probabilities for it.
    """
    from onnx import TensorProto
    from onnx.helper import make_tensor_value_info

    graph = proto.graph
    probabilities = graph.output[1].name
    writer = next(node for node in graph.node if probabilities in node.output)
    if costs.shape[1] == 2 and _is_logistic_of_two(writer):
        graph.node.append(_shifted(writer, costs, sharpness))
    else:
        _append_choice(graph, costs, sharpness)
    graph.output[0].CopyFrom(make_tensor_value_info(LABEL, TensorProto.INT64, [None]))
    _keep_needed(graph)


def _append_choice(graph: Any, costs: NDArray[np.float64], sharpness: float) -> None:
    from onnx.helper import make_node
    from onnx.numpy_helper import from_array

    source = graph.output[1].name
    if sharpness != 1.0:
        graph.initializer.append(from_array(np.array([sharpness], dtype=np.float32), "sharpness"))
        graph.node.append(make_node("Pow", [source, "sharpness"], ["sharper_probabilities"]))
        source = "sharper_probabilities"
    graph.initializer.append(from_array(costs.astype(np.float32), "costs_of_errors"))
    graph.node.append(make_node("MatMul", [source, "costs_of_errors"], ["expected_costs"]))
    graph.node.append(make_node("ArgMin", ["expected_costs"], [LABEL], axis=1, keepdims=0))


def _attributes(node: Any) -> dict[str, Any]:
    from onnx.helper import get_attribute_value

    return {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}


def _is_logistic_of_two(node: Any) -> bool:
    given = _attributes(node)
    bias, weights = (np.array(given.get(name, ())) for name in ("intercepts", "coefficients"))
    first, second = np.array_split(weights, 2)
    mirrored = len(bias) == 2 and bias[0] == -bias[1] and np.array_equal(first, -second)
    return node.op_type == "LinearClassifier" and given.get("post_transform") == b"LOGISTIC" and mirrored


def _shifted(node: Any, costs: NDArray[np.float64], sharpness: float) -> Any:
    """Return a linear classifier whose scores change their sign where the expected costs of both labels are equal."""
    from onnx import NodeProto
    from onnx.helper import make_attribute

    # Label 1 is cheaper where its odds are above this ratio, and the score is the logarithm of the odds.
    shift = math.log((costs[0, 1] - costs[0, 0]) / (costs[1, 0] - costs[1, 1])) / sharpness
    first, second = _attributes(node)["intercepts"]
    found = NodeProto()
    found.CopyFrom(node)
    found.name, found.output[:] = LABEL, [LABEL, "shifted_probabilities"]
    found.attribute.remove(next(a for a in found.attribute if a.name == "intercepts"))
    found.attribute.append(make_attribute("intercepts", [first + shift, second - shift]))
    return found


def _keep_needed(graph: Any) -> None:
    """Drop operators and constants that no output needs any more."""
    needed = {output.name for output in graph.output}
    for node in reversed(list(graph.node)):
        if needed.intersection(node.output):
            needed.update(node.input)
        else:
            graph.node.remove(node)
    for constant in [c for c in graph.initializer if c.name not in needed]:
        graph.initializer.remove(constant)
