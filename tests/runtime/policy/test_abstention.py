"""Confidence of answers, and answers that are withheld since it is too low."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_runtime import ConfidenceError, Predictor, Seams
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.exceptions import BundleMismatchError
from polydom_runtime.policy.loaded_models import RunOf
from tests.runtime.conftest import US, World, make_bundle

ITEM = np.arange(10.0)
CALIBRATION = Calibration((0.5, 1.0), (0.5, 0.75))
POINTS = (RiskPoint(0.0, 1.0, 0.25), RiskPoint(0.5, 0.75, 0.125), RiskPoint(0.625, 0.5, 0.0625))


def sure(risks: tuple[Risk, ...] = (), stop: float | None = None) -> Bundle:
    bundle = make_bundle()[0]
    models = tuple(model._replace(calibration=CALIBRATION, stop=stop) for model in bundle.models)
    return replace(bundle, models=models, confidence=Confidence(0.375, risks))


class Model:
    """Says class 1, with a score; counts how often it was asked for it."""

    def __init__(self, score: float) -> None:
        self.score, self.asked = score, 0

    def __call__(self) -> int:
        return 1

    def confidence(self) -> float:
        self.asked += 1
        return self.score


@pytest.fixture
def make(world: World) -> Callable[..., Predictor]:
    def make(bundle: Bundle, score: float = 0.75, run_of: RunOf | None = None, **options: Any) -> Predictor:
        seams = Seams(clock=world.clock, run_of=run_of or (lambda _: Model(score)))
        return Predictor(bundle, world.space, seams=seams, **options)

    return make


def test_an_answer_states_its_calibrated_confidence(make: Callable[..., Predictor]) -> None:
    answer = make(sure(), 0.75).predict_one(ITEM)

    assert (answer.label, answer.reason, answer.confidence) == ("yes", "planned", 0.625)


def test_an_exported_model_states_its_confidence(world: World) -> None:
    bundle, data = make_bundle()
    bundle = replace(sure(), contents=tuple(data))
    told = [
        Predictor(bundle, world.space, seams=Seams(clock=world.clock, engine=engine)).predict_one(ITEM).confidence
        for engine in ("numpy", "onnxruntime")
    ]

    assert told == [0.75, 0.75]


def test_only_the_model_that_answers_is_asked(make: Callable[..., Predictor]) -> None:
    model = Model(0.75)
    make(sure(), run_of=lambda _: model).predict_one(ITEM)

    assert model.asked == 1


def test_a_bundle_without_confidences_states_none(make: Callable[..., Predictor]) -> None:
    model = Model(0.75)
    answer = make(make_bundle()[0], run_of=lambda _: model).predict_one(ITEM)

    assert (answer.confidence, model.asked) == (None, 0)


def test_the_prior_is_as_sure_as_its_class_is_frequent(world: World, make: Callable[..., Predictor]) -> None:
    world.results = dict.fromkeys(("mean", "spread", "ends"), ValueError("no sound"))
    answer = make(sure()).predict_one(ITEM)

    assert (answer.features, answer.label, answer.confidence) == ((), "no", 0.375)


@pytest.mark.parametrize(
    ("score", "label", "reason"), [(0.5, None, "unsure"), (0.74, None, "unsure"), (0.75, "yes", "planned")]
)
def test_an_unsure_answer_is_withheld(
    score: float, label: str | None, reason: str, make: Callable[..., Predictor]
) -> None:
    answer = make(sure(), score, abstain_below=0.625).predict_one(ITEM)

    assert (answer.label, answer.reason) == (label, reason)
    assert (answer.features, answer.accuracy, answer.deadline_met) == (("mean", "spread", "ends"), 0.9, True)
    assert json.loads(json.dumps(answer._asdict()))["label"] == label


def test_a_failure_is_told_of_an_answer_that_is_withheld(world: World, make: Callable[..., Predictor]) -> None:
    world.results = {"mean": ValueError("no sound")}
    answer = make(sure(), 0.5, abstain_below=0.625).predict_one(ITEM)

    assert (answer.label, answer.reason, answer.error) == (None, "mean failed", "mean: ValueError: no sound")


@pytest.mark.parametrize(
    ("score", "least", "features"),
    [(0.9, None, ("mean",)), (0.7, None, ("mean", "spread", "ends")), (0.9, 0.75, ("mean", "spread", "ends"))],
)
def test_early_stops_go_by_calibrated_confidence(
    score: float, least: float | None, features: tuple[str, ...], make: Callable[..., Predictor]
) -> None:
    """Scores of 0.9 and 0.7 mean 0.7 and 0.6; an answer that would be withheld does not stop early."""
    answer = make(sure(stop=0.65), score, early_stop=True, abstain_below=least).predict_one(ITEM)

    assert features == answer.features


HOT = Risk("hot", 120 * US, 0.0, POINTS), Risk("hot", 190 * US, 0.0, (RiskPoint(0.0, 1.0, 0.1),))
COLD = (Risk("cold", 120 * US, 0.0, (RiskPoint(0.625, 1.0, 0.1),)),)


@pytest.mark.parametrize(
    ("risks", "wanted", "deadline", "threshold"),
    [
        (HOT, 0.75, 150, 0.0),
        (HOT, 0.8, 150, 0.5),
        (HOT, 0.9, 150, 0.625),
        (HOT, 0.8, 110, 0.5),
        (HOT[::-1], 0.8, 189, 0.5),
        (HOT, 0.8, 190, 0.0),
        (HOT + COLD, 0.8, 150, 0.625),
    ],
)
def test_a_wanted_accuracy_has_the_threshold_of_the_deadline(
    risks: tuple[Risk, ...], wanted: float, deadline: int, threshold: float, make: Callable[..., Predictor]
) -> None:
    """That of the next shorter deadline of the bundle, or else of the first; the highest one of all regimes."""
    predictor = make(sure(risks), deadline=deadline * US, accuracy_wanted=wanted)

    assert predictor.abstain_below == threshold


@pytest.mark.parametrize("name", ["abstain_below", "accuracy_wanted"])
@pytest.mark.parametrize("value", [0.0, -0.5, 1.5, float("nan"), float("inf"), True, "0.9"], ids=str)
def test_an_impossible_threshold_is_refused(name: str, value: object, make: Callable[..., Predictor]) -> None:
    with pytest.raises(ConfidenceError, match=f"{name} must be a number above 0, at most 1, such as 0.9. Got "):
        make(sure(), **{name: value})


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"abstain_below": 0.5, "accuracy_wanted": 0.5}, ConfidenceError, "Got both. Leave one out"),
        ({"accuracy_wanted": 0.95}, ConfidenceError, r"at most 0\.938, on held-out items .* Got 0\.95"),
    ],
    ids=["both", "too much"],
)
def test_what_cannot_be_is_said_when_the_predictor_is_made(
    options: dict[str, float], error: type[Exception], said: str, make: Callable[..., Predictor]
) -> None:
    with pytest.raises(error, match=said):
        make(sure((Risk("hot", 120 * US, 0.0, POINTS),)), **options)


@pytest.mark.parametrize("name", ["abstain_below", "accuracy_wanted"])
def test_a_bundle_without_confidences_cannot_abstain(name: str, make: Callable[..., Predictor]) -> None:
    with pytest.raises(BundleMismatchError, match="must be built with confidence"):
        make(make_bundle()[0], **{name: 0.5})


def test_a_bundle_without_risks_has_no_threshold_for_an_accuracy(make: Callable[..., Predictor]) -> None:
    with pytest.raises(BundleMismatchError, match="Give abstain_below instead"):
        make(sure(), accuracy_wanted=0.5)
