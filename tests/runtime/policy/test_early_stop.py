"""Stopping early on the node: asking a model whether it is sure must never cost an answer its time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polydom_runtime
from polydom_runtime import Predictor, Seams
from polydom_runtime.prediction import Policy
from tests.runtime.conftest import US, World, make_bundle

SECONDS = 5 * US


class Model:
    """Takes its time, says class 1, and is as sure as it is told to be."""

    def __init__(self, world: World, confidence: float, answer: int = 1) -> None:
        self._world, self._confidence, self._answer = world, confidence, answer
        self.runs = 0

    def __call__(self) -> int:
        self.runs += 1
        self._world.clock.advance(seconds=SECONDS)
        return self._answer

    def confidence(self) -> float:
        return self._confidence


def predictor(
    world: World, run_of: Callable[[int], Model], early_stop: bool = True, adapt: bool = True, **options: Any
) -> Predictor:
    bundle = make_bundle()[0]
    models = tuple(m._replace(stop=stop) for m, stop in zip(bundle.models, (0.9, 0.9, 2.0), strict=True))
    return Predictor(
        replace(bundle, models=models),
        world.space,
        early_stop=early_stop,
        seams=Seams(clock=world.clock, run_of=run_of, adapt=adapt),
        **options,
    )


def test_sure_model_answers_at_once(world: World) -> None:
    model = Model(world, 0.95)
    answer = predictor(world, lambda number: model).predict_one(np.arange(10.0))

    assert (answer.features, answer.label, answer.reason) == (("mean",), "yes", "confident")
    assert model.runs == 1
    assert "spread" not in world.calls


def test_unsure_models_cost_time_but_no_answer(world: World) -> None:
    """Two models are asked in vain; the third, which never stops early, answers, each run once."""
    model = Model(world, 0.5)
    ours = predictor(world, lambda number: model)
    answer = ours.predict_one(np.arange(10.0))

    assert (answer.features, answer.reason) == (("mean", "spread", "ends"), "planned")
    assert model.runs == 3
    for _ in range(40):
        assert ours.predict_one(np.arange(10.0)).slowdown == 1.0  # asking is no sign of a slow machine


@pytest.mark.filterwarnings("ignore:The bundle was built for")
@pytest.mark.parametrize("microseconds", range(40, 200, 5))
def test_asking_never_makes_an_answer_late_or_worse(world: World, microseconds: int) -> None:
    """At any deadline, with `mean` as slow as its worst case or overrunning it."""
    for mean in (10, 30):
        world.seconds["mean"] = mean * US
        asked, plain = (
            predictor(world, lambda number: Model(world, 0.5), early, deadline=microseconds * US, adapt=False)
            for early in (True, False)
        )
        with_asking, without = (ours.predict_one(np.arange(10.0)) for ours in (asked, plain))

        assert with_asking.deadline_met >= without.deadline_met
        assert bool(with_asking.features) == bool(without.features)


@pytest.mark.parametrize("answer", [2, -1])
@pytest.mark.parametrize("policy", ["anytime", "strict"])
def test_class_that_does_not_exist_is_a_failed_model(world: World, policy: Policy, answer: int) -> None:
    ours = predictor(world, lambda number: Model(world, 0.5, answer), early_stop=False, policy=policy)

    assert ours.predict_one(np.arange(10.0))[:3] == ("no", (), 0.5)


def test_every_name_of_the_package_is_there() -> None:
    assert all(getattr(polydom_runtime, name) for name in polydom_runtime.__all__)


def test_what_is_learned_of_features_is_without_the_time_in_which_a_model_was_asked(world: World) -> None:
    """The first model is asked in vain, the second is sure: both take 5 µs, which belong to no feature."""
    ours = predictor(world, lambda number: Model(world, 0.95 if number else 0.5))
    answers = [ours.predict_one(np.arange(10.0)) for _ in range(40)]
    ours.use_slack(1.0)

    assert {(answer.features, answer.reason) for answer in answers} == {(("mean", "spread"), "confident")}
    assert ours._experience.learner is not None
    took = {unit: history._pairs[-1][1] for (_, unit), history in ours._experience.learner.times.histories.items()}
    assert took["mean"] == pytest.approx(1e9 * world.seconds["mean"])
    assert took["spread"] == pytest.approx(1e9 * world.seconds["spread"])
