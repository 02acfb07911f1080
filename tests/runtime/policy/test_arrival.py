"""Items that arrived before they are handed over: the deadline runs from the arrival, the slow-down does not."""

import pytest

from polydom_runtime.learning.slowdown import SLOW
from polydom_runtime.policy.energy import EnergyBudget
from polydom_runtime.prediction import Policy
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0)))
ACCURACIES = [0.5 + 0.1 * mask.bit_count() for mask in range(8)]
DEADLINE = 100 * US
"""All three features take 67 µs with model and dispatch."""


@pytest.fixture
def world() -> LatticeWorld:
    return LatticeWorld(lattice_bundle(ACCURACIES, COSTS))


def waited(world: LatticeWorld, microseconds: float) -> int:
    """Return the arrival of an item that is handed over so much later."""
    world.clock.advance(seconds=1.0)
    return world.clock.now_ns - round(microseconds * 1e3)


@pytest.mark.parametrize("policy", ["anytime", "strict"])
@pytest.mark.parametrize(("microseconds", "features"), [(0, 3), (32, 3), (34, 2), (60, 2), (84, 0), (97, 0)])
def test_time_waited_is_missing_for_features(
    world: LatticeWorld, microseconds: int, features: int, policy: Policy
) -> None:
    answer = world.predictor(DEADLINE, policy=policy).predict_one(1.0, waited(world, microseconds))

    assert len(answer.features) == features
    assert answer.deadline_met
    assert answer.waited_ns == microseconds * 1000
    assert answer.elapsed_ns >= answer.waited_ns


def test_answer_is_late_by_the_arrival(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE, adapt=False)
    world.taken["c"] += 30_000
    punctual, waiting = (predictor.predict_one(1.0, waited(world, us)) for us in (0, 32))

    assert (punctual.elapsed_ns, punctual.deadline_met) == (97_000, True)
    assert (waiting.elapsed_ns, waiting.deadline_met) == (129_000, False)


def test_item_that_waited_longer_than_the_deadline_gets_the_prior_at_once(world: LatticeWorld) -> None:
    answer = world.predictor(DEADLINE).predict_one(1.0, waited(world, 150))

    assert (answer.features, answer.reason) == ((), "no time for a")
    assert world.calls == []
    assert not answer.deadline_met
    assert answer.elapsed_ns - answer.waited_ns < 2_000


def test_arrival_in_the_future_counts_as_the_call(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE)
    plain, early = predictor.predict_one(1.0), predictor.predict_one(1.0, waited(world, -50))

    assert early == plain
    assert early.waited_ns == 0


def test_waiting_is_no_slow_down(world: LatticeWorld) -> None:
    predictor = world.predictor(10 * DEADLINE)
    for _ in range(SLOW):
        answer = predictor.predict_one(1.0, waited(world, 900))

        assert len(answer.features) == 3
        assert answer.slowdown == pytest.approx(1.0)


def test_feature_is_not_blamed_for_the_time_waited(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE, adapt=False)
    world.taken["c"] += 30_000
    answer = predictor.predict_one(1.0, waited(world, 32))

    assert not answer.deadline_met
    assert predictor.failures == {}


def test_trace_begins_with_the_call(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE)
    arrived = waited(world, 20)
    predictor.predict_one(1.0, arrived)

    assert predictor.trace.marks[0] == arrived + 20_000
    assert len(predictor.trace.marks) == len(predictor.trace.features) + 3


def test_waiting_takes_no_energy(world: LatticeWorld) -> None:
    """At one watt, 70 µJ last for 70 µs: enough for all features, however long the item waited before."""
    budget = EnergyBudget(70e-6, watts=1.0)
    predictor = world.predictor(DEADLINE, energy=budget)

    answers = [predictor.predict_one(1.0, waited(world, us)) for us in (0, 30, 40)]

    assert [len(answer.features) for answer in answers] == [3, 3, 2]
    assert all(answer.deadline_met for answer in answers)
