"""What is learned of units from answers: which one moved, what all share, and the bundle with it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.costs import ZERO
from polydom_runtime.learning.learned_times import (
    AFTER,
    BEFORE,
    FRESH,
    PRIOR,
    WAKING,
    LearnedTimes,
    Seen,
    Unit,
)
from polydom_runtime.learning.unit_history import AS_SHIPPED, FOUND_EVERY, QUICK, WINDOW, Change
from polydom_runtime.policy.loaded_models import UNTIMED
from tests.bundle_parts import with_regimes
from tests.runtime.lattice_world import STEP, US, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0)))
ACCURACIES = [0.3 + 0.1 * mask.bit_count() for mask in range(16)]
BUDGET = 1000 * US
ENOUGH = WINDOW + FOUND_EVERY
"""Observations after which a change is known, however small."""


def bundle(**options: Any) -> Bundle:
    """Each answer takes 1 µs before, 1 µs after and 5 µs for its model."""
    return lattice_bundle(ACCURACIES, COSTS, **options)


def times(**options: Any) -> LearnedTimes:
    return LearnedTimes(bundle(**options), BUDGET)


def seen(
    *features: tuple[int, float],
    before: float = 1.0,
    end: float = 6.0,
    size: float = 1.0,
    model: int | None = None,
    regime: Regime = "hot",
    asked: Sequence[float] = (),
) -> Seen:
    """Return an answer from pairs of a feature and the microseconds that it took."""
    marks, now = [1_000_000], 1_000_000
    for took in (before, *(each for _, each in features), end):
        now += round(1e3 * took)
        marks.append(now)
    computed = [feature for feature, _ in features]
    number = sum(1 << feature for feature in computed) - 1 if model is None else model
    return Seen(regime, size, computed, marks, number, [round(1e3 * each) for each in asked])


def factor(learned: LearnedTimes, unit: Unit, regime: Regime = "hot") -> float:
    """Return the factor on a time at size 1."""
    shipped = learned._shipped_ns((regime, unit), 1.0)
    return learned.expected_ns((regime, unit), 1.0) / shipped


def test_before_any_answer_all_is_as_shipped() -> None:
    learned = times()

    assert set(learned.changes("hot").values()) == {AS_SHIPPED}
    assert learned.moved("hot", {}) == []


@pytest.mark.parametrize("change", [0.25, 4.0])
def test_unit_that_changed_is_known_after_a_few_answers_and_others_stay(change: float) -> None:
    learned = times()
    for _ in range(20):
        learned.observe(seen((0, 10.0), (1, 20.0), (2, 30.0)))
    for _ in range(QUICK):
        learned.observe(seen((0, 10.0), (1, change * 20.0), (2, 30.0)))

    assert factor(learned, "b") == pytest.approx(change)
    assert [factor(learned, unit) for unit in ("a", "c", BEFORE, 6)] == pytest.approx([1.0] * 4)
    assert learned.moved("hot", {}) == ["b"]
    assert learned.moved("hot", learned.changes("hot")) == []


@pytest.mark.parametrize("change", [0.25, 2.0])
def test_units_that_were_never_observed_follow_what_the_others_share(change: float) -> None:
    learned = LearnedTimes(lattice_bundle(ACCURACIES, [cost * 100.0 for cost in COSTS], models=500 * US), 0.1)
    for _ in range(ENOUGH):
        learned.observe(seen((0, change * 1000.0), (1, change * 2000.0), before=change, end=change * 501.0))

    assert [factor(learned, unit) for unit in ("d", AFTER, 14)] == pytest.approx([change] * 3, rel=0.01)


def test_model_that_was_never_observed_follows_the_other_models() -> None:
    """It has nothing in common with features: after a sleep these take longer than measured, and models do not."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 30.0), (1, 60.0), (2, 90.0), before=3.0, end=3.0))

    assert factor(learned, "d") == pytest.approx(3.0, rel=0.1)
    assert [factor(learned, unit) for unit in (14, AFTER)] == pytest.approx([0.57] * 2, rel=0.1)


def test_one_unit_that_changed_is_not_shared() -> None:
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 40.0), (1, 20.0)))

    assert factor(learned, "a") == pytest.approx(4.0)
    assert [factor(learned, unit) for unit in ("c", "d", 14)] == pytest.approx([1.0] * 3)


def test_unit_that_was_not_observed_for_long_follows_the_others_from_where_it_was() -> None:
    """`a` takes three times as long; since then all became twice as slow."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 30.0), (1, 20.0), (2, 30.0)))
    for _ in range(FRESH - 1):
        learned.observe(seen((1, 40.0), (2, 60.0), before=2.0, end=12.0))
    still_fresh = factor(learned, "a")
    learned.observe(seen((1, 40.0), (2, 60.0), before=2.0, end=12.0))

    assert still_fresh == pytest.approx(3.0)
    assert factor(learned, "a") == pytest.approx(6.0, rel=0.1)


def test_step_and_feature_share_what_they_take_together_and_later_users_do_not_pay_for_it() -> None:
    learned = times(step=(0b11, microseconds(30.0)))
    for _ in range(ENOUGH):
        learned.observe(seen((0, 80.0), (1, 20.0)))

    assert [factor(learned, unit) for unit in ("a", STEP, "b")] == pytest.approx([2.0, 2.0, 1.0])


@pytest.mark.parametrize("regime", ["cold", "rehearsed"])
def test_first_feature_after_a_sleep_tells_of_waking_and_of_nothing_else(regime: Regime) -> None:
    shipped = with_regimes(bundle(waking=microseconds(2.0)), rehearsed=0.0, cold=0.0)
    learned = LearnedTimes(shipped, BUDGET)
    for _ in range(ENOUGH):
        learned.observe(seen((0, 60.0), (1, 20.0), regime=regime))

    assert learned.expected_ns((regime, WAKING), 1.0) == pytest.approx(50_000)
    assert (factor(learned, "a", regime), factor(learned, "b", regime)) == pytest.approx((1.0, 1.0))
    assert learned.change_of(("hot", WAKING)) == AS_SHIPPED


@pytest.mark.parametrize("change", [0.5, 2.0, 3.0])
def test_change_of_all_in_a_regime_without_answers_so_far_is_no_longer_waking(change: float) -> None:
    """Not even at first: a plan would take it for the time of the first feature, whichever that is."""
    learned = LearnedTimes(with_regimes(bundle(waking=microseconds(2.0)), cold=0.0), BUDGET)
    for _ in range(2 * QUICK):
        took = [(0, change * 12.0), (1, change * 20.0), (2, change * 30.0)]
        learned.observe(seen(*took, before=change, end=6.0 * change, regime="cold"))

        assert learned.expected_ns(("cold", WAKING), 1.0) == pytest.approx(2000 * change, abs=5000)
    assert factor(learned, "a", "cold") == pytest.approx(change, rel=0.05)


def test_plan_that_was_made_in_a_slow_spell_is_made_anew_after_it() -> None:
    """On the way back half the change is enough; on the way there it is none yet."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 1.35 * 20.0), (2, 30.0)))
    in_spell = dict(learned.changes("hot"))
    assert learned.moved("hot", {}) == []
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 20.0), (2, 30.0)))

    assert learned.moved("hot", in_spell) == ["b"]


def test_what_was_learned_hot_counts_cold_until_that_is_known() -> None:
    learned = LearnedTimes(with_regimes(bundle(), cold=0.0), BUDGET)
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 80.0)))

    assert factor(learned, "b", "cold") == pytest.approx(4.0)
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 20.0), regime="cold"))
    assert factor(learned, "b", "cold") == pytest.approx(1.0)
    assert factor(learned, "b") == pytest.approx(4.0)


def test_time_in_which_a_model_was_asked_belongs_to_no_feature() -> None:
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0 + 7.0), (1, 20.0 + 7.0), asked=[7.0, 7.0], end=1.0, model=UNTIMED))

    assert (factor(learned, "a"), factor(learned, "b")) == pytest.approx((1.0, 1.0))
    assert ("hot", 2) not in learned.histories


def test_model_that_was_sure_ends_the_last_feature() -> None:
    """Then its run is in the end of the answer: there is no time in which it was asked in vain."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0 + 7.0), (1, 20.0), asked=[7.0]))

    assert (factor(learned, "a"), factor(learned, "b"), factor(learned, 2)) == pytest.approx((1.0, 1.0, 1.0))


def test_answer_of_the_prior_tells_the_end() -> None:
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen(end=3.0, model=PRIOR))

    assert factor(learned, AFTER) == pytest.approx(2.0, rel=0.01)  # a microsecond tells less than a longer time


def test_units_that_were_tried_are_known_as_if_they_had_been_planned() -> None:
    learned = times(step=(0b1000, microseconds(10.0)))
    for _ in range(QUICK):
        learned.tried(3, 1.0, 12_500.0)
        learned.tried_model(4, 1.0, 20_000.0)

    assert (factor(learned, "d"), factor(learned, STEP)) == pytest.approx((0.25, 0.25), rel=0.01)
    assert factor(learned, 4) == pytest.approx(21.0 / 6.0, rel=0.01)
    assert learned.answers == 0


@pytest.mark.parametrize("size", [math.nan, math.inf, 0.0, -1.0, 100.5])
def test_item_without_a_size_of_the_build_teaches_nothing(size: float) -> None:
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 100.0), size=size))

    assert (learned.answers, learned.histories) == (0, {})


@pytest.mark.parametrize("took", [-3.6e9, 6e8, 3.6e9])
def test_clock_that_jumped_and_a_process_that_was_stopped_move_nothing(took: float) -> None:
    """By an hour to either side, or for ten minutes, in every part of an answer; once, and twice in a row."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 20.0)))
    for odd in (seen((0, took), (1, 20.0)), seen((0, 10.0), (1, took)), seen((0, 10.0), (1, 20.0), before=took)):
        learned.observe(odd)
        learned.observe(seen((0, 10.0), (1, 20.0), end=took))

    assert learned.moved("hot", {}) == []
    assert [factor(learned, unit) for unit in ("a", "b", "c", BEFORE, 2)] == pytest.approx([1.0] * 5)


def test_shipped_times_of_zero_are_learned_as_constants() -> None:
    shipped = lattice_bundle(ACCURACIES, [ZERO] * 4, dispatch=ZERO, models=0.0)
    learned = LearnedTimes(shipped, BUDGET)
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 20.0), before=0.0, end=0.0))
    changed = learned.bundle("hot", learned.changes("hot"))

    assert [learned.expected_ns(("hot", unit), 1.0) for unit in ("a", "b", 2)] == pytest.approx([10e3, 20e3, 0.0])
    assert [cost(1.0) for cost in changed.times.worst.terms[:2]] == pytest.approx([10 * US, 20 * US])


def test_times_of_zero_are_no_error() -> None:
    """A clock that is too coarse for what it measures."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 0.0), (1, 0.0), before=0.0, end=0.0))
    changed = learned.bundle("hot", learned.changes("hot"))

    assert changed.times.worst.terms[0](1.0) == 0.0
    assert all(0.0 <= change.factor < 0.5 for change in learned.changes("hot").values())


def test_unit_that_matters_to_no_answer_does_not_move_a_plan() -> None:
    """Half a percent of a millisecond is more than `before` takes, even if it takes four times as long."""
    learned = times()
    for _ in range(ENOUGH):
        learned.observe(seen((0, 10.0), (1, 20.0), before=4.0))

    assert factor(learned, BEFORE) == pytest.approx(4.0)
    assert learned.moved("hot", {}) == []


@pytest.mark.parametrize(
    ("regime", "factor", "guarded"), [("hot", 4.0, 160.0), ("cold", 4.0, 120.0), ("cold", 0.5, 20.0)]
)
def test_reserve_grows_less_than_the_time_after_a_sleep(regime: Regime, factor: float, guarded: float) -> None:
    """Of 20 µs, up to 40 µs. A slower machine varies as much more, and code that is colder no more: halfway."""
    shipped = with_regimes(bundle(), cold=0.0).at(BUDGET, regime)
    double = shipped.times.worst.mapped(lambda cost: cost * 2.0)
    learned = LearnedTimes(replace(shipped, times=shipped.times._replace(guarded=double)), BUDGET)
    changed = learned.bundle(regime, dict(learned.changes(regime)) | {"b": Change(factor)})

    assert changed.times.typical.terms[1](1.0) == pytest.approx(factor * 20 * US)
    assert changed.times.guarded.terms[1](1.0) == pytest.approx(guarded * US)


def test_bundle_has_the_learned_times_at_each_quantile_and_keeps_the_allowance() -> None:
    """The worst case of the end holds 100 µs for pauses, which are as long as before."""
    shipped = bundle(dispatch=ZERO, before=microseconds(1.0), after=microseconds(101.0))
    typical = replace(shipped.times.typical, after=microseconds(1.0))
    shipped = replace(shipped, times=shipped.times._replace(typical=typical))
    learned = LearnedTimes(shipped, BUDGET)
    changes = dict(learned.changes("hot")) | {"b": Change(2.0, 3 * US), AFTER: Change(4.0), 2: Change(3.0)}
    changed = learned.bundle("hot", changes)

    for units in (changed.times.worst, changed.times.planned, changed.times.guarded, changed.times.typical):
        assert [units.terms[k](1.0) for k in range(3)] == pytest.approx([10 * US, 43 * US, 30 * US])
    assert (changed.times.typical.after(1.0), changed.times.worst.after(1.0)) == pytest.approx((4 * US, 104 * US))
    assert [changed.models[number].seconds for number in (1, 2)] == pytest.approx([5 * US, 15 * US])


wild = st.sampled_from((-1e12, -1.0, 0.0, 1e-3, 1.0, 10.0, 1e3, 1e9))


@given(st.lists(st.tuples(st.integers(0, 14), wild, wild, st.sampled_from(REGIMES)), max_size=60))
def test_whatever_is_observed_there_is_a_plan(observed: list[tuple[int, float, float, Regime]]) -> None:
    """Four answers of each kind, so that changes are believed: all times stay finite and not negative."""
    shipped = with_regimes(bundle(waking=microseconds(1.0)), rehearsed=0.0, cold=0.0)
    learned = LearnedTimes(shipped, BUDGET)
    for mask, took, more, regime in observed:
        features = [(k, took + k * more) for k in range(4) if (mask + 1) >> k & 1]
        for _ in range(QUICK + 1):
            learned.observe(seen(*features, before=took, end=more, model=mask, regime=regime))
    for regime in REGIMES:
        changed = learned.bundle(regime, learned.changes(regime))

        for units in (changed.times.worst, changed.times.typical):
            assert all(0.0 <= cost(n) < math.inf for cost in (*units.terms, *units.around) for n in (1.0, 100.0))
        assert all(0.0 <= model.seconds < math.inf for model in changed.models)


def test_memory_is_bounded_by_the_units() -> None:
    learned = times()
    for number in range(500):
        learned.observe(seen((number % 4, 10.0), model=number % 15))

    assert len(learned.histories) <= len(REGIMES) * (4 + 1 + 2 + 15)
    assert max(len(history._pairs) for history in learned.histories.values()) == WINDOW
