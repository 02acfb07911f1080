"""Models are timed where they run: after their features, hot and after a sleep."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.device.tiny_models import constant_classifier
from polydom_runtime.exceptions import FeatureError, MeasurementError
from polydom_runtime.measuring.answer_bench import (
    AnswerBench,
    ModelBench,
    ModelTimes,
    added_after_sleep,
    model_quantiles,
    run_exported,
)
from polydom_runtime.measuring.stopwatch import Stopwatch, Switches, Timers
from polydom_runtime.measuring.unit_bench import EmptyAnswer
from polydom_runtime.testing import ManualClock

US = 1e-6
ORDERS = [(0,), (0, 1), (1, 2)]
FOREVER = math.inf


class Machine:
    """Times that a test knows: after a sleep, the next call of each function takes 30 µs longer."""

    def __init__(self) -> None:
        self.clock, self.sleeps, self.models_run = ManualClock(), list[float](), list[tuple[int, list[float]]]()
        self.cold: set[str] = set()
        self.pause = 0.0
        self.processor_ns = 0

    def spend(self, name: str, seconds: float) -> None:
        took = seconds + (30 * US if name in self.cold else 0.0)
        self.cold.discard(name)
        self.clock.advance(seconds=took + self.pause)
        self.processor_ns += round(took * 1e9)

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.cold = {"step", "a", "b", "c", "model", "before"}

    def timed(self, name: str, seconds: float, result: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            self.spend(name, seconds)
            return result(x)

        return run

    def run_of(self, number: int, row: InputRow, width: int) -> Callable[[], int]:
        def run() -> int:
            self.spend("model", (10 + 5 * number) * US)
            self.models_run.append((number, row.values[:width].tolist()))
            return 0

        return run

    def empty(self) -> EmptyAnswer:
        """Return answers that take 9 µs until the first decision."""
        return EmptyAnswer(FeatureSpace([Feature("a", len)], size=self.timed("before", 9 * US, len)), self.clock)

    def bench(self, **options: Any) -> ModelBench:
        step = Step("step", self.timed("step", 7 * US, lambda x: x))
        space = FeatureSpace(
            [
                Feature("a", self.timed("a", 1 * US, lambda x: [x[0]])),
                Feature("b", self.timed("b", 2 * US, lambda x: [x[0], -x[0]]), width=2, step=step),
                Feature("c", self.timed("c", 4 * US, lambda x: [len(x)]), step=step),
            ],
            size=len,
        )
        items = [np.full(n, n, dtype=float) for n in (5, 1, 3, 7)]
        timers = Timers(self.clock, lambda: self.processor_ns, lambda: Switches(0, 0), self.sleep)
        return ModelBench(space, items, ORDERS, self.run_of, timers=timers, **options)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_each_part_of_an_answer_is_timed_and_the_step_apart_from_its_features(machine: Machine) -> None:
    answers = machine.bench().hot(FOREVER, 4)

    nan, around = math.nan, [math.nan] * 3
    by_model = {0: [nan, 1, nan, nan, *around, 10], 1: [7, 1, 2, nan, *around, 15], 2: [7, nan, 2, 4, *around, 20]}
    for model, row in zip(answers.models.tolist(), answers.seconds, strict=True):
        assert row / US == pytest.approx(by_model[model], nan_ok=True)


def test_models_take_turns_and_read_their_features_of_the_item(machine: Machine) -> None:
    answers = machine.bench().hot(FOREVER, 10)

    assert all(sorted(answers.models[k : k + 3]) == [0, 1, 2] for k in range(0, 30, 3))
    for number, row in machine.models_run:
        n = row[0]
        assert row == [[n], [n, n, -n], [n, -n, n]][number]
    assert {row[0] for _, row in machine.models_run} == {1.0, 3.0, 5.0, 7.0}


def test_cold_answers_come_after_a_sleep_and_take_longer_in_every_part(machine: Machine) -> None:
    bench = machine.bench()
    hot = model_quantiles(bench.hot(FOREVER, 20), 3)
    answers = bench.after_sleep("cold", 0.02, FOREVER, 12)

    assert hot / US == pytest.approx([10, 15, 20])
    assert machine.sleeps == [0.02] * 12
    assert added_after_sleep(answers, hot) == pytest.approx(30 * US)
    assert answers.seconds[answers.models == 1, 0] / US == pytest.approx([37.0] * 4)


def test_rehearsed_answers_come_after_a_small_and_a_larger_item(machine: Machine) -> None:
    bench = machine.bench()
    hot = model_quantiles(bench.hot(FOREVER, 20), 3)
    machine.models_run.clear()
    answers = bench.after_sleep("rehearsed", 0.02, FOREVER, 6)

    assert added_after_sleep(answers, hot) == pytest.approx(0.0, abs=1e-9)
    runs = machine.models_run[3:]  # one round warms up
    assert len(runs) == 18
    for k in range(0, 18, 3):
        assert len({number for number, _ in runs[k : k + 3]}) == 1
        assert [row[0] for _, row in runs[k : k + 2]] == [1.0, 3.0]


def test_pauses_do_not_count(machine: Machine) -> None:
    """In each call, another program has the processor for a millisecond."""
    bench = machine.bench()
    machine.pause = 1e-3
    hot = model_quantiles(bench.hot(FOREVER, 20), 3)

    assert hot / US == pytest.approx([10, 15, 20])
    assert bench.stopwatch.taken().pauses.processor_share < 0.05


def test_after_a_sleep_what_the_first_feature_takes_longer_is_waking(machine: Machine) -> None:
    """The first of all features takes 3 µs longer, also after a rehearsal. The quickest one comes first."""
    is_first = False

    def size(x: Any) -> int:
        nonlocal is_first
        is_first = bool(machine.sleeps)
        return len(x)

    def timed(name: str, seconds: float) -> Feature:
        def run(x: Any) -> list[float]:
            nonlocal is_first
            machine.spend(name, seconds + (3 * US if is_first else 0.0))
            is_first = False
            return [0.0]

        return Feature(name, run)

    space = FeatureSpace([timed("slow", 5 * US), timed("quick", 1 * US), timed("slowest", 9 * US)], size)
    timers = Timers(machine.clock, lambda: machine.processor_ns, lambda: Switches(0, 0), machine.sleeps.append)
    bench = AnswerBench(space, [np.ones(n) for n in (3, 5, 7)], [], Stopwatch(timers), timers, seed=0)

    hot = np.array([bench.answer(k, "hot", 0.0) for k in (0, 1, 2)])
    bench.learn_usual_times(hot)
    asleep = np.array([bench.answer(k, regime, 0.02) for regime in ("cold", "rehearsed") for k in (0, 1, 2)])

    assert hot[:, 2:] / US == pytest.approx(np.tile([5.0, 1.0, 9.0, 1e-3, 1e-6, 1e-3], (3, 1)))
    assert asleep[:, 2:] / US == pytest.approx(np.tile([5.0, 1.0, 9.0, 1e-3, 3.0 + 1e-6, 1e-3], (6, 1)))


@pytest.mark.parametrize("slow_end", [False, True])
def test_pause_is_taken_from_the_longer_part_of_an_empty_answer(machine: Machine, slow_end: bool) -> None:
    """Before the first decision an answer takes 9 µs, and at the end 2; somewhere there is a pause of a millisecond."""
    empty, readings = machine.empty(), 0
    stopwatch = Stopwatch(Timers(lambda: machine.clock(), lambda: machine.processor_ns, lambda: Switches(0, 0)))

    def clock() -> int:
        nonlocal readings
        readings += 1
        if readings == 3:  # the last one of an answer, at its end
            machine.pause = 1e-3 if slow_end else 0.0
            machine.spend("after", 2 * US)
        return machine.clock()

    empty.predictor._clock = clock
    machine.pause = 0.0 if slow_end else 1e-3

    assert np.array(empty.timed(5 * [0], stopwatch)) / US == pytest.approx([9.0, 1e-6, 2.0])
    assert stopwatch.taken().pauses.lengths == pytest.approx([1e-3])


def test_few_rounds_are_judged_by_the_spread_of_all_models_together() -> None:
    """Of one round of forty models, each takes 10 µs; one in five twice as long."""
    times = np.full((40, 1), 10 * US)
    times[::5] *= 2.0
    numbers = np.tile(np.arange(4), 10)
    high = model_quantiles(ModelTimes(numbers, times), 4)

    assert high / US == pytest.approx([20.0] * 4)


def test_model_that_fails_on_an_item_is_timed_on_the_others() -> None:
    times = np.full((80, 1), 10 * US)
    times[::4] = math.nan
    hot = model_quantiles(ModelTimes(np.tile([0, 1], 40), times), 2)

    assert hot / US == pytest.approx([10.0, 10.0])
    with pytest.raises(MeasurementError, match="All failed"):
        model_quantiles(ModelTimes(np.zeros(9, dtype=np.intp), np.full((9, 1), math.nan)), 1)


def test_feature_that_fails_is_named(machine: Machine) -> None:
    def broken(x: Any) -> list[float]:
        raise ValueError(x)

    space = FeatureSpace([Feature("broken", broken)], size=len)
    with pytest.raises(FeatureError, match="broken"):
        ModelBench(space, [np.ones(2)], [(0,)], machine.run_of)


@pytest.mark.parametrize(("sure", "confidence"), [(True, 1.0), (False, 0.0)])
def test_models_are_timed_with_their_scores_only_if_these_will_be_asked_for(sure: bool, confidence: float) -> None:
    run: Any = run_exported([constant_classifier(3, 1)], 2, ["numpy"], sure)(0, InputRow(3), 3)

    assert (run(), run.confidence()) == (1, confidence)
