"""Learning at leave: what a machine whose times are known is found to take."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace, Predictor, Seams, Step
from polydom_runtime.bundles.bundle import Bundle, StoredIndex
from polydom_runtime.bundles.engines import ENGINES, InputRow
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import BundleMismatchError, ItemError, MeasurementError
from polydom_runtime.learning.learned_file import Learned
from polydom_runtime.learning.learned_times import WAKING, LearnedRow
from polydom_runtime.measuring import tuning
from polydom_runtime.measuring.stopwatch import Switches, Timers
from polydom_runtime.policy.loaded_models import Run
from polydom_runtime.testing import ManualClock
from tests.runtime import node_space

US = 1e-6
ITEMS = [np.arange(n, dtype=np.float64) for n in (3, 10, 40)]
SHIPPED: dict[str, Callable[[int], float]] = {
    "mean": lambda n: 10 * US,
    "spread": lambda n: (20 + 0.1 * n) * US,
    "ends": lambda n: (50 + n) * US,
}
"""Seconds of the features of the small bundle for an item of size n."""


class Machine:
    """Runs the small bundle; each feature takes its factor times what was shipped, after a sleep the first one more."""

    def __init__(self) -> None:
        self.clock, self.asleep = ManualClock(), False
        self.factors = dict.fromkeys(SHIPPED, 1.0)
        self.sleeps = 0
        self.model_seconds, self.numpy_seconds = (5 * US, 10 * US, 15 * US), 0.0
        half = Step("half", self.timed(lambda x: 2 * US, node_space.half.compute))
        features = [
            Feature(f.name, self.of(f.name, f.extract), f.width, None if f.step is None else half)
            for f in node_space.space.features
        ]
        self.space = FeatureSpace(features, size=len)
        self.timers = Timers(self.clock, self.clock, lambda: Switches(0, 0), self.sleep)

    def of(self, name: str, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self.timed(lambda x: self.factors[name] * SHIPPED[name](len(x)), compute)

    def timed(self, seconds: Callable[[Any], float], compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            self.clock.advance(seconds=seconds(x) + 30 * US * self.asleep)
            self.asleep = False
            return compute(x)

        return run

    def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)
        self.sleeps += 1
        self.asleep = True

    def run_exported(
        self, models: list[bytes], n_classes: int, engines: list[str], sure: bool
    ) -> Callable[[int, InputRow, int], Run]:
        return lambda number, row, width: self.run_of(number, engines[number])

    def run_of(self, number: int, engine: str = "onnxruntime") -> Run:
        def run() -> int:
            self.clock.advance(seconds=self.model_seconds[number] if engine == "onnxruntime" else self.numpy_seconds)
            return 0

        return run


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(tuning, "run_exported", made.run_exported)
    monkeypatch.setattr(tuning, "agreeing_engines", lambda *model: ("onnxruntime",))
    monkeypatch.setattr(tuning, "Seams", lambda clock: Seams(clock=clock, run_of=made.run_of))
    monkeypatch.setattr(tuning, "LEARNED_ANSWERS", 60)
    monkeypatch.setattr(tuning, "ENGINE_ROUNDS", 25)
    return made


@pytest.fixture
def bundle(bundle_folder: Path) -> Bundle:
    return load_bundle(bundle_folder)


def tune(bundle: Bundle, machine: Machine, **options: Any) -> Learned:
    return tuning.tune_bundle(bundle, machine.space, ITEMS, timers=machine.timers, **options)


def by_unit(learned: Learned, regime: str) -> dict[str | int, LearnedRow]:
    return {row.unit: row for row in learned.rows if row.regime == regime}


def test_each_feature_is_found_as_it_is_hot_also_one_that_no_plan_uses(bundle: Bundle, machine: Machine) -> None:
    """With four times its time, ``ends`` exceeds the deadline of 200 µs."""
    machine.factors["ends"], machine.factors["spread"] = 4.0, 0.5
    hot = by_unit(tune(bundle, machine), "hot")

    assert hot["ends"].factor == pytest.approx(4.0, rel=0.05)
    assert hot["spread"].factor == pytest.approx(0.5, rel=0.1)
    assert hot["mean"].factor == pytest.approx(1.0, rel=0.05)


def test_every_model_is_found_as_it_is(bundle: Bundle, machine: Machine) -> None:
    """Models of 5, 10 and 15 µs, of which the bundle states 5 each."""
    hot = by_unit(tune(bundle, machine), "hot")

    seconds = np.array([hot[number].seconds for number in range(3)]) / US
    assert seconds - seconds[0] == pytest.approx([0, 5, 10], abs=0.5)


def test_waking_is_found_after_sleeps_and_not_after_rehearsals(bundle: Bundle, machine: Machine) -> None:
    machine.model_seconds = (5 * US,) * 3  # as shipped
    learned = tune(bundle, machine, period=0.05)

    assert by_unit(learned, "cold")[WAKING].offset == pytest.approx(30 * US, abs=US)
    assert by_unit(learned, "rehearsed")[WAKING].offset == pytest.approx(0.0, abs=US)
    assert machine.sleeps == 120


def test_predictor_begins_with_what_was_found(bundle: Bundle, machine: Machine) -> None:
    machine.factors["ends"] = 4.0
    learned = tune(bundle, machine)

    def features(learned: Learned | None) -> tuple[str, ...]:
        seams = Seams(clock=machine.clock, run_of=machine.run_of)
        predictor = Predictor(bundle, machine.space, deadline=200 * US, policy="strict", learned=learned, seams=seams)
        return predictor.predict_one(ITEMS[0]).features

    assert features(None) == ("mean", "spread", "ends")
    assert features(learned) == ("mean", "spread")


def test_quicker_engine_that_agrees_is_taken(bundle: Bundle, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of 5, 10 and 15 µs, and each also with numpy: 7 µs."""
    monkeypatch.setattr(tuning, "agreeing_engines", lambda *model: ENGINES)
    machine.numpy_seconds = 7 * US

    assert tune(bundle, machine).engines == ("onnxruntime", "numpy", "numpy")


def test_engines_are_compared_on_the_inputs_of_each_model(
    bundle: Bundle, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def asked_for(data: bytes, rows: Any, n_classes: int) -> tuple[str, ...]:
        asked.append(rows)
        return ("numpy",)

    monkeypatch.setattr(tuning, "agreeing_engines", asked_for)
    learned = tune(bundle, machine)

    assert learned.engines == ("numpy",) * 3
    whole, slices = np.array([node_space.space.extract_all(x) for x in ITEMS]), node_space.space.column_slices()
    for rows, entry in zip(asked, bundle.models, strict=True):
        assert sorted(rows.tolist()) == sorted(np.hstack([whole[:, slices[f]] for f in entry.order]).tolist())


@pytest.mark.parametrize("options", [{"period": 0.0}, {"period": 61.0}, {"period": 20.0}, {"seconds": 0.1}])
def test_time_must_be_enough_for_some_sleeps(bundle: Bundle, machine: Machine, options: dict[str, float]) -> None:
    with pytest.raises(MeasurementError, match="enough for 10 sleeps"):
        tune(bundle, machine, **options)


def test_bundle_without_models_items_that_are_missing_or_another_space_are_refused(
    bundle: Bundle, machine: Machine
) -> None:
    with pytest.raises(MeasurementError, match="must have models"):
        tune(replace(bundle, models=(), stored=StoredIndex()), machine)
    with pytest.raises(ItemError, match="at least one item"):
        tuning.tune_bundle(bundle, machine.space, [], timers=machine.timers)
    with pytest.raises(BundleMismatchError):
        tuning.tune_bundle(bundle, node_space.other, ITEMS, timers=machine.timers)
