"""A call may have a deadline of its own, up to that of the predictor."""

import math

import numpy as np
import pytest

from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.deadline import ANOTHER_CLOCK
from polydom_runtime.prediction import Policy
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0)))
ACCURACIES = [0.5 + 0.1 * mask.bit_count() for mask in range(8)]
DEADLINE = 100 * US
"""All three features take 67 µs with model and dispatch."""


@pytest.fixture
def world() -> LatticeWorld:
    return LatticeWorld(lattice_bundle(ACCURACIES, COSTS))


@pytest.mark.parametrize("policy", ["anytime", "strict"])
@pytest.mark.parametrize(("deadline", "features"), [(100, 3), (68, 3), (66, 2), (40, 2), (16, 0)])
def test_an_answer_is_planned_for_the_deadline_of_its_call(
    world: LatticeWorld, deadline: int, features: int, policy: Policy
) -> None:
    predictor = world.predictor(DEADLINE, policy=policy)
    before, answer, after = (predictor.predict_one(1.0, deadline=d) for d in (None, deadline * US, None))

    assert (len(answer.features), answer.deadline_met, answer.waited_ns) == (features, True, 0)
    assert answer.elapsed_ns <= deadline * 1000
    assert len(before.features) == len(after.features) == 3


def test_an_answer_is_late_by_the_deadline_of_its_call(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE, adapt=False)
    world.taken["c"] += 10_000
    usual, short = (predictor.predict_one(1.0, deadline=deadline) for deadline in (None, 70 * US))

    assert (usual.elapsed_ns, usual.deadline_met) == (77_000, True)
    assert (short.elapsed_ns, short.deadline_met) == (77_000, False)


def test_an_answer_is_late_if_its_call_leaves_no_time(world: LatticeWorld) -> None:
    answers = [world.predictor(DEADLINE).predict_one(1.0, deadline=deadline) for deadline in (0.0, -1.0, -math.inf)]

    assert [(answer.features, answer.deadline_met) for answer in answers] == [((), False)] * 3
    assert world.calls == []


def test_an_answer_that_no_plan_can_give_in_time_does_not_move_the_margin(world: LatticeWorld) -> None:
    """Dispatch alone takes 2 µs."""
    predictor = world.predictor(DEADLINE)
    for _ in range(20):
        predictor.predict_one(1.0, deadline=1 * US)

    margin = predictor.margin
    assert (margin.value, margin.late, margin.beyond, margin.paused) == (1.0, 0, 0, 20)


@pytest.mark.parametrize("deadline", [101 * US, math.inf, math.nan])
def test_a_deadline_beyond_that_of_the_predictor_is_refused(world: LatticeWorld, deadline: float) -> None:
    predictor = world.predictor(DEADLINE)

    with pytest.raises(DeadlineError, match="must be at most that of the predictor, 100 µs"):
        predictor.predict_one(1.0, deadline=deadline)
    assert predictor.predict_one(1.0).deadline_met


@pytest.mark.parametrize("kind", [int, np.int64])
def test_the_deadline_of_a_call_runs_from_the_arrival(world: LatticeWorld, kind: type) -> None:
    world.clock.advance(seconds=1.0)
    arrived_ns = kind(world.clock.now_ns - 30_000)
    answer = world.predictor(DEADLINE).predict_one(1.0, arrived_ns=arrived_ns, deadline=90 * US)

    assert (len(answer.features), answer.deadline_met, answer.waited_ns) == (2, True, 30_000)


def test_the_deadline_of_a_call_runs_from_the_call_if_the_arrival_is_of_another_clock(world: LatticeWorld) -> None:
    world.clock.advance(seconds=1.0)
    arrived_ns = world.clock.now_ns + 10**9
    answer = world.predictor(DEADLINE).predict_one(1.0, arrived_ns=arrived_ns, deadline=40 * US)

    assert (len(answer.features), answer.deadline_met, answer.error) == (2, True, ANOTHER_CLOCK)
