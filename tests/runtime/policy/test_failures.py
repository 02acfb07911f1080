"""Features that keep failing: left out, tried again ever more rarely, taken back when they work."""

from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor
from polydom_runtime.clock import Usage
from polydom_runtime.policy.failures import FIRST_PAUSE, K_IN_A_ROW, MAX_PAUSE, MAX_PAUSE_OF_HUNG, FailureBook
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
    doubled = [last + FIRST_PAUSE * (2**k - 1) for k in range(1, 6)]
    assert items == [*range(K_IN_A_ROW), *doubled, doubled[-1] + MAX_PAUSE]


def test_longest_pause_is_never_exceeded() -> None:
    book = FailureBook(1)
    item, pauses = 0, []
    for _ in range(40):
        book.hung(0, item)
        start = item
        while book.banned(item):
            item += 1
        pauses.append(item - start)

    rising = [FIRST_PAUSE << k for k in range(20) if FIRST_PAUSE << k < MAX_PAUSE_OF_HUNG]
    assert pauses == [0] * (K_IN_A_ROW - 1) + rising + [MAX_PAUSE_OF_HUNG] * (41 - K_IN_A_ROW - len(rising))


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
    world.results |= dict.fromkeys("bcd", RuntimeError())
    predictor = world.predictor(500 * US, policy=policy)
    for _ in range(4 * K_IN_A_ROW):
        assert predictor.predict_one(1.0).deadline_met

    assert predictor.out == frozenset("bcd")


@pytest.mark.parametrize("n_bad", [1, 4, 5000])
def test_bad_items_cost_no_good_one_its_features(world: LatticeWorld, policy: Policy, n_bad: int) -> None:
    predictor = world.predictor(500 * US, policy=policy)
    world.results |= {key: [np.nan] for key in "abcd"}
    for _ in range(n_bad):
        assert predictor.predict_one(1.0).features == ()
    world.results.clear()

    lost = [k for k in range(20) if set(predictor.predict_one(1.0).features) != set("abcd")]
    assert len(lost) <= 1
    assert (predictor.out, predictor.failures) == (frozenset(), {})


def test_features_that_failed_together_come_back_together(world: LatticeWorld, policy: Policy) -> None:
    """`a` works on bad items, too, so the others are out, and each waits for its own turn."""
    predictor = world.predictor(500 * US, policy=policy)
    world.results |= {key: [np.nan] for key in "bcd"}
    for _ in range(5000):
        predictor.predict_one(1.0)
    world.results.clear()

    sets = [set(predictor.predict_one(1.0).features) for _ in range(MAX_PAUSE + 2)]
    first = next(k for k, names in enumerate(sets) if len(names) > 1)
    assert all(names == set("abcd") for names in sets[first + 1 :])


def test_feature_that_fails_and_leaves_no_time_for_others_is_out(world: LatticeWorld) -> None:
    world.results["d"], world.taken["d"] = RuntimeError(), 495_000
    predictor = world.predictor(500 * US, adapt=False)
    answers = [predictor.predict_one(1.0) for _ in range(2 * FIRST_PAUSE)]

    assert predictor.out == {"d"}
    assert sum("d" not in answer.features and len(answer.features) == 3 for answer in answers) >= FIRST_PAUSE


BUSY = [Usage(k * 600_000, 0) for k in range(9)]
WAITING = [Usage(0, k) for k in range(9)]
PAUSED = [Usage(k * 9_000, 4) for k in range(9)]


@pytest.mark.parametrize(("usages", "out"), [(BUSY, 1), (WAITING, 1), (PAUSED, 0)], ids=["busy", "waiting", "paused"])
def test_feature_that_neither_computes_nor_waits_is_excused(usages: list[Usage], out: int) -> None:
    book = FailureBook(1, iter(usages).__next__)
    for item in range(4):
        book.banned(item)
        book.hung(0, item, taken_ns=501_000)
        book.judge(0, item)

    assert book.out == out


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
