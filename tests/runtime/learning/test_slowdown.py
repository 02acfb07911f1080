"""A machine that becomes slower: noticed within a few items, answered with less, forgotten when it is over."""

import math
from functools import cache

import numpy as np
import pytest

from polydom_runtime.learning.margin import DEBT
from polydom_runtime.learning.slowdown import CALM, FADING, QUICK, SLOW, Slowdown
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE
from tests.bundle_parts import unit_times
from tests.runtime.lattice_world import NAMES, US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0, 50.0)))
ACCURACIES = [0.3 + 0.02 * mask.bit_count() + 0.1 * mask / 31 for mask in range(32)]
START, LENGTH = 200, 400


def steady() -> LatticeWorld:
    """A world whose items take four fifths of their worst case, as is expected."""
    planned = unit_times(NAMES, [cost * 0.8 for cost in COSTS], (), microseconds(1.6), model_ratio=0.8)
    world = LatticeWorld(lattice_bundle(ACCURACIES, COSTS, planned=planned))
    world.slow_down(0.8)
    return world


@cache
def missed(factor: float, adapt: bool) -> tuple[list[int], list[float]]:
    """Return which items are late if all takes `factor` times as long from item START on, and each item's score."""
    world = steady()
    predictor = world.predictor(120 * US, adapt=adapt)
    rng = np.random.default_rng(0)
    as_measured, late, scores = dict(world.taken), [], []
    models = list(world.models)
    for k in range(LENGTH):
        factor_now = (factor if k >= START else 1.0) * rng.uniform(0.9, 1.1)
        world.taken = {name: round(ns * factor_now) for name, ns in as_measured.items()}
        world.models = [round(ns * factor_now) for ns in models]
        answer = predictor.predict_one(1.0)
        scores.append(answer.accuracy)
        if not answer.deadline_met:
            late.append(k)
    return late, scores


@pytest.mark.parametrize("factor", [1.0, 1.5, 2.0, 3.0])
def test_no_item_is_late_after_the_first_few_slow_ones(factor: float) -> None:
    late, scores = missed(factor, adapt=True)

    assert all(START <= k < START + QUICK for k in late)
    assert min(scores[START + QUICK :]) > 0.3


def test_score_falls_gracefully() -> None:
    means = [np.mean(missed(factor, adapt=True)[1][START:]) for factor in (1.0, 1.5, 2.0, 3.0)]

    assert means == sorted(means, reverse=True)
    assert means[-1] > 0.3


@pytest.mark.parametrize("factor", [1.5, 3.0])
def test_without_the_estimate_more_items_are_late(factor: float) -> None:
    assert len(missed(factor, adapt=False)[0]) > len(missed(factor, adapt=True)[0])


def test_slow_down_is_found_and_said() -> None:
    world = steady()
    predictor = world.predictor(500 * US)
    assert predictor.predict_one(1.0).slowdown == 1.0
    world.slow_down(2.0)
    said = [predictor.predict_one(1.0).slowdown for _ in range(QUICK)]

    assert predictor.slowdown == pytest.approx(2.0, rel=0.01)
    assert said[0] == 1.0
    assert said[-1] == pytest.approx(2.0, rel=0.01)


def test_it_recovers_when_the_machine_does() -> None:
    world = steady()
    predictor = world.predictor(500 * US)
    world.slow_down(3.0)
    for _ in range(SLOW):
        predictor.predict_one(1.0)
    assert predictor.slowdown == pytest.approx(3.0, rel=0.01)
    world.slow_down(1 / 3)
    for _ in range(SLOW):
        predictor.predict_one(1.0)

    assert predictor.slowdown == pytest.approx(1.0, rel=0.01)
    assert len(predictor.predict_one(1.0).features) == 5


def test_it_recovers_from_when_only_the_prior_was_in_time() -> None:
    """Twenty times slower not even `a` fits: nothing is measured any more, so it is tried again now and then.

    Afterwards the margin, which late answers raised, has to fall as well.
    Each feature also took longer than the deadline, as one that hangs: its pause is at most as long as the slow spell.
    """
    world = steady()
    predictor = world.predictor(60 * US)
    usual = predictor.predict_one(1.0).features
    world.slow_down(20.0)
    world.taken |= {BEFORE: 1_000, AFTER: 1_000}
    slow = [predictor.predict_one(1.0) for _ in range(4 * SLOW)]
    world.slow_down(1 / 20)
    falls = math.ceil(DEBT / world.bundle.promise.late)
    recovering = [predictor.predict_one(1.0) for _ in range(len(slow) + SLOW + falls)]

    assert sum(answer.features == () for answer in slow) > 2 * SLOW
    assert recovering[-1].features == usual


def test_warming_up_is_not_counted() -> None:
    world = steady()
    predictor = world.predictor(500 * US)
    world.slow_down(5.0)
    for _ in range(QUICK):
        predictor.warm_up(1.0)

    assert predictor.slowdown == 1.0


def test_without_adaption_it_is_one() -> None:
    world = steady()
    predictor = world.predictor(500 * US, adapt=False)
    world.slow_down(3.0)

    assert {predictor.predict_one(1.0).slowdown for _ in range(SLOW)} == {1.0}
    assert predictor.slowdown == 1.0


def test_rise_is_believed_after_most_of_a_few_items_and_a_fall_after_most_of_many() -> None:
    slowdown = Slowdown()
    rise = []
    for _ in range(QUICK):
        slowdown.add(2.0)
        rise.append(slowdown.value)
    for _ in range(SLOW):
        slowdown.add(2.0)
    fall = []
    for _ in range(SLOW):
        slowdown.add(0.9)
        fall.append(slowdown.value)

    assert rise == [1.0, 1.0, 2.0, 2.0, 2.0]
    assert fall == [2.0] * (SLOW // 2) + [1.0] * (SLOW - SLOW // 2)


def test_it_is_at_rest_when_nothing_that_counts_is_left() -> None:
    """Whatever is not added then would change nothing."""
    rng = np.random.default_rng(3)
    always, seldom, skipped = Slowdown(), Slowdown(), 0
    for ratio in np.repeat(rng.lognormal(0.0, 0.4, 60), 30).tolist():
        counted = ratio if ratio > 1.3 else 1.0
        always.add(counted)
        if counted > 1.0 or seldom.stirred:
            seldom.add(counted)
        else:
            skipped += 1

        assert seldom.value == always.value
    assert 100 < skipped < 1700


def test_answers_without_features_let_it_fade_in_steps() -> None:
    slowdown = Slowdown()
    for _ in range(SLOW):
        slowdown.add(4.0)
    seen = []
    for _ in range(10 * SLOW):
        slowdown.add(FADING * slowdown.value)
        seen.append(slowdown.value)

    assert seen[SLOW // 2 - 1] == 4.0
    assert seen[SLOW // 2] == pytest.approx(4.0 * FADING)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("pause", [2.0, 1e6, float("inf")])
def test_single_pauses_do_not_move_it(pause: float) -> None:
    """Two pauses among any five items."""
    slowdown = Slowdown()
    values = set()
    for k in range(10 * SLOW):
        slowdown.add(pause if k % QUICK in (1, 2) else 1.0)
        values.add(slowdown.value)

    assert values == {1.0}


def test_estimate_is_the_larger_median_whatever_was_added() -> None:
    rng = np.random.default_rng(1)
    ratios = [1.0] * SLOW
    slowdown = Slowdown()
    for ratio in rng.lognormal(0.0, 0.5, 300).tolist():
        ratios.append(ratio)
        slowdown.add(ratio)

        assert slowdown.value == max(1.0, np.median(ratios[-QUICK:]), np.median(ratios[-SLOW:]))


@pytest.mark.parametrize(("factor", "counts"), [(0.95 * CALM, False), (1.05 * CALM, True)])
def test_estimate_counts_only_what_is_no_chance_on_a_calm_machine(factor: float, counts: bool) -> None:
    """A median of ratios that count as 1 below a level is that of all ratios, where it is above the level."""
    world = LatticeWorld(lattice_bundle(ACCURACIES, COSTS))
    world.slow_down(factor)
    predictor = world.predictor(1000 * US)
    for _ in range(QUICK):
        predictor.predict_one(1.0)

    assert predictor.slowdown == pytest.approx(factor if counts else 1.0, rel=0.02)


def test_item_that_was_slow_in_all_its_parts_counts_at_once_until_one_was_not() -> None:
    slowdown, seen = Slowdown(), []
    for ratio, each in ((3.0, 2.0), (1.0, 1.0), (3.0, 0.95 * CALM), (3.0, 2.5)):
        slowdown.add(ratio, each)
        seen.append(slowdown.value)

    assert seen == [2.0, 1.0, 1.0, 3.0]  # three of the last four items were slow


@pytest.mark.parametrize(("ratio", "value"), [(2.5, 2.5), (1.0, 1.0)])
def test_new_plan_may_know_a_part_of_what_is_slow(ratio: float, value: float) -> None:
    """The next item is planned as it was before, and tells at once whether there is more."""
    slowdown = Slowdown()
    for _ in range(2):
        slowdown.add(3.0, 2.0)
    renewed = slowdown.renewed()
    assert renewed.value == 2.0
    renewed.add(ratio)

    assert renewed.value == value


def test_estimate_for_a_new_plan_forgets_items_and_what_was_expected_before() -> None:
    """A plan that holds what was learned is not slower than itself; a clock that is throttled further is."""
    slowdown = Slowdown()
    slowdown.expect(1.5)
    for _ in range(SLOW):
        slowdown.add(4.0)
    renewed = slowdown.renewed()

    assert (slowdown.value, renewed.value) == (4.0, 1.0)
    seen = []
    for expected in (1.5, 3.0, 1.0):
        renewed.expect(expected)
        seen.append(renewed.value)
    assert seen == [1.0, 2.0, 1.0]
