"""The stated times of models: as given, timed here in real answers, or carried over."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polydom_builder.costs import model_timers
from polydom_builder.costs.model_placing import MARGIN
from polydom_builder.costs.model_timers import GivenTimer, InPlaceTimer, ModelTime, PlacedTimer, model_timer
from polydom_builder.costs.target import Target, is_here
from polydom_builder.exceptions import ExportError, FitError
from polydom_builder.training.cache import Cache
from polydom_builder.training.folds import make_splits
from polydom_builder.training.labels import targets_of
from polydom_builder.training.onnx import to_onnx
from polydom_builder.training.table import extract_table
from polydom_builder.training.trainer import Trainer
from polydom_runtime.bundles.engines import ENGINES, NO_VERSION
from polydom_runtime.device.calibration import NUMPY_REFERENCES
from polydom_runtime.measuring.answer_bench import ModelBench, ModelTimes
from polydom_runtime.measuring.conditions import identity
from tests.builder import task
from tests.builder.board import drawn, samples
from tests.builder.searches import search

US = 1e-6
ITEMS, LABELS = task.items(60)
MEMORY = Cache()
ORDERS = [(0,), (0, 2)]


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    targets = targets_of(LABELS, len(ITEMS))
    table = extract_table(task.space, ITEMS, targets, n_jobs=1, memory=MEMORY, progress=lambda count: None)
    return Trainer(LogisticRegression(), table, make_splits(3, targets, None, 0), "accuracy", 1, MEMORY)


@pytest.fixture(scope="module")
def models(trainer: Trainer) -> list[tuple[tuple[int, ...], bytes]]:
    return [
        (order, to_onnx(trainer.fit(order), trainer.table.rows_of(order).shape[1], classes=trainer.seen_classes))
        for order in ORDERS
    ]


def measured_here(**changes: Any) -> Target:
    return Target.measured(task.space, samples(machine={**samples().machine, **identity()}, **changes), 0.99)


def test_way_to_time_models_follows_from_the_device(trainer: Trainer) -> None:
    def chosen(target: Target) -> object:
        return model_timer(target, task.space, ITEMS, trainer, 0, 200.0)

    assert chosen(Target.given(task.space, task.costs)) == GivenTimer(20 * US)
    assert isinstance(chosen(Target.measured(task.space, samples(), 0.99)), PlacedTimer)
    assert isinstance(chosen(measured_here()), InPlaceTimer)


def test_machine_is_this_one_only_if_all_that_times_depend_on_is_equal() -> None:
    assert is_here(identity())
    assert not is_here({})
    for name in identity():
        assert not is_here({**identity(), name: "another"})


def test_stated_time_is_the_measured_one(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models of 10 and 20 µs hot, cold 35 µs longer, that only one engine can run."""
    n_units = len(samples().units)

    def answers(longer: float) -> ModelTimes:
        numbers = np.tile([0, 1], 30)
        seconds = np.full((60, n_units + 1), 1e-5)
        seconds[:, -1] = np.array([10, 20])[numbers] * US + longer
        return ModelTimes(numbers, seconds)

    monkeypatch.setattr(model_timers, "agreeing_engines", lambda data, rows, count: ("onnxruntime",))
    monkeypatch.setattr(ModelBench, "hot", lambda self, seconds, most: answers(0.0))
    monkeypatch.setattr(ModelBench, "after_sleep", lambda self, regime, *others: answers(35 * US))
    timer = InPlaceTimer(task.space, ITEMS[:10], len(trainer.table.classes), trainer.table.rows_of, MEMORY)

    assert [time.seconds for time in timer(models)] == pytest.approx([10 * US, 20 * US])
    # Of a single model both kinds of answers are taken, so its 0.9 quantile is 20 µs.
    monkeypatch.setattr(model_timers, "model_quantiles", lambda hot, count: np.array([10 * US, 20 * US]))
    choice = *models[0], ENGINES[0]
    assert timer.after_sleep(choice, {"cold": 0.02}) == {"cold": pytest.approx(35 * US)}
    assert timer([]) == []
    assert timer.after_sleep(choice, {}) == {}


def test_quicker_engine_after_the_features_is_chosen(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two models, onnxruntime takes 30 and 10 µs, and numpy 20 µs for both."""
    n_units = len(samples().units)

    def answers(self: ModelBench, seconds: float, most: int) -> ModelTimes:
        numbers = np.tile([0, 1, 2, 3], 30)
        times = np.full((120, n_units + 1), 1e-5)
        times[:, -1] = np.array([30, 20, 10, 20])[numbers] * US
        return ModelTimes(numbers, times)

    monkeypatch.setattr(ModelBench, "hot", answers)
    timer = InPlaceTimer(task.space, ITEMS[:10], len(trainer.table.classes), trainer.table.rows_of, MEMORY)

    assert timer(models) == [ModelTime(20 * US, "numpy"), ModelTime(10 * US, "onnxruntime")]


def test_real_models_are_timed_in_real_answers(trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]]) -> None:
    timer = InPlaceTimer(task.space, ITEMS[:10], len(trainer.table.classes), trainer.table.rows_of, MEMORY)

    assert all(time.seconds > 0.0 for time in timer(models))
    for engine in ENGINES:
        added = timer.after_sleep((*models[1], engine), {"cold": 1e-4, "rehearsed": 1e-4})
        assert added.keys() == {"cold", "rehearsed"}


NUMPY_THERE = {name: np.full(100, 7 * US) for name in NUMPY_REFERENCES}


def placed_times(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]], numpy_times: dict[str, Any], **machine: str
) -> list[ModelTime]:
    there = samples(kernels={**samples().kernels, **numpy_times}, machine={**samples().machine, **machine})
    target = Target.measured(task.space, there, 0.99)
    return model_timer(target, task.space, ITEMS, trainer, 0, 200.0)(models)


def test_quicker_engine_of_another_device_is_chosen(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]]
) -> None:
    """Linear models take 50 µs there with onnxruntime; those of numpy 7 or 200 µs, whatever their size."""
    quick = placed_times(trainer, models, NUMPY_THERE)
    slow = placed_times(trainer, models, {name: np.full(100, 200 * US) for name in NUMPY_REFERENCES})

    assert [time.engine for time in quick] == ["numpy"] * 2
    assert [time.seconds for time in quick] == pytest.approx([MARGIN * 7 * US] * 2)
    assert [time.engine for time in slow] == ["onnxruntime"] * 2


def test_engine_whose_times_are_not_known_is_not_chosen(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]]
) -> None:
    assert [time.engine for time in placed_times(trainer, models, {})] == ["onnxruntime"] * 2
    times = placed_times(trainer, models, NUMPY_THERE, onnxruntime=NO_VERSION)
    assert [time.engine for time in times] == ["numpy"] * 2
    with pytest.raises(FitError, match="numpy dense"):
        placed_times(trainer, models, {}, onnxruntime=NO_VERSION)


def test_device_without_onnxruntime_needs_kernels_that_agree(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_timers, "agreeing_engines", lambda *model: ("onnxruntime",))
    assert [time.engine for time in placed_times(trainer, models, NUMPY_THERE)] == ["onnxruntime"] * 2
    with pytest.raises(ExportError, match="must have onnxruntime, or the estimator a kernel"):
        placed_times(trainer, models, NUMPY_THERE, onnxruntime=NO_VERSION)


def test_model_after_few_features_pays_less_for_coming_first(
    trainer: Trainer, models: list[tuple[tuple[int, ...], bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At size 200 level takes 12 µs with dispatch, roughness and its step 37 µs more, and all features 111 µs."""
    monkeypatch.setattr(model_timers, "placed_seconds", lambda *arguments: arguments[-2])
    monkeypatch.setattr(model_timers, "agreeing_engines", lambda *model: ENGINES)
    target = Target.measured(task.space, samples(), 0.99)
    assert target.engines == ("onnxruntime",)
    everything = (tuple(range(5)), models[0][1])
    times = model_timer(target, task.space, ITEMS, trainer, 0, 200.0)([*models, everything])

    assert [time.seconds for time in times] == pytest.approx([12 / 111, 49 / 111, 1.0], rel=0.05)


def test_build_on_the_device_itself_times_exported_models_in_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Times in place replace those of reference models, hot and after a sleep."""
    monkeypatch.setattr(InPlaceTimer, "__call__", lambda self, models: [ModelTime(123 * US, "numpy")] * len(models))
    monkeypatch.setattr(InPlaceTimer, "after_sleep", lambda self, choice, regimes: dict.fromkeys(regimes, 77 * US))
    sizes = np.random.default_rng(0).uniform(8, 2000, 80)
    items = {"hot": drawn(sizes), "cold": drawn(sizes, added=40 * US)}
    here = samples(machine={**samples().machine, **identity()}, items=items)
    found = search(deadline=0.002, alpha=2.0).fit(*task.items(90), costs=here)
    bundle = found.export(tmp_path / "b")

    assert {(model.seconds, model.engine) for model in bundle.models} == {(123 * US, "numpy")}
    assert found.target_.regimes["cold"].model_added == 77 * US


def test_times_after_a_sleep_stay_those_of_the_references_on_another_device() -> None:
    sizes = np.random.default_rng(0).uniform(8, 2000, 80)
    there = samples(items={"hot": drawn(sizes), "cold": drawn(sizes, added=40 * US)})
    found = search(deadline=0.002, alpha=2.0).fit(*task.items(90), costs=there)

    assert found.target_.regimes["cold"].model_added == pytest.approx(40 * US, rel=0.3)
