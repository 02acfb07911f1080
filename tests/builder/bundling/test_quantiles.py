"""The times that a bundle plans with: chosen for each deadline and regime by replays."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_builder.bundling.quantiles import allowed_for_work, pause_note, with_chosen_times
from polydom_builder.simulation import Trials, expected, recorded, simulate
from polydom_builder.simulation.expected import deadlines_in
from polydom_builder.simulation.recorded import Recorded
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, CostOrigin, Outlook, Regime
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.describing.outlook_table import in_range
from polydom_runtime.measuring.cost_samples import BEFORE, Pauses
from tests.builder.bundling.devices import UNITS, US, Device, jittery, rarely_slow, slow
from tests.bundle_parts import changed, outlook
from tests.draws import draws

ALLOWED = 0.01
SIZES = [50.0]


@pytest.fixture(autouse=True, scope="module")
def many_trials() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "N_TRIALS", 2000)
        yield


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "N_TRIALS", 240)


@pytest.fixture(scope="module")
def unsteady() -> Device:
    return Device(rarely_slow, cold=10 * US)


@pytest.fixture(scope="module")
def chosen(unsteady: Device) -> Bundle:
    return with_chosen_times(unsteady.bundle(), unsteady.target(), unsteady.samples(), SIZES, ALLOWED)


def asked(bundle: Bundle, regime: Regime = "hot") -> list[Outlook]:
    """Return the outlooks of a regime at the deadlines of the bundle's range."""
    return in_range(bundle.at(1.0, regime).times.outlook, bundle.promise)


def late_and_score(bundle: Bundle, trials: Trials, planned: UnitTimes, guarded: UnitTimes) -> tuple[list[int], float]:
    """Return the late answers at each deadline, and the mean score, if times are the same at all deadlines."""
    same = changed(bundle, choices=(), planned=planned, guarded=guarded, typical=bundle.times.typical)
    deadlines = [o.deadline for o in asked(bundle)]
    outcomes = [simulate(same, trials, deadline, adapt=False) for deadline in deadlines]
    return [outcome.missed for outcome in outcomes], float(np.mean([outcome.score for outcome in outcomes]))


def test_one_choice_for_all_deadlines_breaks_the_promise_at_the_shortest(unsteady: Device, chosen: Bundle) -> None:
    """It is the best choice by the sums over all deadlines, and has few enough late answers there."""
    planned = unsteady.target().planned
    trials, fresh = Trials.as_they_came(unsteady.samples(), 1000), held_out(unsteady)
    pairs = [(planned[p], planned[g]) for p in (0.5, 0.99) for g in (0.9, 0.95, 0.99)]
    results = {pair: late_and_score(chosen, trials, *pair) for pair in pairs}
    most = ALLOWED * len(trials) * len(results[planned[0.5], planned[0.9]][0])

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
    outlook = asked(chosen, regime)

    for stated in outlook:
        outcome = simulate(chosen, fresh, stated.deadline, regime=regime, adapt=adapt)
        assert outcome.missed <= ALLOWED * len(fresh)
        # Late answers, as promised, may raise the margin of a node that learns for a while.
        assert outcome.score == pytest.approx(stated.score, abs=0.02 if adapt else 0.015)
    assert outlook[0].score < outlook[-1].score
    assert len(outlook) > 5


def guard_of(bundle: Bundle) -> float:
    """Return the quantile of the guard at the shortest deadline, 1 for worst cases."""
    return bundle.times.at(50 * US).guarded.quantile or 1.0


def test_promise_that_a_slow_unit_does_not_break_needs_no_careful_guard(chosen: Bundle) -> None:
    careful, device = chosen, Device(rarely_slow)
    daring = with_chosen_times(device.bundle(), device.target(), device.samples(), SIZES, 0.05)

    assert guard_of(careful) >= 0.99 > guard_of(daring)
    assert asked(daring)[0].score > asked(careful)[0].score + 0.1


@pytest.mark.usefixtures("few_trials")
def test_where_nothing_keeps_the_promise_answers_are_late_no_more_often_than_by_worst_cases() -> None:
    """The first feature is slow on every third item, and no quantile foresees it."""
    device = Device(jittery)
    samples = device.samples()
    items = samples.items["hot"]
    seconds = items.seconds.copy()
    seconds[0, ::3] *= 5.0
    uneven = replace(samples, items={"hot": replace(items, seconds=seconds)})
    made = with_chosen_times(device.bundle(), device.target(), uneven, SIZES, ALLOWED)
    careful = changed(made, choices=(), planned=made.times.worst, guarded=made.times.worst, typical=made.times.typical)
    trials = Recorded.to_items(made, uneven, "hot").trials

    for row in asked(made):
        worst = simulate(careful, trials, row.deadline, adapt=False)
        assert row.late <= worst.missed / len(trials) + 1e-9
        assert row.score >= worst.score - 1e-12
    assert asked(made)[0].late > ALLOWED


def seldom_slow(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """In five answers of a thousand the first feature takes five times as long."""
    factors = jittery(rng, shape)
    factors[0] *= np.where(rng.random(shape[1:]) < 0.005, 5.0, 1.0)
    return factors


@pytest.mark.parametrize("seed", range(4))
def test_few_answers_waste_little(seed: int) -> None:
    """With two hundred of them, one is slow. The promise allows for it, and so it costs no score."""
    device = Device(seldom_slow)
    many, few = (
        with_chosen_times(device.bundle(), device.target(), device.samples(seed, n_rounds=n), SIZES, ALLOWED)
        for n in (10, 1)
    )

    for stated, row in zip(asked(many), asked(few), strict=True):
        assert row.score >= stated.score - 0.015


def seldom_much_slower(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """In three of a hundred answers a unit takes up to six times as long; how much time is left at first varies."""
    factors = jittery(rng, shape) * np.where(rng.random(shape) < 0.03, rng.uniform(1.0, 6.0, shape), 1.0)
    factors[UNITS.index(BEFORE)] *= rng.uniform(1.0, 10.0, shape[1:])
    return factors


@pytest.mark.parametrize("deadline", [140 * US, 157 * US, 167 * US])
def test_promise_is_spent_as_well_as_by_any_of_many_guards(deadline: float) -> None:
    """The best guards lie between two quantiles of the target, where times rise steeply."""
    device = Device(seldom_much_slower)
    made = with_chosen_times(device.bundle(deadline, deadline), device.target(), device.samples(), SIZES, ALLOWED)
    recorded, planned = Recorded.to_items(made, device.samples(), "hot"), device.target().planned
    steps = [(planned[0.95], planned[0.99]), (planned[0.99], made.times.worst)]
    guards = [low.between(high, k / 16) for low, high in steps for k in range(17)]
    fixed = (changed(made, planned=planned[0.9], guarded=g, typical=made.times.typical) for g in guards)
    outcomes = [simulate(bundle, recorded.trials, deadline, adapt=False) for bundle in fixed]

    best = max(outcome.score for outcome in outcomes if recorded.late_bound(outcome) <= ALLOWED)

    (row,) = asked(made)
    assert row.late <= ALLOWED
    assert row.score >= best - 0.005


def test_outlook_tells_who_answers(chosen: Bundle) -> None:
    hot, cold = asked(chosen), asked(chosen, "cold")

    assert {o.deadline for o in hot} <= {*deadlines_in(chosen, "hot")}
    assert hot[-1].features == ("a", "b", "c", "d")
    assert (hot[-1].prior_share, hot[-1].late) == (0.0, 0.0)
    assert (cold[0].prior_share, cold[0].features, cold[0].score) == (1.0, (), 0.5)
    slept = {o.deadline: o.score for o in cold}
    assert all(o.score >= slept.get(o.deadline, 0.0) for o in hot)
    assert len({o.deadline for o in hot} & {*slept}) > 5


def test_regimes_have_their_own_times_and_survive_the_file(chosen: Bundle, unsteady: Device) -> None:
    target = unsteady.target().regimes["cold"]
    cold = chosen.regimes["cold"]

    assert cold.times.worst == target.worst
    assert cold.times.reference_seconds == target.reference_seconds
    assert cold.models == pytest.approx([m.seconds + 10 * US for m in chosen.models])
    assert cold.asleep == 0.02
    without_index = changed(chosen, shipped=())
    assert decode(encode(without_index)) == without_index


def test_promise_of_a_device_with_pauses_is_planned_for_what_they_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "N_TRIALS", 400)
    device = Device(rarely_slow)
    bundle = changed(device.bundle(), origin=CostOrigin("a board", notes=("warm",)))
    long = (1e-3,) * 500  # with all features, an answer takes 88 µs
    pauses = Pauses(1.0, long, 1.0, long)
    quiet, paused, outside = (
        with_chosen_times(bundle, device.target(), device.samples(pauses=p), SIZES, 0.04)
        for p in (Pauses(), pauses, Pauses(1.0, long, 1.0))
    )

    warm, note = paused.times.origin.notes
    assert warm == "warm"
    assert re.fullmatch(
        r"pauses of the machine make 4\.\d % of the answers late at 200 µs: work is planned for 2 % late ones of 4 % "
        r"promised; at most 95\.\d+ % in time can be promised there",
        note,
    )
    assert quiet.times.origin.notes == ("warm",)
    assert outside.times == quiet.times
    assert guard_of(paused) > guard_of(quiet)
    longest = paused.times.outlook[-1]
    assert (longest.late_alone, longest.score_alone) == pytest.approx((0.0, 0.89), abs=1e-3)
    assert longest.score == pytest.approx(0.89 * (1.0 - longest.late), abs=1e-3)
    assert longest.late == pytest.approx(500 * 88 * US, rel=0.1)  # while it works, not until the deadline


def test_note_tells_what_pauses_take_of_the_promise() -> None:
    quiet = outlook(1e-3, 0.9, 0.0, ("a",), 1e-4)
    paused = quiet._replace(deadline=3e-3, late=4e-4)

    assert pause_note([quiet, paused], 0.01) == pause_note([quiet], 1e-6) == pause_note([], 0.0) == ""
    work = "pauses of the machine make 0.03 % of the answers late at 3 ms: work is planned for"
    assert pause_note([quiet, paused], 0.001) == f"{work} 0.07 % late ones of 0.1 % promised"
    assert pause_note([quiet, paused], 0.0001) == (
        f"{work} 0.005 % late ones of 0.01 % promised; at most 99.97 % in time can be promised there"
    )


def test_pauses_hit_an_answer_while_it_works_and_where_less_time_than_theirs_is_left() -> None:
    pauses = Pauses(20.0, (5e-3, 2e-3), 10.0, (5e-3, 2e-3))

    shares = [
        float(pauses.late_shares(np.array([1e-3]), deadline)[0]) for deadline in (1e-3, 2e-3, 2.5e-3, 5.5e-3, 6e-3)
    ]

    assert shares == pytest.approx([2e-4, 2e-4, 1.5e-4, 0.5e-4, 0.0], rel=1e-3)
    assert pauses.late_shares(np.array([2e-3]), 3e-3) == pytest.approx([3e-4], rel=1e-3)
    assert Pauses(0.0, (5e-3,)).late_shares(np.array([1e-3]), 1e-3) == 0.0


@given(
    lengths=st.lists(st.floats(1e-6, 1e-2), min_size=1),
    worked=st.floats(1e-6, 1e-2),
    deadlines=st.tuples(st.floats(1e-6, 2e-2), st.floats(1e-6, 2e-2)),
)
def test_longer_deadlines_are_missed_no_more_often_for_the_same_work(
    lengths: list[float], worked: float, deadlines: tuple[float, float]
) -> None:
    """The prior works as long at any deadline, and so its late share does not grow with it."""
    pauses, (short, long) = Pauses.of(1.0, lengths, 1.0, lengths), sorted(deadlines)
    worked = min(worked, short)

    first, second = (float(pauses.late_shares(np.array([worked]), deadline)[0]) for deadline in (short, long))

    assert 0.0 <= second <= first * (1.0 + 1e-9) + 1e-12
    assert first <= len(lengths) * worked * (1.0 + 1e-9)


@pytest.mark.parametrize(("paused", "left"), [(0.0, 0.01), (0.002, 0.008), (0.005, 0.005), (0.5, 0.005)])
def test_work_keeps_at_least_half_of_the_promise(paused: float, left: float) -> None:
    assert allowed_for_work(paused, ALLOWED) == pytest.approx(left)


@pytest.mark.usefixtures("few_trials")
def test_one_deadline_gets_one_choice() -> None:
    device = Device(jittery)
    bundle = with_chosen_times(device.bundle(90 * US, 90 * US), device.target(), device.samples(), SIZES, ALLOWED)

    assert bundle.times.choices == ()
    assert [o.deadline for o in asked(bundle)] == [90 * US]


@pytest.mark.usefixtures("few_trials")
def test_bundle_that_only_plans_strictly_has_nothing_to_choose() -> None:
    device = Device(jittery, cold=10 * US)
    bundle = device.bundle()
    whole = tuple(m._replace(cost=bundle.candidate(k).cost) for k, m in enumerate(bundle.models))
    made = with_chosen_times(replace(bundle, models=whole), device.target(), device.samples(), SIZES, ALLOWED)

    assert made.times.choices == ()
    assert made.times.planned == device.target().planned[0.9]
    assert made.times.guarded == device.target().guarded
    assert asked(made)[0].score > asked(made, "cold")[0].score


def test_estimates_are_not_replayed_but_have_an_outlook() -> None:
    device = Device(rarely_slow, cold=10 * US)
    there = replace(device.target(), origin=CostOrigin("a board", True))
    made = with_chosen_times(device.bundle(), there, device.samples(), SIZES, ALLOWED)

    assert made.times.choices == ()
    assert made.regimes["cold"].times.planned == there.regimes["cold"].planned[0.9]
    assert made.times.outlook[-1].features == ("a", "b", "c", "d")
    assert asked(made)[0].score > asked(made, "cold")[0].score == 0.5


def test_given_costs_have_an_outlook_too() -> None:
    device = Device(jittery)
    bundle = device.bundle()
    made = with_chosen_times(bundle, replace(device.target(), planned={}, guarded=None), None, SIZES, ALLOWED)

    assert replace(made, times=made.times._replace(outlook=())) == bundle
    assert asked(made)[0].deadline == pytest.approx(50 * US)
    assert all(0.5 <= o.score <= 0.891 for o in made.times.outlook)


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
    assert cold.planned == device.target().regimes["cold"].planned[0.9]
    assert cold.outlook[-1].score > 0.75


def test_bundle_of_many_models_has_half_of_the_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The range spans two octaves."""
    bundle = Device(jittery).bundle()
    few = deadlines_in(bundle, "hot")
    monkeypatch.setattr(expected, "MANY_MODELS", len(bundle.models) - 1)
    many = deadlines_in(bundle, "hot")

    assert [len(few), len(many)] == [9, 4]


def test_half_of_each_deadline_is_in_the_table_too() -> None:
    found = deadlines_in(Device(jittery).bundle(), "hot")

    assert found[0] == 50 * US
    assert {d for d in found if d >= 100 * US} <= {*(2.0 * np.array(found)).tolist(), found[-1]}


def test_both_ends_of_the_range_are_in_the_table() -> None:
    """The shortest one leaves hardly any time beside dispatch, and the longest one is of no more use."""
    times = Device(jittery).target()
    worst = times.worst.dispatch(1.0)
    bundle = changed(Device(jittery).bundle(1.01 * worst, 0.3), typical=times.worst)

    found = deadlines_in(bundle, "hot")

    assert (found[0], found[-1]) == (1.01 * worst, 0.3)
    assert found[-2] < 200 * US
    assert deadlines_in(changed(bundle, budgets=(0.5 * worst, 0.3)), "hot")[0] >= worst


def test_deadlines_that_the_user_asks_about_are_those_of_the_table() -> None:
    found = deadlines_in(Device(jittery).bundle(), "hot", (50 * US, 70 * US, 200 * US))

    assert found == [50 * US, 70 * US, 200 * US]


@pytest.mark.usefixtures("few_trials")
def test_outlook_of_a_slower_machine_is_worse() -> None:
    quick, slower = Device(jittery), Device(slow(jittery, 1.5))
    one, other = (
        with_chosen_times(d.bundle(60 * US, 80 * US), d.target(), d.samples(), SIZES, ALLOWED) for d in (quick, slower)
    )

    assert asked(one)[0].score > asked(other)[0].score
