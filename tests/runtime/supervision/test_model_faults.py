"""Models that hang or crash: in a worker they cost only themselves, and no other process ever runs them."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from polydom_runtime.device.tiny_models import constant_classifier
from polydom_runtime.exceptions import BundleFormatError, WorkerError
from polydom_runtime.policy.failures import FIRST_PAUSE
from polydom_runtime.supervision import keeper
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.bundle_parts import changed
from tests.draws import draws
from tests.runtime import supervised_space as faults
from tests.runtime.conftest import make_bundle, write
from tests.runtime.model_faults import of_model, switch

from .test_supervisor import ALL, DEADLINE_S, EVER_S, answer_by_worker, is_alive, item, supervised, wait_until
from .test_supervisor import SPACE as SOUND_SPACE

SPACE = "tests.runtime.model_faults:space"
HANGS = [faults.STEPS_ASIDE, faults.HOLDS_THE_LOCK, faults.STOPS]
MODEL = "the model 0002.onnx"


def own_children() -> list[int]:
    """Return the processes that any thread of this one has started."""
    return [int(pid) for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    """One for all tests that leave nothing behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*switch())
        with supervised(tmp_path_factory.mktemp("shared") / "b", space=SPACE) as shared:
            yield shared


@pytest.fixture
def own_predictor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SupervisedPredictor]:
    monkeypatch.setenv(*switch())
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
    answer_by_worker(predictor)
    told = predictor.causes.counts.get(MODEL, 0)

    for _ in range(3):
        predictor.predict_one(item(of_model(fault)))
    answer = predictor.predict_one(item(of_model(fault)))

    assert (answer.features, answer.reason) == (("mean", "spread"), "planned")
    assert answer.label == "no"
    assert predictor.trace.features == [0, 1]
    assert predictor.out == {MODEL}
    assert predictor.failures == {MODEL: 3}
    assert predictor.causes.counts[MODEL] == told + 3


def test_model_that_is_out_is_tried_again_and_comes_back(own_predictor: SupervisedPredictor) -> None:
    for _ in range(3):
        own_predictor.predict_one(item(of_model(faults.CRASHES)))
    without = [own_predictor.predict_one(item()).features for _ in range(FIRST_PAUSE - 1)]
    tried = own_predictor.predict_one(item())

    assert without == [("mean", "spread")] * (FIRST_PAUSE - 1)
    assert tried.features == ALL
    assert (own_predictor.out, own_predictor.failures) == (frozenset(), {})


def test_models_are_tried_on_extreme_rows_before_any_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*switch(at_extremes=faults.CRASHES))

    with pytest.raises(WorkerError, match=r"The model 0002.onnx must be loaded and run .* Its process crashed\."):
        supervised(tmp_path / "b", space=SPACE)


def test_model_that_crashes_when_it_is_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*switch(at_load=faults.CRASHES))

    with pytest.raises(WorkerError, match=r"The model 0002.onnx must be loaded and run .* Its process crashed\."):
        supervised(tmp_path / "b", space=SPACE)


@pytest.mark.parametrize("fault", draws([faults.HOLDS_THE_LOCK], HANGS))
def test_model_that_hangs_when_it_is_loaded_is_named(
    fault: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit, which no machine is too busy for, ends once the nursery hangs."""
    monkeypatch.setenv(*switch(at_load=fault))
    monkeypatch.setattr(keeper, "MODEL_S", EVER_S)
    before, seen = set(own_children()), list[int]()

    def hung() -> list[int]:
        seen[:] = [pid for pid in own_children() if pid not in before and faults.is_hung(pid)]
        return seen

    def end() -> None:
        wait_until(hung)
        monkeypatch.setattr(keeper, "MODEL_S", 0.0)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(end)
        with pytest.raises(WorkerError, match=r"The model 0002.onnx must be loaded and run within .* It took longer\."):
            supervised(tmp_path / "b", space=SPACE)

    assert len(seen) == 1
    wait_until(lambda: not any(map(is_alive, seen)))


def test_model_that_cannot_be_run_is_an_unsound_bundle(tmp_path: Path) -> None:
    bundle, models = make_bundle()
    models[2] = constant_classifier(5, 1)  # of six columns
    entry = bundle.models[2]._replace(size_bytes=len(models[2]), sha256=hashlib.sha256(models[2]).digest())
    unsound = changed(bundle, models=(*bundle.models[:2], entry), budgets=(1e-3, DEADLINE_S), steps=())

    with pytest.raises(BundleFormatError, match=r"float32 \(1, 6\)"):
        SupervisedPredictor(write(tmp_path / "b", unsound, models), SOUND_SPACE, deadline=DEADLINE_S)
