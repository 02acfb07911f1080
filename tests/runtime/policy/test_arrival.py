"""Items that arrived before they are handed over: the deadline runs from the arrival, the slow-down does not."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polydom_runtime.learning.slowdown import SLOW
from polydom_runtime.policy.deadline import ANOTHER_CLOCK
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
    answer = world.predictor(DEADLINE, policy=policy).predict_one(1.0, arrived_ns=waited(world, microseconds))

    assert len(answer.features) == features
    assert answer.deadline_met
    assert answer.waited_ns == microseconds * 1000
    assert answer.elapsed_ns >= answer.waited_ns


def test_answer_is_late_by_the_arrival(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE, adapt=False)
    world.taken["c"] += 30_000
    punctual, waiting = (predictor.predict_one(1.0, arrived_ns=waited(world, us)) for us in (0, 32))

    assert (punctual.elapsed_ns, punctual.deadline_met) == (97_000, True)
    assert (waiting.elapsed_ns, waiting.deadline_met) == (129_000, False)


def test_item_that_waited_longer_than_the_deadline_gets_the_prior_at_once(world: LatticeWorld) -> None:
    answer = world.predictor(DEADLINE).predict_one(1.0, arrived_ns=waited(world, 150))

    assert (answer.features, answer.reason) == ((), "no time for a")
    assert world.calls == []
    assert not answer.deadline_met
    assert answer.elapsed_ns - answer.waited_ns < 2_000


def test_arrival_in_the_future_counts_as_the_call(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE)
    plain, early = predictor.predict_one(1.0), predictor.predict_one(1.0, arrived_ns=waited(world, -50))

    assert early == plain
    assert early.waited_ns == 0


BOOTED_NS = 2_911_000_000_000
"""A clock that shows the time since the start of the machine."""


@pytest.mark.parametrize("kind", [np.int64, np.uint64], ids=lambda kind: kind.__name__)
def test_integers_of_numpy_are_times_as_others(kind: type[Any], world: LatticeWorld) -> None:
    world.clock.advance(seconds=BOOTED_NS * 1e-9)
    plain, other = (world.predictor(DEADLINE).predict_one(1.0, arrived_ns=to(waited(world, 32))) for to in (int, kind))

    assert other == plain
    assert (type(other.elapsed_ns), type(other.waited_ns), other.error) == (int, int, "")


@pytest.mark.parametrize(
    "time_of",
    [
        lambda now: float(now),
        lambda now: now * 1e-9,
        lambda now: np.float64(now),
        lambda now: str(now),
        lambda now: time.time_ns(),
        lambda now: now + 1_000_000,
        lambda now: now // 1000,
        lambda now: now // 1_000_000,
        lambda now: np.int64(now // 1000),
        lambda now: 1,
        lambda now: True,
    ],
    ids=["float", "s", "numpy float", "text", "wall clock", "later", "us", "ms", "numpy us", "1", "bool"],
)
def test_time_of_another_clock_is_told_and_the_deadline_runs_from_the_call(
    time_of: Callable[[int], Any], world: LatticeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.clock.advance(seconds=BOOTED_NS * 1e-9)
    predictor, plain = world.predictor(DEADLINE), world.predictor(DEADLINE).predict_one(1.0)

    answers = [predictor.predict_one(1.0, arrived_ns=time_of(world.clock.now_ns)) for _ in range(3)]

    is_past = isinstance(given := time_of(BOOTED_NS), int | np.integer) and given < BOOTED_NS
    for answer in answers:
        assert answer.deadline_met is not is_past  # it may have waited for so long
        assert answer.elapsed_ns - answer.waited_ns == plain.elapsed_ns
        times: dict[str, Any] = {"elapsed_ns": plain.elapsed_ns, "waited_ns": 0, "deadline_met": True}
        assert answer._replace(**times) == plain._replace(error=ANOTHER_CLOCK)
    assert predictor.causes.counts == {"the time of arrival": 3}
    assert ["another clock" in message for message in caplog.messages] == [True]


def test_item_that_waited_for_long_is_late_and_its_time_is_of_no_other_clock(world: LatticeWorld) -> None:
    world.clock.advance(seconds=BOOTED_NS * 1e-9)
    answer = world.predictor(DEADLINE).predict_one(1.0, arrived_ns=world.clock.now_ns - 59_000_000_000)

    assert (answer.deadline_met, answer.waited_ns, answer.error) == (False, 59_000_000_000, "")


def test_time_of_arrival_is_given_by_name_only(world: LatticeWorld) -> None:
    with pytest.raises(TypeError, match="positional"):
        world.predictor(DEADLINE).predict_one(1.0, 1)  # type: ignore[call-arg]


def test_waiting_is_no_slow_down(world: LatticeWorld) -> None:
    predictor = world.predictor(10 * DEADLINE)
    for _ in range(SLOW):
        answer = predictor.predict_one(1.0, arrived_ns=waited(world, 900))

        assert len(answer.features) == 3
        assert answer.slowdown == pytest.approx(1.0)


def test_feature_is_not_blamed_for_the_time_waited(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE, adapt=False)
    world.taken["c"] += 30_000
    answer = predictor.predict_one(1.0, arrived_ns=waited(world, 32))

    assert not answer.deadline_met
    assert predictor.failures == {}


def test_trace_begins_with_the_call(world: LatticeWorld) -> None:
    predictor = world.predictor(DEADLINE)
    arrived = waited(world, 20)
    predictor.predict_one(1.0, arrived_ns=arrived)

    assert predictor.trace.marks[0] == arrived + 20_000
    assert len(predictor.trace.marks) == len(predictor.trace.features) + 3


def test_waiting_takes_no_energy(world: LatticeWorld) -> None:
    """At one watt, 70 µJ last for 70 µs: enough for all features, however long the item waited before."""
    budget = EnergyBudget(70e-6, watts=1.0)
    predictor = world.predictor(DEADLINE, energy=budget)

    answers = [predictor.predict_one(1.0, arrived_ns=waited(world, us)) for us in (0, 30, 40)]

    assert [len(answer.features) for answer in answers] == [3, 3, 2]
    assert all(answer.deadline_met for answer in answers)
