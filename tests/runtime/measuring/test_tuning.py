"""Tuning: what a machine whose times are known is found to take."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.bundles.bundle import Bundle, StoredIndex
from polydom_runtime.bundles.engines import ENGINES, InputRow
from polydom_runtime.bundles.index_file import index_sha256, load_bundle
from polydom_runtime.device.tune_file import load_tune, this_machine, write_tune
from polydom_runtime.exceptions import BundleMismatchError, ItemError, MeasurementError
from polydom_runtime.measuring import tuning
from polydom_runtime.measuring.stopwatch import Switches, Timers
from polydom_runtime.policy.loaded_models import Run
from polydom_runtime.testing import ManualClock
from tests.runtime import node_space

US = 1e-6
ITEMS = [np.arange(n, dtype=np.float64) for n in (3, 40, 900)]


class Machine:
    """Runs the small bundle; after a sleep, features and models take 30 µs longer until they have run."""

    def __init__(self) -> None:
        self.clock, self.warm = ManualClock(), set[str]()
        self.pause_ns = self.paused_ns = self.sleeps = 0
        self.numpy_seconds = 0.0
        half = Step("half", self.timed(2 * US, node_space.half.compute))
        extractors = {f.name: self.timed(10 * US, f.extract) for f in node_space.space.features}
        features = [
            Feature(f.name, extractors[f.name], f.width, None if f.step is None else half)
            for f in node_space.space.features
        ]
        self.space = FeatureSpace(features, size=len)
        self.timers = Timers(self.clock, self.processor, lambda: Switches(0, 0), self.sleep)

    def timed(self, seconds: float, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            self.spend(str(compute), seconds)
            return compute(x)

        return run

    def spend(self, name: str, seconds: float) -> None:
        self.clock.advance(seconds=seconds + (0.0 if name in self.warm else 30 * US))
        self.clock.now_ns += self.pause_ns
        self.paused_ns += self.pause_ns
        self.warm.add(name)

    def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)
        self.sleeps += 1
        self.warm.clear()

    def processor(self) -> int:
        return self.clock() - self.paused_ns

    def run_exported(
        self, models: list[bytes], n_classes: int, engines: list[str], sure: bool
    ) -> Callable[[int, InputRow, int], Run]:
        def run_of(number: int, row: InputRow, width: int) -> Run:
            seconds = (10 + 5 * number) * US if engines[number] == "onnxruntime" else self.numpy_seconds

            def run() -> int:
                self.spend("model", seconds)
                return 0

            return run

        return run_of


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(tuning, "run_exported", made.run_exported)
    monkeypatch.setattr(tuning, "agreeing_engines", lambda *model: ("onnxruntime",))
    monkeypatch.setattr(tuning, "TUNED_ROUNDS", 25)
    monkeypatch.setattr(tuning, "TUNED_SLEEPS", 30)
    return made


@pytest.fixture
def bundle(bundle_folder: Path) -> Bundle:
    return load_bundle(bundle_folder)


def tune(bundle: Bundle, machine: Machine, **options: Any) -> Any:
    return tuning.tune_bundle(bundle, machine.space, ITEMS, timers=machine.timers, **options)


def test_tune_finds_what_the_machine_takes_hot_and_after_sleeps(bundle: Bundle, machine: Machine) -> None:
    found = tune(bundle, machine, period=0.05)
    hot, cold, rehearsed = (found.regimes[name] for name in ("hot", "cold", "rehearsed"))

    assert np.array(hot.models) / US == pytest.approx([10, 15, 20])
    assert np.array(cold.models) / US == pytest.approx([40, 45, 50])
    assert rehearsed.models == pytest.approx(hot.models)
    assert np.array(cold.added) / US == pytest.approx([30, 30, 30, 30])
    assert rehearsed.added == pytest.approx((0.0,) * 4)
    assert (hot.asleep, cold.asleep, rehearsed.asleep) == (0.0, 0.05, 0.05)
    assert hot.dispatch == (1e-9, 1e-9)  # it takes no time of this clock
    assert machine.sleeps == 60


def test_tune_can_be_written_and_used(bundle: Bundle, machine: Machine, tmp_path: Path) -> None:
    found = tune(bundle, machine)
    write_tune(tmp_path / "pi.tune", found)

    assert (found.bundle_sha256, found.machine) == (index_sha256(bundle), this_machine())
    assert load_tune(tmp_path / "pi.tune", bundle) == found


def test_quicker_engine_that_agrees_is_taken(bundle: Bundle, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of 10, 20 and 30 µs, and each also with numpy: 17 µs."""
    monkeypatch.setattr(tuning, "agreeing_engines", lambda *model: ENGINES)
    machine.numpy_seconds = 17 * US
    found = tune(bundle, machine)

    assert found.engines == ("onnxruntime", "numpy", "numpy")
    assert np.array(found.regimes["hot"].models) / US == pytest.approx([10, 17, 17])
    assert np.array(found.regimes["cold"].models) / US == pytest.approx([40, 47, 47])


def test_engines_are_compared_on_the_inputs_of_each_model(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def asked_for(data: bytes, rows: Any, n_classes: int) -> tuple[str, ...]:
        asked.append(rows)
        return ("numpy",)

    monkeypatch.setattr(tuning, "agreeing_engines", asked_for)
    choices = tuning._choices(bundle, node_space.space, ITEMS)

    assert choices == [(0, "numpy"), (1, "numpy"), (2, "numpy")]
    whole, slices = np.array([node_space.space.extract_all(x) for x in ITEMS]), node_space.space.column_slices()
    for rows, entry in zip(asked, bundle.models, strict=True):
        assert rows.tolist() == np.hstack([whole[:, slices[f]] for f in entry.order]).tolist()


def test_busy_machine_is_told_but_its_pauses_are_not_in_the_times(bundle: Bundle, machine: Machine) -> None:
    machine.pause_ns = 1_000_000
    found = tune(bundle, machine)

    assert any(warning.startswith("the machine was busy") for warning in found.warnings)
    assert np.array(found.regimes["hot"].models) / US == pytest.approx([10, 15, 20])


def test_idle_machine_is_not_told_to_be_busy(bundle: Bundle, machine: Machine) -> None:
    assert not any(warning.startswith("the machine was busy") for warning in tune(bundle, machine).warnings)


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
