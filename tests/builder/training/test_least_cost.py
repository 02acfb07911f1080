"""Labels of least expected cost: in scikit-learn, in onnxruntime and in numpy."""

from typing import Any

import numpy as np
import onnx
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from polydom_builder.training.least_cost import LeastCostModel, decision_costs
from polydom_builder.training.onnx import OnnxModel, to_onnx
from polydom_runtime.bundles.confidence import ErrorCosts
from polydom_runtime.bundles.engines import InputRow, ModelRunner
from polydom_runtime.kernels.kernel import Kernel

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(300, 3)).astype(np.float32)
NAMES = np.array(["a", "b", "c"])
TWO = NAMES[(ROWS[:, 0] + rng.normal(size=300) > 0).astype(int)]
THREE = NAMES[(ROWS[:, 0] + rng.normal(size=300) > 0).astype(int) + (ROWS[:, 1] > 0.5)]


def errors(*costs: tuple[float, ...]) -> ErrorCosts:
    return ErrorCosts(costs, 0.5)


class Known:
    """A fitted classifier whose rows are its probabilities."""

    classes_ = np.array(["fault", "ok"])

    def predict_proba(self, rows: Any) -> Any:
        return rows


def test_label_costs_least_by_the_probabilities() -> None:
    """A missed fault costs 9 times an alarm: from a probability of a tenth on it is better to say fault."""
    share = np.array([0.0, 0.05, 0.09, 0.11, 0.5, 1.0])
    model = LeastCostModel(Known(), decision_costs(errors((0.0, 9.0), (1.0, 0.0))))

    assert model.predict(np.stack([share, 1 - share], axis=1)).tolist() == ["ok", "ok", "ok", "fault", "fault", "fault"]


def test_no_answer_is_best_between_the_labels() -> None:
    """It costs 0.3: less than a missed fault from 1/30 on, less than an alarm up to 0.7."""
    share = np.array([0.0, 0.03, 0.04, 0.5, 0.69, 0.71, 1.0])
    model = LeastCostModel(Known(), decision_costs(errors((0.0, 9.0, 0.3), (1.0, 0.0, 0.3))))

    answers = ["ok", "ok", None, None, None, "fault", "fault"]
    assert model.predict(np.stack([share, 1 - share], axis=1)).tolist() == answers


def test_sharper_probabilities_make_the_choice_bolder() -> None:
    """Of 0.2 and 0.8 the squares are in the ratio of 1 to 16, so that an error that costs 9 times as much is risked."""
    rows, costs = np.array([[0.2, 0.8]]), decision_costs(errors((0.0, 9.0), (1.0, 0.0)))

    assert [LeastCostModel(Known(), costs, power).predict(rows)[0] for power in (1.0, 2.0)] == ["fault", "ok"]


def test_ties_go_to_the_first_label() -> None:
    costs = decision_costs(errors((0.0, 1.0, 3.0), (1.5, 0.0, 3.0), (2.0, 2.0, 0.0)))
    probabilities = np.array([[0.6, 0.4, 0.0], [0.5, 1 / 3, 1 / 6], [0.0, 0.4, 0.6]])
    expected = probabilities @ np.array([[0, 1, 3], [1.5, 0, 3], [2, 2, 0]])

    assert np.allclose(expected[:2, 0], expected[:2, 1])
    assert (probabilities @ costs).argmin(axis=1).tolist()[:2] == [0, 0]


@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6, 1e9])
def test_costs_that_lie_far_apart_keep_their_ratio(ratio: float) -> None:
    costs = decision_costs(errors((0.0, ratio), (1.0, 0.0)))

    assert (costs[0, 1] - costs[0, 0]) / (costs[1, 0] - costs[1, 1]) == pytest.approx(ratio, rel=2e-3)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GaussianNB(),
        QuadraticDiscriminantAnalysis(),
        KNeighborsClassifier(),
        DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
        RandomForestClassifier(10, max_depth=3, random_state=0),
    ],
    ids=["logistic", "bayes", "quadratic", "neighbours", "tree", "forest"],
)
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(("sharpness", "no_answer"), [(1.0, ()), (1.7, ()), (1.7, (0.3,))])
def test_engines_answer_as_scikit_learn_also_where_two_labels_cost_the_same(
    estimator: Any, labels: Any, sharpness: float, no_answer: tuple[float, ...]
) -> None:
    """Of five neighbours three in two labels cost the same: 0.6 times 1 and 0.4 times 1.5."""
    matrix = np.ones((3, 3)) - np.eye(3)
    matrix[1, 0] = 1.5
    classes = np.unique(labels)
    costs = decision_costs(errors(*((*row, *no_answer) for row in matrix[: len(classes), : len(classes)].tolist())))
    model = LeastCostModel(estimator.fit(ROWS, labels), costs, sharpness)
    data = to_onnx(model, 3, classes=classes.tolist())
    tried = np.concatenate([ROWS, rng.normal(size=(1000, 3)).astype(np.float32)])
    expected = model.numbers(tried)
    row = InputRow(3)
    kernel, runner = Kernel(data, row, 3, len(classes)), ModelRunner(data, row, 3, len(classes))
    given = []
    for values in tried:
        row.values[:] = values
        given.append((kernel(), runner()))

    assert [(label, label) for label in expected.tolist()] == given
    assert expected.tolist() == OnnxModel(data).predict(tried).tolist()
    assert np.allclose(model.predict_proba(tried), OnnxModel(data).predict_proba(tried), atol=1e-4)


def test_logistic_regression_of_two_classes_stays_one_product_in_numpy() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(ROWS, TWO)
    data = to_onnx(LeastCostModel(model, decision_costs(errors((0.0, 9.0), (1.0, 0.0))), 1.7), 3, classes=["a", "b"])

    assert len(Kernel(data, InputRow(3), 3, 2)._calls) == 1


def test_operators_of_the_label_before_are_left_out() -> None:
    model = LeastCostModel(GaussianNB().fit(ROWS, TWO), decision_costs(errors((0.0, 9.0), (1.0, 0.0))))
    graph = onnx.load_from_string(to_onnx(model, 3, classes=["a", "b"])).graph

    assert not [node for node in graph.node if node.op_type in ("ArgMax", "ArrayFeatureExtractor")]
    assert {c.name for c in graph.initializer} <= {name for node in graph.node for name in node.input}
