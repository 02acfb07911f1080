"""What all predictors have in common."""

import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import CostFunction, DeadlineError, Predictor, SupervisedPredictor
from polydom_runtime.prediction import AnyPredictor, Policy, labels_of, policy_for
from tests.bundle_parts import changed
from tests.runtime import supervised_space
from tests.runtime.conftest import make_bundle, write

SPACE = "tests.runtime.supervised_space:space"
HOUR_S = 3600.0
MEMBERS = [
    *("bundle", "deadline", "failures", "learning", "margin", "n_oversized", "out", "policy", "slowdown", "trace"),
    *("predict_one", "rehearse", "warm_up"),
]


@pytest.fixture(scope="module", params=["in this process", "supervised"])
def predictor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyPredictor]:
    """Each kind of predictor, of the same bundle, with a deadline that no pause of the machine uses up."""
    bundle, models = make_bundle()
    folder = tmp_path_factory.mktemp("predictor") / "b"
    write(folder, changed(bundle, budgets=(1e-3, HOUR_S), steps=()), models)
    if request.param == "supervised":
        with closing(SupervisedPredictor(folder, SPACE, deadline=HOUR_S, reserve=1.0)) as supervised:
            yield supervised
    else:
        yield Predictor.load(folder, supervised_space.space, deadline=HOUR_S)


def test_every_predictor_has_all_of_the_protocol(predictor: AnyPredictor) -> None:
    assert isinstance(predictor, AnyPredictor)


def test_every_predictor_answers_alike(predictor: AnyPredictor) -> None:
    predictor.warm_up(np.zeros(10))
    answer = predictor.predict_one(np.zeros(10))

    assert (answer.label, answer.features, answer.accuracy) == ("yes", ("mean", "spread", "ends"), 0.9)
    assert (answer.deadline_met, answer.reason, answer.slowdown) == (True, "planned", predictor.slowdown)
    assert (predictor.policy, predictor.deadline, predictor.n_oversized) == ("anytime", HOUR_S, 0)
    assert (predictor.trace.size, predictor.trace.features) == (10.0, [0, 1, 2])
    assert (dict(predictor.failures), predictor.out) == ({}, frozenset())
    learning = predictor.learning()
    assert (learning.had_slack, learning.answers, learning.margin) == (False, 0, predictor.margin.value)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_number_of_a_regressor_that_is_not_finite_is_named(number: float) -> None:
    labels = labels_of(changed(make_bundle()[0], classes=(), prior=(0.0, 0.5)))

    assert labels[1e38] == 1e38
    with pytest.raises(OverflowError, match=f"it must be finite, got {number}: the features are far"):
        labels[number]


@pytest.mark.parametrize("missing", MEMBERS)
def test_object_that_lacks_a_member_is_no_predictor(missing: str) -> None:
    """So the check of real predictors can fail."""
    parts = dict.fromkeys(MEMBERS, print)
    assert isinstance(type("Whole", (), parts)(), AnyPredictor)

    del parts[missing]
    assert not isinstance(type("Partial", (), parts)(), AnyPredictor)


@pytest.mark.parametrize("asked", ["anytime", "strict"])
def test_bundle_allows_the_policy_that_is_asked_for(asked: Policy) -> None:
    assert policy_for(make_bundle()[0], asked) == asked


def test_greedy_bundle_allows_strict_plans_only() -> None:
    assert policy_for(changed(make_bundle()[0], sequences=((0, 1, 2),), median_size=10.0), "anytime") == "strict"


def test_bundle_whose_costs_are_not_sums_allows_strict_plans_only() -> None:
    bundle, _ = make_bundle()
    models = tuple(model._replace(cost=CostFunction.of(1e-5)) for model in bundle.models)

    assert policy_for(changed(bundle, models=models), "anytime") == "strict"


def test_unknown_policy_is_refused_before_any_process_is_started(tmp_path: Path) -> None:
    folder = write(tmp_path / "b", *make_bundle())

    with pytest.raises(DeadlineError, match="must be one of anytime, strict"):
        SupervisedPredictor(folder, "tests.runtime.node_space:space", policy="soon")  # type: ignore[arg-type]
