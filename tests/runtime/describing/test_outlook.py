"""What a deadline buys, and what is said about one that is too short."""

import math
from dataclasses import replace

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice, CostOrigin, Outlook, RegimeTimes
from polydom_runtime.describing.outlook_table import outlook_table, outlook_text, shortcomings
from polydom_runtime.describing.promise_text import regimes_text
from polydom_runtime.describing.time_bounds import first_answer
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.deadline import checked_deadline, too_short, too_short_for
from polydom_runtime.prediction import Policy
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

SCORES = [0.5, 0.6, 0.8, 0.9]

SHORTEST = "the shortest deadline for more than the prior, with the smallest items, is"
TOO_LARGE = "99 % or more of the items are too large to get more than the prior"


@pytest.fixture
def bundle() -> Bundle:
    """Two features of 20 and 40 µs, each with a step of 10 µs; dispatch 2 µs, models 5 µs."""
    costs = [microseconds(20.0), microseconds(40.0)]
    return lattice_bundle(SCORES, costs, step=(0b11, microseconds(10.0)), budgets=(30 * US, 200 * US))


def with_outlook(bundle: Bundle) -> Bundle:
    rows = (
        Outlook(30 * US, 0.5, 1.0, (), 0.0),
        Outlook(50 * US, 0.52, 0.995, (), 0.001),
        Outlook(100 * US, 0.75, 0.25, ("b", "a"), 0.004),
    )
    return changed(bundle, outlook=rows)


def with_regimes(bundle: Bundle, cold: float = 0.02) -> Bundle:
    slower = bundle.times.plus_dispatch(microseconds(100.0))._replace(outlook=bundle.times.outlook[:1])
    models = tuple(m.seconds + 10 * US for m in bundle.models)
    return replace(
        bundle,
        regimes={"rehearsed": RegimeTimes(bundle.times, models, 0.02), "cold": RegimeTimes(slower, models, cold)},
    )


@pytest.mark.parametrize("deadline", [36.9, 37.1])
def test_first_answer_is_the_shortest_deadline_at_which_the_node_uses_a_feature(
    bundle: Bundle, deadline: float
) -> None:
    """Dispatch 2, step 10, feature 20, model 5 µs."""
    answer = LatticeWorld(bundle).predictor(deadline * US).predict_one(1.0)

    assert bool(answer.features) == (deadline > 37.0)
    first = first_answer(bundle)
    assert first is not None
    assert first == (("a",), *map(pytest.approx, (2 * US, 0.0, 30 * US, 5 * US, 2 * US)))
    assert str(first) == "37 µs: dispatch 2 µs, a 30 µs, its model 5 µs"


def test_first_answer_is_not_before_the_deadlines_that_a_node_refuses(bundle: Bundle) -> None:
    guarded = replace(bundle.times.worst.scaled(0.01), model_ratio=0.01)
    long_tail = replace(bundle.times.worst, after=microseconds(59.0))
    refused = changed(bundle, planned=guarded, guarded=guarded, worst=long_tail)
    first = first_answer(refused)

    assert first is not None
    assert first.seconds == pytest.approx(60 * US)
    assert str(first) == "60 µs: shorter ones are refused, dispatch alone may take as long"
    assert not too_short(refused, first.seconds)
    assert too_short(refused, 0.99 * first.seconds)


def test_first_answer_uses_guarded_times_where_they_are_less(bundle: Bundle) -> None:
    guarded = replace(bundle.times.worst.scaled(0.5), model_ratio=0.4)
    first = first_answer(changed(bundle, planned=guarded, guarded=guarded))

    assert first is not None
    assert first.seconds == pytest.approx((1 + 15 + 2) * US)


@pytest.mark.parametrize("policy", ["anytime", "strict"])
def test_first_answer_is_given_although_single_units_have_long_tails(bundle: Bundle, policy: Policy) -> None:
    """The worst case of the sum is enough, also for the part of dispatch that follows the model."""
    tails = changed(bundle, planned=bundle.times.worst, guarded=bundle.times.worst.scaled(10.0))
    first = first_answer(tails)

    assert first is not None
    answer = LatticeWorld(tails).predictor(first.seconds + 0.1 * US, policy=policy).predict_one(1.0)
    assert (answer.features, answer.deadline_met) == (("a",), True)


def test_first_answer_after_a_sleep_is_later(bundle: Bundle) -> None:
    first = first_answer(with_regimes(bundle), "cold")

    assert first is not None
    assert first.seconds == pytest.approx((37 + 100 + 10) * US)


def test_sets_that_are_no_better_than_the_prior_are_no_answer(bundle: Bundle) -> None:
    modest = first_answer(changed(bundle, prior=(0, 0.7)))

    assert modest is not None
    assert modest.features == ("b",)
    assert first_answer(changed(bundle, prior=(0, 0.95))) is None


def test_first_answer_of_a_bundle_with_costs_of_sets_takes_these(bundle: Bundle) -> None:
    models = tuple(m._replace(cost=microseconds(60.0)) for m in bundle.models)
    first = first_answer(replace(bundle, models=models))

    assert first is not None
    assert (first.seconds, first.feature) == pytest.approx((60 * US, 53 * US))


def test_first_answer_is_by_the_times_that_are_guarded_at_its_own_deadline(bundle: Bundle) -> None:
    """At 30 µs 55.5 µs are needed, from 60 µs on 37 µs, and in between there is a deadline that is just enough."""
    worst, short = bundle.times.worst, replace(bundle.times.worst.scaled(1.5), model_ratio=1.5)
    choices = Choice(30 * US, short, short), Choice(60 * US, worst, worst)
    guarded = changed(bundle, worst=worst.scaled(4.0), choices=choices)

    first = first_answer(guarded)

    assert first is not None
    again = guarded.at(first.seconds).times.guarded
    assert first.seconds == pytest.approx(again.of_set(1)(1.0) + 5 * US * again.model_ratio, rel=0.01)
    assert 37 * US < first.seconds < 55 * US


def test_table_names_the_regime_and_the_promise_on_each_line(bundle: Bundle) -> None:
    assert outlook_text(with_regimes(with_outlook(changed(bundle, late=0.003)))).splitlines() == [
        "expected answers hot (items back to back), rehearsed (after 20 ms asleep), cold (after 20 ms asleep):",
        "  regime     deadline  score   late  promised   prior  most answers by",
        "  hot           30 µs  0.500    0 %   ≤ 0.3 %   100 %  (prior)",
        "  hot           50 µs  0.520  0.1 %   ≤ 0.3 %  99.5 %  (prior)",
        "  hot          100 µs  0.750  0.4 %   ≤ 0.3 %    25 %  b+a",
        "  rehearsed     30 µs  0.500    0 %   ≤ 0.3 %   100 %  (prior)",
        "  rehearsed     50 µs  0.520  0.1 %   ≤ 0.3 %  99.5 %  (prior)",
        "  rehearsed    100 µs  0.750  0.4 %   ≤ 0.3 %    25 %  b+a",
        "  cold          30 µs  0.500    0 %   ≤ 0.3 %   100 %  (prior)",
        "  pauses of the machine, which no plan avoids, are not among these answers",
        f"  hot: {SHORTEST} 37 µs: dispatch 2 µs, a 30 µs, its model 5 µs",
        f"  warning: hot: at deadlines up to 50 µs, {TOO_LARGE}",
        "  warning: hot: the replays were late more often than the promised 0.3 %: 0.4 % at 100 µs",
        f"  rehearsed: {SHORTEST} 47 µs: dispatch 2 µs, a 30 µs, its model 15 µs",
        f"  warning: rehearsed: at deadlines up to 50 µs, {TOO_LARGE}",
        "  warning: rehearsed: the replays were late more often than the promised 0.3 %: 0.4 % at 100 µs",
        f"  cold: {SHORTEST} 147 µs: dispatch 102 µs, a 30 µs, its model 15 µs",
        f"  warning: cold: at deadlines up to 30 µs, {TOO_LARGE}",
    ]


def test_table_of_a_bundle_without_an_outlook_has_the_shortest_deadline(bundle: Bundle) -> None:
    assert outlook_text(bundle).splitlines() == [
        "expected answers hot (items back to back):",
        f"  hot: {SHORTEST} 37 µs: dispatch 2 µs, a 30 µs, its model 5 µs",
    ]
    assert "hot: no set scores higher than the prior" in outlook_text(changed(bundle, prior=(0, 0.95)))


def test_deadline_of_ones_own_has_a_line_between_those_that_were_replayed(bundle: Bundle) -> None:
    told = with_outlook(bundle)
    known = outlook_table(told).rows

    asked = [outlook_table(told, deadline * US).rows for deadline in (20.0, 50.0, 70.71067811865476, 300.0)]

    assert [len(rows) for rows in asked] == [3, 3, 4, 4]
    assert asked[0] == asked[1] == known
    assert asked[2][2] == ("hot", "70.7 µs", "0.635", "0.25 %", "≤ 1 %", "62 %", "(between the lines beside it)")
    assert asked[3][3] == ("hot", "300 µs", "0.750", "0.4 %", "≤ 1 %", "25 %", "(as the line before)")


def test_shortest_deadline_does_not_contradict_a_line_with_answers_before_it(bundle: Bundle) -> None:
    """Units that are quicker than guarded leave time for a set at a shorter deadline."""
    early = changed(bundle, outlook=(Outlook(32 * US, 0.52, 0.7, ("a",), 0.0),))

    assert "its model 5 µs; below, answers get more only where units are quicker than that" in outlook_text(early)


def test_deadlines_that_are_of_no_use_are_those_before_the_first_one_of_use(bundle: Bundle) -> None:
    """A longer deadline may be planned more carefully, and get the prior again."""
    rows = with_outlook(bundle).times.outlook
    again = Outlook(150 * US, 0.5, 1.0, (), 0.0)

    assert [*shortcomings("hot", (*rows, again), 0.01)] == [f"hot: at deadlines up to 50 µs, {TOO_LARGE}"]
    assert [*shortcomings("cold", rows[2:], 0.003)] == [
        "cold: the replays were late more often than the promised 0.3 %: 0.4 % at 100 µs"
    ]


def test_table_of_estimated_times_says_whose_they_are(bundle: Bundle) -> None:
    measured, estimated = (changed(bundle, origin=CostOrigin("a board", estimated=e)) for e in (False, True))

    assert "a board" not in outlook_text(measured)
    assert outlook_text(estimated).splitlines()[-1] == (
        "  all of this is for a board, estimated: on a slower machine, more answers are the prior"
    )


def test_regimes_are_told_with_their_sleep(bundle: Bundle) -> None:
    measured = changed(bundle, origin=CostOrigin("a board"))

    assert regimes_text(with_regimes(bundle)) == "hot; rehearsed and cold after 20 ms asleep"
    assert regimes_text(with_regimes(bundle, 0.05)) == "hot; rehearsed after 20 ms asleep, cold after 50 ms asleep"
    assert regimes_text(measured) == "hot; cold was never measured: measure again with this version"
    assert regimes_text(bundle) == "hot; cold was never measured"
    one = with_regimes(bundle)
    assert regimes_text(replace(one, regimes={"cold": one.regimes["cold"]})) == (
        "hot; cold after 20 ms asleep; rehearsed was never measured"
    )


def test_too_short_deadline_says_typical_worst_and_what_to_do() -> None:
    bundle, _ = make_bundle()
    bundle = changed(bundle, typical=bundle.times.worst.scaled(0.25), planned=bundle.times.worst)

    assert too_short(bundle, 1.0 * US) == ""
    assert too_short(bundle, 0.5 * US) == (
        "The deadline must be at least 1 µs, the worst case of dispatch alone, which typically takes 250 ns. "
        "Got 500 ns. Choose a longer one, measure again while the machine is idle, or promise a smaller share of "
        "answers in time."
    )
    assert too_short(bundle, 0.1 * US).endswith("Got 100 ns. Choose a longer one.")
    with pytest.raises(DeadlineError, match="which typically takes 250 ns"):
        checked_deadline(bundle, 0.5 * US)


def test_long_deadline_is_questioned_unless_the_bundle_was_built_for_it() -> None:
    bundle, _ = make_bundle()
    general, long = changed(bundle, budgets=(0.0, math.inf)), changed(bundle, budgets=(1.0, 60.0))

    with pytest.warns(UserWarning, match=r"built for deadlines.*Are 60 s meant, and not 60 ms\?"):
        checked_deadline(bundle, 60)
    with pytest.warns(UserWarning, match=r"^The deadline is unusually long. Are 60 s meant, and not 60 ms\?"):
        checked_deadline(general, 60)
    assert [checked_deadline(long, 60), checked_deadline(long, None), checked_deadline(general, 59)] == [60, 60, 59]


def test_too_short_deadline_may_have_another_remedy() -> None:
    assert too_short_for("all", 1e-3, typical=2e-3, worst=3e-3, or_else="a quicker estimator") == (
        "The deadline must be at least 3 ms, the worst case of all, which typically takes 2 ms. Got 1 ms. "
        "Choose a longer one or a quicker estimator."
    )
