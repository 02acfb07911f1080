"""Models that hang or crash: in a worker they cost only themselves, and no other process ever runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from polydom_runtime.policy.failures import FIRST_PAUSE
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.runtime import supervised_space as faults
from tests.runtime.model_faults import SWITCH, of_model

from .test_supervisor import ALL, answer_by_worker, item, supervised

SPACE = "tests.runtime.model_faults:space"
HANGS = [faults.STEPS_ASIDE, faults.HOLDS_THE_LOCK, faults.STOPS]
MODEL = "the model 0002.onnx"


@pytest.fixture
def predictor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SupervisedPredictor]:
    monkeypatch.setenv(SWITCH, "0")
    with supervised(tmp_path / "b", space=SPACE) as own:
        yield own


@pytest.mark.parametrize("fault", HANGS)
def test_model_that_hangs_is_not_run_by_the_supervisor(predictor: SupervisedPredictor, fault: int) -> None:
    answer_by_worker(predictor)

    answer = predictor.predict_one(item(of_model(fault)))

    assert (answer.label, answer.features, answer.accuracy) == ("no", ("mean", "spread"), 0.8)
    assert answer.reason == f"supervised: {MODEL} was not done in time"
    assert predictor.predict_one(item()).features == ALL


@pytest.mark.parametrize("fault", [faults.CRASHES, faults.EXITS])
def test_model_that_ends_its_process_is_not_run_by_the_supervisor(predictor: SupervisedPredictor, fault: int) -> None:
    answer_by_worker(predictor)

    answer = predictor.predict_one(item(of_model(fault)))

    assert (answer.label, answer.features, answer.accuracy) == ("no", ("mean", "spread"), 0.8)
    assert answer.reason == f"supervised: the worker died in {MODEL}"
    assert predictor.predict_one(item()).features == ALL


@pytest.mark.parametrize("fault", [faults.HOLDS_THE_LOCK, faults.CRASHES])
def test_model_that_keeps_ending_workers_is_left_out(predictor: SupervisedPredictor, fault: int) -> None:
    """The worker that hangs is lost when the next item comes, so the third failure is known at the fourth item."""
    for _ in range(3):
        predictor.predict_one(item(of_model(fault)))
    answer = predictor.predict_one(item(of_model(fault)))

    assert (answer.features, answer.reason) == (("mean", "spread"), "planned")
    assert answer.label == "no"
    assert predictor.trace.features == [0, 1]
    assert predictor.out == {MODEL}
    assert predictor.failures == {MODEL: 3}
    assert predictor.causes.counts == {MODEL: 3}


def test_model_that_is_out_is_tried_again_and_comes_back(predictor: SupervisedPredictor) -> None:
    for _ in range(3):
        predictor.predict_one(item(of_model(faults.CRASHES)))
    without = [predictor.predict_one(item()).features for _ in range(FIRST_PAUSE - 1)]
    tried = predictor.predict_one(item())

    assert without == [("mean", "spread")] * (FIRST_PAUSE - 1)
    assert tried.features == ALL
    assert (predictor.out, predictor.failures) == (frozenset(), {})
