"""Answers to many items: hot, cold and rehearsed, on a clock that only features and sleeps move."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace
from polydom_runtime.exceptions import FeatureError, MeasurementError
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, WAKING, CostSamples, ItemSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.item_sizes import drawn_items
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure
from polydom_runtime.measuring.session import (
    ASLEEP_ANSWERS,
    MAX_HOT_ROUNDS,
    MAX_ITEMS,
    MIN_ANSWERS,
)
from polydom_runtime.measuring.stopwatch import Timers
from polydom_runtime.testing import ManualClock
from tests.runtime.conftest import World
from tests.runtime.measuring.fragile_journal import FragileJournal, Killed

ITEMS = [np.ones(n) for n in (100, 1, 10, 50, 1000, 2, 5, 20, 200, 500, 30, 40)]
COLD, FIRST = 7e-6, 9e-6
WHOLE_ASLEEP = ASLEEP_ANSWERS // len(ITEMS) * len(ITEMS)  # only whole rounds of the items are kept


class SleepyWorld(World):
    """A world in which the first call of each unit after a sleep takes 7 µs longer, and the first of all 9 µs more."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock(step_ns=1)
        self.cold: set[str] = set()
        self.slept: list[float] = []
        self.failing_size = 0
        self.is_asleep = False

    def _timed(self, name: str, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        run = super()._timed(name, compute)

        def colder(x: Any) -> Any:
            if len(x) == self.failing_size:
                raise RuntimeError("sensor gone")
            if self.is_asleep:
                self.is_asleep = False
                self.clock.advance(seconds=FIRST)
            if name in self.cold:
                self.cold.remove(name)
                self.clock.advance(seconds=COLD)
            return run(x)

        return colder

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds=seconds)
        self.cold = {*self.seconds, "a model"}
        self.is_asleep = True

    def model(self) -> None:
        self.clock.advance(seconds=2e-6 + (COLD if "a model" in self.cold else 0.0))
        self.cold.discard("a model")

    def measured(self, items: Sequence[Any] = ITEMS, **options: Any) -> CostSamples:
        timers = replace(Timers.of(self.clock), sleep=self.sleep)
        return measure(self.space, items, timers=timers, **{"rounds": 12, "n_sizes": 8, "seconds": 30.0, **options})


@pytest.fixture
def world(bare_machine: None, monkeypatch: pytest.MonkeyPatch) -> SleepyWorld:
    made = SleepyWorld()
    monkeypatch.setattr("polydom_runtime.measuring.unit_bench.reference_models", lambda: {"a model": made.model})
    return made


def test_cold_units_take_longer_and_rehearsed_ones_do_not(world: SleepyWorld) -> None:
    """Of a cold answer, "mean" and its step come first, which are the quickest. What they take longer is waking."""
    samples = world.measured()

    assert set(samples.items) == {"hot", "rehearsed", "cold"}
    for regime, answers in samples.items.items():
        added = COLD if regime == "cold" else 0.0
        for unit, seconds in world.seconds.items():
            expected = seconds if unit in ("half", "mean") else seconds + added
            assert np.allclose(answers.seconds[samples.units.index(unit)], expected, rtol=1e-2)
        assert np.allclose(answers.models["a model"], 2e-6 + added, rtol=1e-2)
        before, waking, after = (answers.seconds[samples.units.index(unit)] for unit in (BEFORE, WAKING, AFTER))
        assert np.allclose(waking, FIRST + 2 * COLD if regime == "cold" else 0.0, atol=1e-7)
        assert (before < 1e-7).all()
        assert (after < 1e-7).all()
    assert (samples.of("mean") < 11e-6).all()


def test_answers_say_how_long_they_slept(world: SleepyWorld) -> None:
    samples = world.measured(period=0.05)

    assert {regime: answers.asleep for regime, answers in samples.items.items()} == {
        "hot": 0.0,
        "rehearsed": 0.05,
        "cold": 0.05,
    }
    assert set(world.slept) == {0.05}
    assert len(world.slept) == 2 * samples.items["cold"].models["a model"].size


def test_items_are_answered_as_they_come(world: SleepyWorld) -> None:
    """All of a few items, each in every round; cold ones begin with the same."""
    samples = world.measured()
    hot, cold = samples.items["hot"], samples.items["cold"]

    assert sorted(hot.sizes) == sorted(len(item) for item in ITEMS)
    assert hot.seconds.shape == (7, len(ITEMS), MAX_HOT_ROUNDS)
    assert cold.sizes.tolist() == hot.sizes.tolist()[: len(cold.sizes)]


def test_a_thousand_items_are_drawn(world: SleepyWorld) -> None:
    items = [np.ones(n) for n in range(1, 3000)]
    hot = world.measured(items, seconds=1e4).items["hot"]

    assert len(set(hot.sizes)) == len(hot.sizes) == MAX_ITEMS
    assert 1300 < np.median(hot.sizes) < 1700
    drawn = drawn_items(world.space, items, 50, seed=3, size_range=(10.0, 200.0))
    assert drawn == drawn_items(world.space, items, 50, seed=3, size_range=(10.0, 200.0))
    assert drawn != sorted(drawn)
    assert all(9 <= i < 200 for i in drawn)


def test_slow_items_are_answered_once_or_twice_in_a_third_of_the_time(world: SleepyWorld) -> None:
    items = [np.ones(n) for n in range(1, 1000)]
    world.seconds = dict.fromkeys(world.seconds, 5e-3)  # an answer takes 20 ms
    samples = world.measured(items, seconds=20.0, rounds=1000)

    spent = sum(answers.seconds.sum() for answers in samples.items.values())
    assert 20 <= len(samples.items["hot"].sizes) < MAX_ITEMS
    assert samples.items["hot"].seconds.shape[2] >= 2
    assert MIN_ANSWERS <= len(samples.items["cold"].sizes) < ASLEEP_ANSWERS
    assert spent + sum(world.slept) < 20.0 / 3 + 1.0


def test_short_measurement_answers_a_few_items_all_the_same(world: SleepyWorld) -> None:
    world.seconds = dict.fromkeys(world.seconds, 5e-3)
    samples = world.measured(seconds=1e-6)

    assert {answers.models["a model"].size for answers in samples.items.values()} == {MIN_ANSWERS}


@pytest.mark.parametrize(("rounds", "hot", "asleep"), [(2, 2, MIN_ANSWERS), (1050, MAX_HOT_ROUNDS, WHOLE_ASLEEP)])
def test_answers_grow_with_the_measurement(world: SleepyWorld, rounds: int, hot: int, asleep: int) -> None:
    samples = world.measured(rounds=rounds, seconds=1e4, precision=0.0)

    assert samples.items["hot"].seconds.shape[2] == hot
    assert samples.items["cold"].models["a model"].size == samples.items["rehearsed"].models["a model"].size == asleep


def test_item_on_which_a_feature_fails_is_left_out_and_told(world: SleepyWorld) -> None:
    items = [np.ones(n) for n in range(1, 60)]
    world.failing_size = 47
    samples = world.measured(items)

    assert 47.0 not in samples.items["hot"].sizes
    assert len(samples.items["hot"].sizes) == len(items) - 1
    assert "1 of 59 items left out, since a feature failed on them" in samples.warnings


def test_feature_that_fails_only_at_times_is_refused(world: SleepyWorld) -> None:
    calls = iter(range(10**6))
    world.results["ends"] = lambda x: [x[0], x[-1], 1 / (next(calls) != 300)]

    with pytest.raises(FeatureError, match="every item that is measured"):
        world.measured()


@pytest.mark.parametrize("chunks", range(9))
def test_killed_answers_go_on(world: SleepyWorld, tmp_path: Path, chunks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polydom_runtime.measuring.session.MAX_HOT_ROUNDS", 5)  # less work than the rounds at the sizes
    world.seconds = dict.fromkeys(world.seconds, 5e-3)
    file = tmp_path / "pi.costs"
    journal = FragileJournal(file, chunks, keeps_rounds=True)
    with pytest.raises(Killed):
        world.measured(journal=journal, n_sizes=12)
    rounds = len(world.calls)
    samples = world.measured(journal=FileJournal(file, resume=True), n_sizes=12)

    again = load_costs(file)
    assert len(world.calls) - rounds < rounds  # the rounds at the sizes were not repeated
    assert samples.n_rounds == 12
    assert samples.items["hot"].sizes.tolist() == world.measured().items["hot"].sizes.tolist()
    for regime, answers in samples.items.items():
        assert answers.models["a model"].size >= MIN_ANSWERS
        assert np.array_equal(again.items[regime].seconds, answers.seconds)
        assert np.array_equal(again.items[regime].sizes, answers.sizes)
        assert np.array_equal(again.items[regime].models["a model"], answers.models["a model"])
        assert again.items[regime].asleep == answers.asleep
    assert samples.items["cold"].seconds.shape == samples.items["rehearsed"].seconds.shape


def test_measurement_with_another_period_is_not_mixed_in(world: SleepyWorld, tmp_path: Path) -> None:
    file = tmp_path / "pi.costs"
    with pytest.raises(Killed):
        world.measured(journal=FragileJournal(file, 0, keeps_rounds=True))

    with pytest.raises(MeasurementError, match="same period"):
        world.measured(period=0.1, journal=FileJournal(file, resume=True))


def test_halves_share_out_the_items() -> None:
    sizes = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    seconds = np.arange(20.0).reshape(2, 5, 2)
    samples = ItemSamples(sizes, seconds, {"a model": np.arange(10.0).reshape(5, 2)}, 0.02)
    first, second = samples.halves()

    assert sorted(first.sizes) == [1.0, 3.0, 5.0]
    assert sorted(second.sizes) == [2.0, 4.0]
    part = samples.part([2, 0])
    assert part.sizes.tolist() == [3.0, 5.0]
    assert np.array_equal(part.seconds, seconds[:, [2, 0]])
    assert np.array_equal(part.models["a model"], [[4.0, 5.0], [0.0, 1.0]])
    assert part.asleep == 0.02


def test_step_is_computed_once_for_an_answer_right_before_its_first_feature(world: SleepyWorld) -> None:
    world.measured()
    answers = world.calls[-4:]

    assert sorted(answers) == ["ends", "half", "mean", "spread"]
    assert answers.index("half") + 1 == min(answers.index("mean"), answers.index("spread"))


@pytest.mark.usefixtures("world")
def test_space_without_steps_is_answered_too() -> None:
    clock = ManualClock(step_ns=10)
    space = FeatureSpace([Feature("mean", lambda x: [x.mean()])], size=len)
    samples = measure(space, ITEMS, rounds=3, clock=clock)

    assert samples.items["hot"].seconds.shape[0] == 4
