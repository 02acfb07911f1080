"""Models that hang or crash: in a worker they cost only themselves, and no other process ever runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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
