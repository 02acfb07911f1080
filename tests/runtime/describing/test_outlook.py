"""What a deadline buys, and what is said about one that is too short."""

import math
from dataclasses import replace

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin, Outlook, RegimeTimes
from polydom_runtime.describing.description import outlook_text
from polydom_runtime.describing.promise_text import regimes_text
from polydom_runtime.describing.time_bounds import first_answer
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.deadline import checked_deadline, too_short, too_short_for
from polydom_runtime.prediction import Policy
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

SCORES = [0.5, 0.6, 0.8, 0.9]


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
    assert first == (("a",), *map(pytest.approx, (2 * US, 30 * US, 5 * US, 2 * US)))
    assert str(first) == "37 µs: dispatch 2 µs, a 30 µs, its model 5 µs"


def test_first_answer_is_not_before_the_deadlines_that_a_node_refuses(bundle: Bundle) -> None:
    guarded = replace(bundle.times.worst.scaled(0.01), model_ratio=0.01)
    long_tail = replace(bundle.times.worst, dispatch=bundle.times.worst.dispatch * 30.0)
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


def test_table_has_a_part_for_each_regime(bundle: Bundle) -> None:
    assert outlook_text(with_regimes(with_outlook(bundle))).splitlines() == [
        "hot, items back to back:",
        "  deadline  score   late    prior  most answers by",
        "     30 µs  0.500  0.0 %  100.0 %  (prior)",
        "     50 µs  0.520  0.1 %   99.5 %  (prior)",
        "    100 µs  0.750  0.4 %   25.0 %  b+a",
        "  the shortest deadline for more than the prior is 37 µs: dispatch 2 µs, a 30 µs, its model 5 µs",
        "  warning: deadlines up to 50 µs only get the prior",
        "rehearsed, after 20 ms asleep:",
        "  deadline  score   late    prior  most answers by",
        "     30 µs  0.500  0.0 %  100.0 %  (prior)",
        "     50 µs  0.520  0.1 %   99.5 %  (prior)",
        "    100 µs  0.750  0.4 %   25.0 %  b+a",
        "  the shortest deadline for more than the prior is 47 µs: dispatch 2 µs, a 30 µs, its model 15 µs",
        "  warning: deadlines up to 50 µs only get the prior",
        "cold, after 20 ms asleep:",
        "  deadline  score   late    prior  most answers by",
        "     30 µs  0.500  0.0 %  100.0 %  (prior)",
        "  the shortest deadline for more than the prior is 147 µs: dispatch 102 µs, a 30 µs, its model 15 µs",
        "  warning: deadlines up to 30 µs only get the prior",
    ]


def test_table_of_a_bundle_without_an_outlook_has_the_shortest_deadline(bundle: Bundle) -> None:
    assert outlook_text(bundle).splitlines() == [
        "hot, items back to back:",
        "  the shortest deadline for more than the prior is 37 µs: dispatch 2 µs, a 30 µs, its model 5 µs",
    ]
    assert "no set scores higher than the prior" in outlook_text(changed(bundle, prior=(0, 0.95)))


def test_table_of_estimated_times_says_whose_they_are(bundle: Bundle) -> None:
    measured, estimated = (changed(bundle, origin=CostOrigin("a board", estimated=e)) for e in (False, True))

    assert "a board" not in outlook_text(measured)
    assert outlook_text(estimated).splitlines()[-1] == (
        "all of this is for a board, estimated: on a slower machine, more answers are the prior"
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
