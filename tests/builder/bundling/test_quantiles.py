"""The times that a bundle plans with: chosen for each deadline and regime by replays, and checked on others."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.bundling import outlooks, quantiles
from polydom_builder.bundling.outlooks import N_OUTLOOKS, deadlines_in
from polydom_builder.bundling.quantiles import SHARE_OF_PROMISE, allowed_for_work, pause_note, with_chosen_times
from polydom_builder.simulation import Trials, simulate
from polydom_builder.simulation.trials import halves
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, UNKNOWN_CALM, BundleTimes, CostOrigin, Regime
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.measuring.cost_samples import Pauses
from tests.builder.bundling.devices import US, Device, jittery, rarely_slow, slow
from tests.bundle_parts import changed
from tests.draws import draws

ALLOWED = 0.01
SIZES = [50.0]


@pytest.fixture(autouse=True, scope="module")
def many_trials() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantiles, "N_TRIALS", 2000)
        yield


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "N_TRIALS", 240)


@pytest.fixture(scope="module")
def unsteady() -> Device:
    return Device(rarely_slow, cold=10 * US)


@pytest.fixture(scope="module")
def chosen(unsteady: Device) -> Bundle:
    return with_chosen_times(unsteady.bundle(), unsteady.target(), unsteady.samples(), SIZES, ALLOWED)


def late_and_score(bundle: Bundle, trials: Trials, planned: UnitTimes, guarded: UnitTimes) -> tuple[list[int], float]:
    """Return the late answers at each deadline, and the mean score, if times are the same at all deadlines."""
    same = changed(bundle, choices=(), planned=planned, guarded=guarded, typical=bundle.times.typical)
    outcomes = [simulate(same, trials, deadline, adapt=False) for deadline in deadlines_in(bundle, "hot")]
    return [outcome.missed for outcome in outcomes], float(np.mean([outcome.score for outcome in outcomes]))


def test_one_choice_for_all_deadlines_breaks_the_promise_at_the_shortest(unsteady: Device, chosen: Bundle) -> None:
    """It is the best choice by the sums over all deadlines, and has few enough late answers there."""
    planned = unsteady.target().planned
    half, _ = halves(unsteady.samples())
    trials, fresh = Trials.as_they_came(half, 500), held_out(unsteady)
    pairs = [(planned[p], planned[g]) for p in (0.5, 0.99) for g in (0.9, 0.95, 0.99)]
    results = {pair: late_and_score(chosen, trials, *pair) for pair in pairs}
    most = SHARE_OF_PROMISE * ALLOWED * len(trials) * N_OUTLOOKS

    best = max((pair for pair in pairs if sum(results[pair][0]) <= most), key=lambda pair: results[pair][1])

    late, _ = late_and_score(chosen, fresh, *best)
    assert late[0] > ALLOWED * len(fresh)


def held_out(device: Device, regime: Regime = "hot") -> Trials:
    """Return some thousands of answers that nothing was chosen by."""
    n_rounds = draws(15, 50)
    return Trials.as_they_came(device.samples(seed=7, n_rounds=n_rounds), 200 * n_rounds, regime)


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("regime", REGIMES)
def test_choice_by_deadline_keeps_the_promise_on_held_out_rounds_at_each(
    chosen: Bundle, unsteady: Device, regime: Regime, adapt: bool
) -> None:
    fresh = held_out(unsteady, regime)
    outlook = chosen.at(1.0, regime).times.outlook

    for expected in outlook:
        outcome = simulate(chosen, fresh, expected.deadline, regime=regime, adapt=adapt)
        assert outcome.missed <= ALLOWED * len(fresh)
        assert outcome.score == pytest.approx(expected.score, abs=0.015)
    assert outlook[0].score < outlook[-1].score
    assert len(outlook) > 5


def test_promise_that_a_slow_unit_does_not_break_needs_no_careful_guard(chosen: Bundle) -> None:
    careful, device = chosen, Device(rarely_slow)
    daring = with_chosen_times(device.bundle(), device.target(), device.samples(), SIZES, 0.05)

    assert careful.times.at(50 * US).guarded.quantile == 0.99
    assert daring.times.at(50 * US).guarded.quantile < 0.99
    assert daring.times.outlook[0].score > careful.times.outlook[0].score + 0.1


@pytest.mark.usefixtures("few_trials")
def test_where_one_half_breaks_the_promise_the_most_careful_choice_is_taken() -> None:
    """The first feature is slow on all items to choose on, or on all to check on, and no quantile foresees it."""
    device = Device(jittery)
    samples = device.samples()
    items = samples.items["hot"]

    def slow_first(which: slice) -> BundleTimes:
        seconds = items.seconds.copy()
        seconds[0, which] *= 5.0
        uneven = replace(samples, items={"hot": replace(items, seconds=seconds)})
        return with_chosen_times(device.bundle(), device.target(), uneven, SIZES, ALLOWED).times

    even, on_one, on_other = (slow_first(which) for which in (slice(0), slice(0, None, 2), slice(1, None, 2)))

    assert even.at(50 * US).guarded != even.worst
    for times in (on_one, on_other):
        assert times.at(50 * US).guarded == times.at(50 * US).planned == times.worst


def test_outlook_tells_who_answers(chosen: Bundle) -> None:
    hot, cold = chosen.times.outlook, chosen.regimes["cold"].times.outlook

    assert [o.deadline for o in hot] == deadlines_in(chosen, "hot")
    assert hot[-1].features == ("a", "b", "c", "d")
    assert (hot[-1].prior_share, hot[-1].late) == (0.0, 0.0)
    assert (cold[0].prior_share, cold[0].features, cold[0].score) == (1.0, (), 0.5)
    assert [a.score >= b.score for a, b in zip(hot, cold, strict=True)] == [True] * len(hot)


def test_regimes_have_their_own_times_and_survive_the_file(chosen: Bundle, unsteady: Device) -> None:
    target = unsteady.target().regimes["cold"]
    cold = chosen.regimes["cold"]

    assert cold.times.worst == target.worst
    assert cold.times.reference_seconds == target.reference_seconds
    assert cold.models == pytest.approx([m.seconds + 10 * US for m in chosen.models])
    assert cold.asleep == 0.02
    without_index = changed(chosen, shipped=())
    assert decode(encode(without_index)) == without_index


def test_calm_estimate_is_exceeded_by_one_answer_in_a_thousand_at_most(chosen: Bundle, unsteady: Device) -> None:
    for regime in REGIMES:
        calm = chosen.at(100 * US, regime).times.calm
        loud = replace(chosen.at(100 * US, regime), times=chosen.at(100 * US, regime).times._replace(calm=1.0))
        estimates = [a.slowdown for a in simulate(loud, held_out(unsteady, regime), 100 * US).answers]

        assert 1.0 < calm < 1.1
        assert np.mean(np.array(estimates) > calm) <= 0.002


@pytest.mark.usefixtures("few_trials")
def test_calm_estimate_is_bounded_on_a_device_that_is_often_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers take up to twice as long for many items on end."""
    monkeypatch.setattr(quantiles, "MAX_CALM", 1.3)

    def in_spells(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        factors = jittery(rng, shape)
        if len(shape) == 3:
            factors[:, : shape[1] // 2] *= 2.0
        return factors

    device = Device(in_spells)
    bundle = with_chosen_times(device.bundle(), device.target(), device.samples(), SIZES, ALLOWED)

    assert bundle.times.calm == 1.3


def test_promise_of_a_device_with_pauses_is_planned_for_what_they_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "N_TRIALS", 400)
    device = Device(rarely_slow)
    bundle = changed(device.bundle(), origin=CostOrigin("a board", notes=("warm",)))
    pauses = Pauses(1.0, (1e-3,) * 500)  # with all features, an answer takes 88 µs
    quiet, paused = (
        with_chosen_times(bundle, device.target(), device.samples(pauses=p), SIZES, 0.04) for p in (Pauses(), pauses)
    )

    assert pauses.share_hit(50 * US) == pytest.approx(0.025)
    assert paused.times.origin.notes == (
        "warm",
        "pauses longer than 136 µs hit 4.4 % of answers here: 0.9559 is what can be promised at 136 µs",
    )
    assert quiet.times.origin.notes == ("warm",)
    assert paused.times.at(50 * US).planned.quantile > quiet.times.at(50 * US).planned.quantile
    late = paused.times.outlook[-1]
    assert (late.late, late.score) == pytest.approx((0.0441, 0.89 * (1 - 0.0441)), abs=1e-3)


def test_pauses_within_the_promise_are_not_worth_a_note() -> None:
    pauses = Pauses(10.0, (5e-3, 2e-3))

    assert pause_note(pauses, [1e-3, 3e-3], 0.001) == ""
    assert pause_note(pauses, [1e-3, 3e-3], 0.0001) == (
        "pauses longer than 3 ms hit 0.03 % of answers here: 0.9997 is what can be promised at 3 ms"
    )
    assert pause_note(pauses, [], 0.0) == ""


def test_pauses_hit_answers_less_often_if_these_end_long_before_the_deadline() -> None:
    pauses = Pauses(10.0, (5e-3, 2e-3))

    assert [pauses.share_hit(deadline, 1e-3) for deadline in (5e-4, 1e-3, 1.5e-3, 3e-3, 6e-3)] == pytest.approx(
        [1e-4, 2e-4, 2e-4, 1e-4, 0.0]
    )
    assert pause_note(pauses, [1e-3, 3e-3], 1.5e-4, longest=1e-3).startswith("pauses longer than 1 ms hit 0.02 %")


@pytest.mark.parametrize(("paused", "left"), [(0.0, 0.01), (0.002, 0.008), (0.005, 0.005), (0.5, 0.005)])
def test_work_keeps_at_least_half_of_the_promise(paused: float, left: float) -> None:
    assert allowed_for_work(paused, ALLOWED) == pytest.approx(left)


@pytest.mark.usefixtures("few_trials")
def test_one_deadline_gets_one_choice() -> None:
    device = Device(jittery)
    bundle = with_chosen_times(device.bundle(90 * US, 90 * US), device.target(), device.samples(), SIZES, ALLOWED)

    assert bundle.times.choices == ()
    assert [o.deadline for o in bundle.times.outlook] == [90 * US]


@pytest.mark.usefixtures("few_trials")
def test_bundle_that_only_plans_strictly_has_nothing_to_choose() -> None:
    device = Device(jittery, cold=10 * US)
    bundle = device.bundle()
    whole = tuple(m._replace(cost=bundle.candidate(k).cost) for k, m in enumerate(bundle.models))
    made = with_chosen_times(replace(bundle, models=whole), device.target(), device.samples(), SIZES, ALLOWED)

    choices = made.times.choices
    assert {choice.planned.quantile for choice in choices} == {made.times.planned.quantile} == {0.9}
    assert {choice.guarded for choice in choices} == {made.times.guarded} == {device.target().guarded}
    assert made.times.outlook[-1].score > made.regimes["cold"].times.outlook[-1].score


def test_estimates_are_not_replayed_but_have_an_outlook() -> None:
    device = Device(rarely_slow, cold=10 * US)
    there = replace(device.target(), origin=CostOrigin("a board", True))
    made = with_chosen_times(device.bundle(), there, device.samples(), SIZES, ALLOWED)

    assert (made.times.choices, made.times.calm) == ((), UNKNOWN_CALM)
    assert made.regimes["cold"].times.planned == there.regimes["cold"].planned[0.9]
    assert made.times.outlook[-1].features == ("a", "b", "c", "d")
    assert made.times.outlook[0].score > made.regimes["cold"].times.outlook[0].score == 0.5


def test_given_costs_have_an_outlook_too() -> None:
    device = Device(jittery)
    bundle = device.bundle()
    made = with_chosen_times(bundle, replace(device.target(), planned={}, guarded=None), None, SIZES, ALLOWED)

    assert replace(made, times=made.times._replace(outlook=())) == bundle
    assert made.times.outlook[0].deadline == pytest.approx(50 * US)
    assert all(0.5 <= o.score <= 0.89 for o in made.times.outlook)


@pytest.mark.usefixtures("few_trials")
def test_times_of_rounds_are_replayed_where_no_items_were_measured() -> None:
    device = Device(jittery)
    old = replace(device.samples(), items={})
    made = with_chosen_times(device.bundle(), device.target(), old, SIZES, ALLOWED)

    assert made.times.outlook[-1].features == ("a", "b", "c", "d")
    assert made.regimes == {}


@pytest.mark.usefixtures("few_trials")
def test_regime_that_was_not_measured_on_items_keeps_its_default_times() -> None:
    device = Device(jittery, cold=10 * US)
    samples = device.samples()
    hot_only = replace(samples, items={"hot": samples.items["hot"]})
    made = with_chosen_times(device.bundle(), device.target(), hot_only, SIZES, ALLOWED)

    cold = made.regimes["cold"].times
    assert (cold.planned, cold.calm) == (device.target().regimes["cold"].planned[0.9], UNKNOWN_CALM)
    assert cold.outlook[-1].score > 0.75
    assert made.times.calm > 1.0


def test_bundle_of_many_models_has_half_of_the_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = Device(jittery).bundle()
    few = deadlines_in(bundle, "hot")
    monkeypatch.setattr(outlooks, "MANY_MODELS", len(bundle.models) - 1)

    assert (len(few), len(deadlines_in(bundle, "hot"))) == (N_OUTLOOKS, N_OUTLOOKS // 2)


@pytest.mark.usefixtures("few_trials")
def test_outlook_of_a_slower_machine_is_worse() -> None:
    quick, slower = Device(jittery), Device(slow(jittery, 1.5))
    one, other = (
        with_chosen_times(d.bundle(60 * US, 80 * US), d.target(), d.samples(), SIZES, ALLOWED) for d in (quick, slower)
    )

    assert one.times.outlook[0].score > other.times.outlook[0].score
