"""The promise on a node: the margin against hostile times, late answers in a row, and what is said where it fails."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE
from tests.bundle_parts import unit_times
from tests.runtime.lattice_world import NAMES, US, LatticeWorld, lattice_bundle, microseconds, worst_ns
from tests.runtime.learning.test_margin import CONSTANT, most_beyond

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0)))
ACCURACIES = [0.3 + 0.1 * mask.bit_count() for mask in range(16)]
DEADLINE = 90 * US
"""Enough for three of four features by worst cases, and for all by what is planned."""

Slowness = Callable[[int, Predictor, np.random.Generator], float]
"""How much of its worst case a unit takes in an item, by the number of the item."""


def bundle(late: float = 0.05) -> Any:
    """Return a bundle that plans with half of the worst cases and promises a share of late answers."""
    planned = unit_times(NAMES[:4], [cost * 0.5 for cost in COSTS], (), microseconds(1.0), model_ratio=0.5)
    return lattice_bundle(ACCURACIES, COSTS, planned=planned, guarded=planned, late=late)


def answers(slowness: Slowness, n: int, late: float = 0.05, **options: Any) -> tuple[list[bool], Predictor]:
    """Return which answers are late, without any slack between them."""
    world, rng, seen = LatticeWorld(bundle(late)), np.random.default_rng(0), []
    usual, models = dict(world.taken), list(world.models)
    predictor = world.predictor(DEADLINE, **options)
    for number in range(n):
        share = slowness(number, predictor, rng)
        world.taken = {name: round(ns * share) for name, ns in usual.items()}
        world.models = [round(ns * share) for ns in models]
        seen.append(not predictor.predict_one(1.0).deadline_met)
        world.clock.advance(seconds=1e-3)
    return seen, predictor


def bursts(number: int, predictor: Predictor, rng: np.random.Generator) -> float:
    return 1.0 if number % 200 < 5 else 0.5


def while_low(number: int, predictor: Predictor, rng: np.random.Generator) -> float:
    return 0.99 if predictor.margin.value < 1.5 else 0.3


def heavy_tails(number: int, predictor: Predictor, rng: np.random.Generator) -> float:
    return float(min(0.3 * (1.0 + rng.pareto(2.5)), 1.2))


def alternating(number: int, predictor: Predictor, rng: np.random.Generator) -> float:
    return (0.3, 0.99)[number % 2]


HOSTILE = bursts, while_low, heavy_tails, alternating


@pytest.mark.parametrize("slowness", HOSTILE)
def test_late_answers_keep_to_the_law_whatever_the_times_do(slowness: Slowness) -> None:
    seen, predictor = answers(slowness, 3000)
    without, _ = answers(slowness, 3000, adapt=False)

    assert predictor.margin.beyond == 0
    assert most_beyond(seen, 0.05) <= CONSTANT
    assert sum(without) > sum(seen) > 0


def within_worst(slowness: Slowness) -> Slowness:
    return lambda *given: min(slowness(*given), 0.999)


@pytest.mark.parametrize("runs", [(0, 1), (1, 20), (2, 10)])
@pytest.mark.parametrize("slowness", HOSTILE)
def test_promise_about_runs_is_never_broken_where_worst_cases_hold(slowness: Slowness, runs: tuple[int, int]) -> None:
    seen, predictor = answers(within_worst(slowness), 2000, late=0.3, runs=runs)
    most, window = runs

    assert max(sum(seen[k : k + window]) for k in range(len(seen))) <= most
    assert predictor.runs is not None
    assert (predictor.runs.broken, predictor.runs.worst <= most) == (0, True)


def test_promise_about_runs_is_broken_without_it() -> None:
    """Else the test above would show nothing."""
    seen, _ = answers(within_worst(while_low), 2000, late=0.3)

    assert max(sum(seen[k : k + 20]) for k in range(len(seen))) > 1


def test_careful_answers_are_planned_by_worst_cases_until_one_may_be_late_again() -> None:
    world = LatticeWorld(bundle())
    world.slow_down(0.5)
    predictor = world.predictor(DEADLINE, runs=(1, 5), adapt=False)
    usual = predictor.predict_one(1.0)
    world.taken[AFTER] += 90_000
    late = predictor.predict_one(1.0)
    world.taken[AFTER] -= 90_000
    reasons = [predictor.predict_one(1.0).reason for _ in range(6)]

    assert (len(usual.features), usual.reason, late.deadline_met) == (4, "planned", False)
    assert reasons == ["extended"] * 4 + ["planned"] * 2


def test_rehearsals_and_warming_up_count_in_no_promise() -> None:
    world = LatticeWorld(bundle())
    predictor = world.predictor(DEADLINE, runs=(1, 5))
    world.slow_down(500.0)
    predictor.warm_up(1.0)
    for _ in range(5):
        predictor.rehearse_with(1.0)

    assert predictor.runs is not None
    assert (predictor.runs.worst, predictor.margin.late, predictor.margin.paused) == (0, 0, 0)


def test_promise_about_runs_outlives_a_change_of_the_bundle() -> None:
    """A predictor with another bundle takes over what may still be late."""
    old, new = (LatticeWorld(bundle()).predictor(DEADLINE, runs=(1, 5)) for _ in range(2))
    assert old.runs is not None
    old.runs.add(True)
    new.keep_items_of(old)

    assert new.runs is old.runs
    assert new._runs is new.runs


@pytest.mark.parametrize("runs", [(1, 1), (-1, 20), (0.5, 20), "1/20", 1])
def test_impossible_promise_is_refused_by_the_predictor(runs: Any) -> None:
    with pytest.raises(DeadlineError, match=r"two whole numbers m and K"):
        LatticeWorld(bundle()).predictor(DEADLINE, runs=runs)


def test_pauses_are_counted_apart_and_move_no_margin() -> None:
    """One in a feature, and one before the call: both take longer than the whole deadline."""
    world = LatticeWorld(bundle())
    world.slow_down(0.5)
    predictor = world.predictor(DEADLINE)
    world.taken["a"] += 1_000_000
    answers = [predictor.predict_one(1.0)]
    world.taken["a"] -= 1_000_000
    answers.append(predictor.predict_one(1.0, arrived_ns=world.clock.now_ns - 100_000))

    assert [answer.deadline_met for answer in answers] == [False, False]
    assert (predictor.margin.paused, predictor.margin.late, predictor.margin.value) == (2, 0, 1.0)


def test_work_that_takes_longer_than_planned_is_no_pause() -> None:
    world = LatticeWorld(bundle())
    predictor = world.predictor(DEADLINE)
    world.taken["a"] = 8 * worst_ns(COSTS[0])
    answer = predictor.predict_one(1.0)
    world.taken[AFTER] += 20_000

    assert answer.deadline_met or predictor.margin.late == 1
    assert not predictor.predict_one(1.0).deadline_met
    assert predictor.margin.paused == 0


def said_of(n: int, caplog: pytest.LogCaptureFixture, more_ns: int = 48_000) -> tuple[Predictor, list[str]]:
    """Answer items that wait and begin so much later than planned, with slack after each; return what is said."""
    world = LatticeWorld(bundle())
    world.slow_down(0.5)
    predictor = world.predictor(DEADLINE)
    world.taken[BEFORE] += more_ns
    for _ in range(n):
        predictor.predict_one(1.0, arrived_ns=world.clock.now_ns - more_ns)
        predictor.use_slack(1e-7)
        world.clock.advance(seconds=1e-3)
    return predictor, caplog.messages


def test_promise_that_cannot_be_kept_is_said_with_a_deadline_that_could(caplog: pytest.LogCaptureFixture) -> None:
    predictor, said = said_of(30, caplog)

    assert predictor.margin.beyond > 10
    assert said[0].startswith(
        "At most 5 % of answers late cannot be promised here within 90 µs: 3 were late that no margin avoids."
    )
    assert " µs would have been enough for the last " in said[0]
    enough = float(said[0].split("Without pauses, ")[1].split()[0]) * US
    took = [took for _, took in predictor._experience._late]
    assert 1e9 * DEADLINE < min(took) <= 1e9 * enough * (1.0 + 1e-3) <= max(took) * (1.0 + 2e-3)


def test_promise_that_cannot_be_kept_is_said_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    _, said = said_of(300, caplog)

    assert 2 <= len(said) <= 4


def test_promise_that_is_kept_is_not_talked_about(caplog: pytest.LogCaptureFixture) -> None:
    _, said = said_of(300, caplog, more_ns=0)

    assert said == []


@pytest.mark.parametrize(("more_ns", "waiting"), [(0, 1), (1_000_000, 1), (60_000, 0)])
def test_slack_is_used_at_once_after_slow_work_and_not_after_a_pause(more_ns: int, waiting: int) -> None:
    """After a pause other processes want the processor: who works in slack is called later when the next item comes."""
    world = LatticeWorld(bundle())
    world.slow_down(0.5)
    predictor = world.predictor(DEADLINE)
    for more in (0, more_ns):
        world.taken["a"] += more
        predictor.predict_one(1.0)
        predictor.use_slack(1e-2)

    assert len(predictor._experience.unread) == waiting
