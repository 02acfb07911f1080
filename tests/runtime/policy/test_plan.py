"""A plan for each regime: a predictor that slept plans with cold times, and knows by itself that it slept."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice, Regime
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.plan import COOLS_NS
from polydom_runtime.predictor import Predictor, Seams
from tests.bundle_parts import with_regimes
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0)))
ACCURACIES = [0.5 + 0.1 * mask.bit_count() for mask in range(8)]
DEADLINE = 100 * US
WARM, COLD = 8, 40
"""Microseconds that each unit and model takes longer. From the first decision on, three features take 66 µs when hot;
after a rehearsal 102 µs, and two of them 64 µs; cold, even one takes 116 µs."""


def bundle() -> Bundle:
    return lattice_bundle(ACCURACIES, COSTS)


def world(**regimes: float) -> LatticeWorld:
    return LatticeWorld(with_regimes(bundle(), **regimes))


def both() -> LatticeWorld:
    return world(rehearsed=WARM * US, cold=COLD * US)


def asleep(world: LatticeWorld, seconds: float = 0.02) -> None:
    world.clock.advance(seconds=seconds)


def strict(world: LatticeWorld, **options: Any) -> Predictor:
    """Return a predictor that shows its plan: it does not go on when time is left."""
    return world.predictor(DEADLINE, policy="strict", **options)


def test_after_a_sleep_it_plans_with_cold_times_and_back_to_back_with_hot_ones() -> None:
    ours = both()
    predictor = strict(ours)
    asleep(ours)
    first, second = predictor.predict_one(1.0), predictor.predict_one(1.0)
    asleep(ours)
    third = predictor.predict_one(1.0)

    assert [len(answer.features) for answer in (first, second, third)] == [0, 3, 0]


def test_after_a_rehearsal_it_plans_with_the_times_after_one() -> None:
    ours = both()
    predictor = strict(ours)
    predictor.warm_up(1.0)
    asleep(ours)
    predictor.rehearse()
    answer = predictor.predict_one(1.0)

    assert len(answer.features) == 2


def test_rehearsal_that_was_long_ago_does_not_count() -> None:
    ours = both()
    predictor = strict(ours)
    predictor.warm_up(1.0)
    asleep(ours)
    predictor.rehearse()
    asleep(ours)

    assert predictor.predict_one(1.0).features == ()


@pytest.mark.parametrize(("more", "features"), [(-1, 3), (0, 3), (1, 0)])
def test_code_is_warm_until_it_cools(more: int, features: int) -> None:
    ours = both()
    predictor = strict(ours)
    predictor.predict_one(1.0)
    ours.clock.now_ns += COOLS_NS + more

    assert len(predictor.predict_one(1.0).features) == features


def test_waiting_does_not_make_code_cold() -> None:
    """The regime is that of the time at which the work begins."""
    ours = both()
    predictor = strict(ours)
    predictor.predict_one(1.0)

    assert len(predictor.predict_one(1.0, arrived_ns=ours.clock.now_ns - 10_000).features) == 3


@pytest.mark.parametrize(("regime", "features"), [("hot", 3), ("rehearsed", 2), ("cold", 0)])
def test_regime_can_be_forced(regime: Regime, features: int) -> None:
    ours = both()
    predictor = strict(ours, regime=regime)

    for _ in range(2):
        asleep(ours)
        assert len(predictor.predict_one(1.0).features) == features
        assert len(predictor.predict_one(1.0).features) == features


def test_bundle_that_was_measured_hot_only_is_always_planned_hot() -> None:
    ours = LatticeWorld(bundle())
    predictor = strict(ours)
    asleep(ours)

    assert len(predictor.predict_one(1.0).features) == 3
    assert len(strict(ours, regime="cold").predict_one(1.0).features) == 3


def test_after_a_rehearsal_of_which_no_times_are_known_it_plans_hot() -> None:
    ours = world(cold=COLD * US)
    predictor = strict(ours)
    predictor.warm_up(1.0)
    asleep(ours)
    predictor.rehearse()

    assert len(predictor.predict_one(1.0).features) == 3


def test_regime_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DeadlineError, match="must be one of hot, rehearsed, cold"):
        both().predictor(DEADLINE, regime="warm")


def test_plans_share_the_models_and_have_their_own_times() -> None:
    ours, made = both(), Counter[int]()

    def run_of(number: int) -> Any:
        made[number] += 1
        return lambda: 0

    predictor = Predictor(
        ours.bundle, ours.space, deadline=1.0, seams=Seams(clock=ours.clock, run_of=run_of, keep_memory=False)
    )
    plans = predictor._plans.hot, predictor._plans.rehearsed, predictor._plans.cold

    assert set(made.values()) == {1}
    assert len(made) == 7
    assert [model.model_ns for plan in plans for model in plan.models.best(np.array([7]))] == [5_000, 13_000, 45_000]
    assert len({id(plan.models.values) for plan in plans}) == 1
    assert predictor.models is plans[0].models
    assert predictor.staircase is plans[0].staircase
    assert predictor.bundle is ours.bundle


def test_a_warm_up_makes_the_plan_for_rehearsed_items_so_that_no_period_does() -> None:
    predictor = both().predictor(DEADLINE)
    before = len(predictor._plans.made)
    predictor.warm_up(1.0)

    assert (before, len(predictor._plans.made)) == (2, 3)


def test_slow_down_compares_with_the_typical_times_of_each_regime() -> None:
    """Cold, everything takes a constant more; that is no slow-down."""
    ours = both()
    predictor = ours.predictor(1000 * US)
    for _ in range(40):
        asleep(ours)
        hot = dict(ours.taken), list(ours.models)
        ours.taken = {name: ns + COLD * 1000 for name, ns in ours.taken.items()}
        ours.models = [ns + COLD * 1000 for ns in ours.models]
        assert len(predictor.predict_one(1.0).features) == 3
        ours.taken, ours.models = hot
        assert len(predictor.predict_one(1.0).features) == 3

        assert predictor.slowdown == pytest.approx(1.0)


@pytest.mark.parametrize(("deadline", "reason"), [(DEADLINE, "planned"), (1.1 * DEADLINE, "extended")])
def test_times_are_those_chosen_for_the_deadline(deadline: float, reason: str) -> None:
    """Worst cases are twice the real times, and only at the first deadline it is planned with those."""
    careful = lattice_bundle(ACCURACIES, [cost * 2.0 for cost in COSTS])
    real = careful.times.worst.scaled(0.5)
    choices = (
        Choice(DEADLINE, real, real),
        Choice(1.1 * DEADLINE, careful.times.planned, careful.times.guarded),
    )
    ours = LatticeWorld(replace(careful, times=careful.times._replace(choices=choices)))
    ours.slow_down(0.5)

    answer = ours.predictor(deadline).predict_one(1.0)

    assert (len(answer.features), answer.reason) == (3, reason)
