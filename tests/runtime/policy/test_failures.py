"""Features that keep failing: left out, tried again ever more rarely, taken back when they work."""

from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor
from polydom_runtime.policy.failures import FIRST_PAUSE, K_IN_A_ROW, MAX_PAUSE, FailureBook
from polydom_runtime.prediction import Policy
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0)))
ACCURACIES = [0.3 + 0.02 * mask.bit_count() + 0.1 * mask / 15 for mask in range(16)]
FAILURES = [RuntimeError("gone"), [np.nan], [np.inf], [1.0, 2.0], "x"]


@pytest.fixture
def world() -> LatticeWorld:
    return LatticeWorld(lattice_bundle(ACCURACIES, COSTS))


@pytest.fixture(params=["anytime", "strict"])
def policy(request: pytest.FixtureRequest) -> Policy:
    chosen: Policy = request.param
    return chosen


def tries(predictor: Predictor, world: LatticeWorld, feature: str, count: int) -> list[int]:
    """Return at which of the next items the feature was computed."""
    items = []
    for k in range(count):
        world.calls.clear()
        predictor.predict_one(1.0)
        if feature in world.calls:
            items.append(k)
    return items


@pytest.mark.parametrize("result", FAILURES, ids=["raises", "nan", "infinite", "wide", "text"])
def test_feature_that_fails_in_a_row_is_out(world: LatticeWorld, policy: Policy, result: Any) -> None:
    world.results["b"] = result
    predictor = world.predictor(500 * US, policy=policy)
    for k in range(K_IN_A_ROW):
        assert predictor.out == frozenset()
        assert predictor.predict_one(1.0).reason == "b failed"
        assert predictor.failures == {"b": k + 1}
    answer = predictor.predict_one(1.0)

    assert predictor.out == {"b"}
    assert set(answer.features) == {"a", "c", "d"}
    assert answer.reason != "b failed"


def test_pauses_double_between_tries(world: LatticeWorld) -> None:
    world.results["b"] = RuntimeError()
    items = tries(world.predictor(500 * US), world, "b", 1000)

    last = K_IN_A_ROW - 1
    assert items == [*range(K_IN_A_ROW), *(last + FIRST_PAUSE * (2**k - 1) for k in range(1, 6))]


def test_longest_pause_is_never_exceeded() -> None:
    book = FailureBook(1)
    item, pauses = 0, []
    for _ in range(40):
        book.failed(0, item)
        start = item
        while book.banned(item):
            item += 1
        pauses.append(item - start)

    rising = [FIRST_PAUSE << k for k in range(20) if FIRST_PAUSE << k < MAX_PAUSE]
    assert pauses == [0] * (K_IN_A_ROW - 1) + rising + [MAX_PAUSE] * (41 - K_IN_A_ROW - len(rising))


def test_feature_that_works_again_comes_back(world: LatticeWorld, policy: Policy) -> None:
    predictor = world.predictor(500 * US, policy=policy)
    world.results["b"] = RuntimeError()
    for _ in range(K_IN_A_ROW):
        predictor.predict_one(1.0)
    del world.results["b"]
    features = [set(predictor.predict_one(1.0).features) for _ in range(FIRST_PAUSE + 2)]

    assert features == [{"a", "c", "d"}] * (FIRST_PAUSE - 1) + [{"a", "b", "c", "d"}] * 3
    assert (predictor.failures, predictor.out) == ({}, frozenset())


def test_success_in_between_starts_the_count_anew(world: LatticeWorld) -> None:
    predictor = world.predictor(500 * US)
    for k in range(4 * K_IN_A_ROW):
        world.results = {} if k % K_IN_A_ROW == K_IN_A_ROW - 1 else {"b": RuntimeError()}
        predictor.predict_one(1.0)

        assert predictor.out == frozenset()
    assert predictor.failures == {}


def test_feature_that_another_one_needs_no_more_keeps_its_count(world: LatticeWorld) -> None:
    """`a` works all the time, which says nothing of `b`."""
    world.results["b"] = RuntimeError()
    predictor = world.predictor(500 * US)
    for _ in range(K_IN_A_ROW + 5):
        predictor.predict_one(1.0)

    assert predictor.failures == {"b": K_IN_A_ROW}


def test_feature_that_takes_longer_than_the_deadline_fails(world: LatticeWorld) -> None:
    world.taken["b"] = 501_000
    predictor = world.predictor(500 * US, adapt=False)
    answers = [predictor.predict_one(1.0) for _ in range(K_IN_A_ROW + 1)]

    assert [answer.deadline_met for answer in answers] == [False] * K_IN_A_ROW + [True]
    assert predictor.out == {"b"}
    assert set(answers[-1].features) == {"a", "c", "d"}


@pytest.mark.parametrize("result", [RuntimeError(), [np.nan]], ids=["raises", "nan"])
def test_feature_that_fails_late_is_counted_once(world: LatticeWorld, result: Any) -> None:
    world.taken["b"], world.results["b"] = 501_000, result
    predictor = world.predictor(500 * US, adapt=False)
    predictor.predict_one(1.0)

    assert predictor.failures == {"b": 1}


def test_several_features_may_be_out(world: LatticeWorld, policy: Policy) -> None:
    world.results |= dict.fromkeys("abcd", RuntimeError())
    predictor = world.predictor(500 * US, policy=policy)
    for _ in range(4 * K_IN_A_ROW):
        assert predictor.predict_one(1.0).deadline_met

    assert predictor.out == frozenset("abcd")
    world.calls.clear()
    answer = predictor.predict_one(1.0)
    assert (answer.features, answer.label, world.calls) == ((), 0, [])
    assert answer.reason.endswith(" failed")


def test_warming_up_leaves_no_trace_of_cold_failures(world: LatticeWorld) -> None:
    world.results["b"] = RuntimeError()
    predictor = world.predictor(500 * US)
    for _ in range(K_IN_A_ROW):
        predictor.warm_up(1.0)

    assert (predictor.failures, predictor.out) == ({}, frozenset())
    del world.results["b"]
    assert "b" in predictor.predict_one(1.0).features


def test_failure_that_was_seen_elsewhere_counts(world: LatticeWorld) -> None:
    predictor = world.predictor(500 * US)
    for _ in range(K_IN_A_ROW):
        predictor.report_failure("c")

    assert predictor.failures == {"c": K_IN_A_ROW}
    assert predictor.out == {"c"}
    assert "c" not in predictor.predict_one(1.0).features


def test_everything_that_happens_costs_no_item_its_answer(world: LatticeWorld, policy: Policy) -> None:
    """1000 items, of which each feature fails in a way of its own now and then; answers lost: 0."""
    predictor = world.predictor(200 * US, policy=policy)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        world.results = {name: FAILURES[rng.integers(5)] for name in "abcd" if rng.random() < 0.3}
        answer = predictor.predict_one(1.0)

        assert answer.deadline_met
        assert not set(answer.features) & set(world.results)
