"""What float32 loses of features is told by name, and what no float32 can hold is refused with the cause."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from polydom_builder.exceptions import ExportError, TrainingError
from polydom_builder.training.precision import warn_of_lost_values
from polydom_runtime import CostFunction, Feature, FeatureSpace
from polydom_runtime.exceptions import FeatureError
from tests.builder.searches import LOGISTIC, search
from tests.bundle_parts import unit_times

VALUES = np.random.default_rng(0).normal(size=240)
SPACE = FeatureSpace([Feature("good", len), Feature("pair", len, width=2)], size=len)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (VALUES * 1e-50, r"240 different .* are 1 in float32. Multiply it, as by 3e\+49"),
        (VALUES * 1e-42, r"240 different .* Multiply it"),
        (1.7e9 + 2000 * VALUES, r"240 different .* are \d+ in float32. Subtract"),
        (1e6 + 0.01 * VALUES, "Subtract"),
        (1e9 + 0.1 * np.random.default_rng(0).integers(0, 2, (240, 10)).sum(axis=1), r"\d+ different .* 1 in float32"),
        (np.append(VALUES * 1e-50, 1.0), "241 different .* are 2 in float32"),
    ],
    ids=["tiny", "below the normal numbers", "Unix times", "an offset", "tenths at an offset", "with an outlier"],
)
def test_values_that_float32_makes_equal_are_told_by_name(values: Any, said: str) -> None:
    rows = np.stack([np.arange(len(values)), np.arange(len(values)), values], axis=1)
    with pytest.warns(UserWarning, match=f"Feature 'pair' must give numbers that float32 tells apart.*{said}") as found:
        warn_of_lost_values(SPACE, rows)

    assert len(found) == 1


@pytest.mark.parametrize(
    "values",
    [
        VALUES,
        VALUES.astype(np.float32) * 1e6,
        np.zeros(240),
        np.full(240, 1e-50),
        1.0 + 1e-15 * VALUES,
        1000.0 + VALUES,
        np.round(VALUES),
        VALUES * 1e-30,
        1000.0 + 0.1 * np.random.default_rng(0).normal(size=100_000),
        [sum(0.1 * ten) for ten in np.random.default_rng(0).integers(0, 5, (240, 10))],
        [(0.1 * ten).std() for ten in np.random.default_rng(0).integers(0, 2, (240, 32))],
    ],
    ids=[
        "plain",
        "float32",
        "zeros",
        "constant",
        "rounding",
        "an offset",
        "integers",
        "small",
        "many",
        "sums of tenths",
        "spreads of tenths",
    ],
)
def test_features_that_lose_nothing_are_not_named(values: Any) -> None:
    with warnings.catch_warnings(record=True) as told:
        warn_of_lost_values(SPACE, np.stack([values] * 3, axis=1))

    assert told == []


def fit(feature: Any, estimator: Any = LOGISTIC, **given: Any) -> None:
    items = [np.full(10, value) for value in VALUES]
    space = FeatureSpace([Feature("tiny", feature)], size=len)
    costs = unit_times(space.names, [CostFunction.of(1e-6)], [], CostFunction.of(1e-6), model=1e-6)
    found = search(deadline=1.0, space=space, memory=None, estimator=estimator)
    found.fit(items, [int(value > 0) for value in VALUES], costs=costs, **given)


@pytest.mark.filterwarnings("ignore:No feature set scores")
def test_a_build_tells_what_float32_loses() -> None:
    with pytest.warns(UserWarning, match=r"'tiny' .* \d{3} different ones .* 1 in float32"):
        fit(lambda x: 1.0 + 1e-10 * x[0])


@pytest.mark.filterwarnings("ignore:Feature 'tiny' must give numbers that float32")
@pytest.mark.parametrize(
    ("factor", "estimator", "said"),
    [
        (1e-42, LOGISTIC, "Expected finite numbers as scale .* by 6e-42 in tiny"),
        (1e-25, SVC(), "Expected finite numbers as kernel_params .* by 6e-25 in tiny"),
        (1e25, KNeighborsClassifier(), r"differs on \d+ of \d+.* by 6e\+25 in tiny"),
    ],
    ids=["a scale", "a width of kernels", "squares of distances"],
)
def test_numbers_beyond_float32_blame_the_feature(factor: float, estimator: Any, said: str) -> None:
    with pytest.raises(ExportError, match=f"{said}: float32 cannot hold the square or the inverse. Multiply that"):
        fit(lambda x: factor * x[0], estimator)


def test_a_feature_beyond_the_end_of_float32_is_told_from_one_that_is_not_finite() -> None:
    with pytest.raises(FeatureError, match=r"'tiny' must return 1 finite numbers. .* Divide it: .* ends at 3e38"):
        fit(lambda x: 1e42 * x[0])
    with pytest.raises(FeatureError, match=r"'tiny' must return 1 finite numbers. .* leave such items out"):
        fit(lambda x: np.inf * x[0])


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_parameter_beyond_float32_is_blamed() -> None:
    with pytest.raises(ExportError, match=r"Expected finite numbers .* Look at its parameters, such as class_weight"):
        fit(lambda x: x[0], DecisionTreeClassifier(class_weight={0: 1e308, 1: 1e308}))


@pytest.mark.parametrize("weight", [1e308, 1e31, 1e-31, 1e-320])
def test_weights_beyond_float32_are_blamed(weight: float) -> None:
    with pytest.raises(TrainingError, match=r"sample_weight must be 0, or from 1e-30 to 1e\+30.* for item 3\. Divide"):
        fit(lambda x: x[0], sample_weight=[1.0] * 3 + [weight] * 237)
