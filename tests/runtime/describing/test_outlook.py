"""What a deadline buys, and what is said about one that is too short."""

import math
from dataclasses import replace

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin, RegimeTimes
from polydom_runtime.describing.outlook_table import MEANING, outlook_table, shortcomings
from polydom_runtime.describing.promise_text import regimes_text
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.deadline import checked_deadline, too_short, too_short_for
from tests.bundle_parts import changed, outlook
from tests.runtime.conftest import make_bundle
from tests.runtime.lattice_world import US, lattice_bundle, microseconds

SCORES = [0.5, 0.6, 0.8, 0.9]

SHORTEST = "the shortest deadline for more than the prior"
ONLY = "99 % or more of the answers are only the prior"


@pytest.fixture
def bundle() -> Bundle:
    """Two features of 20 and 40 µs, each with a step of 10 µs; dispatch 2 µs, models 5 µs."""
    costs = [microseconds(20.0), microseconds(40.0)]
    return lattice_bundle(SCORES, costs, step=(0b11, microseconds(10.0)), budgets=(30 * US, 200 * US))


def with_outlook(bundle: Bundle) -> Bundle:
    rows = (
        outlook(30 * US, 0.5, 1.0, (), 0.0),
        outlook(50 * US, 0.52, 0.995, (), 0.001),
        outlook(100 * US, 0.75, 0.25, ("b", "a"), 0.004)._replace(score_alone=0.753, late_alone=0.001),
    )
    return changed(bundle, outlook=rows)


def with_regimes(bundle: Bundle, cold: float = 0.02) -> Bundle:
    slower = bundle.times.plus_dispatch(microseconds(100.0))._replace(outlook=bundle.times.outlook[:1])
    models = tuple(m.seconds + 10 * US for m in bundle.models)
    return replace(
        bundle,
        regimes={"rehearsed": RegimeTimes(bundle.times, models, 0.02), "cold": RegimeTimes(slower, models, cold)},
    )


def lines(bundle: Bundle) -> list[str]:
    return outlook_table(bundle).lines("  ")


def test_table_has_the_machine_as_measured_and_alone_and_the_promise(bundle: Bundle) -> None:
    assert lines(with_regimes(with_outlook(changed(bundle, late=0.003)))) == [
        "expected answers hot (items back to back), rehearsed (after 20 ms asleep), cold (after 20 ms asleep); "
        "promised is at most 0.3 % late:",
        "  regime     deadline  score   late  score alone  late alone   prior  most answers by",
        "  hot           30 µs  0.500    0 %        0.500         0 %   100 %  (prior)",
        "  hot           50 µs  0.520  0.1 %        0.520       0.1 %  99.5 %  (prior)",
        "  hot          100 µs  0.750  0.4 %        0.753       0.1 %    25 %  b+a",
        "  rehearsed     30 µs  0.500    0 %        0.500         0 %   100 %  (prior)",
        "  rehearsed     50 µs  0.520  0.1 %        0.520       0.1 %  99.5 %  (prior)",
        "  rehearsed    100 µs  0.750  0.4 %        0.753       0.1 %    25 %  b+a",
        "  cold          30 µs  0.500    0 %        0.500         0 %   100 %  (prior)",
        f"  {MEANING}",
        f"  hot: {SHORTEST}: 100 µs",
        f"  warning: hot: at deadlines up to 50 µs, {ONLY}",
        "  warning: hot: more answers are late than the promised 0.3 %: 0.4 % at 100 µs",
        f"  rehearsed: {SHORTEST}: 100 µs",
        f"  warning: rehearsed: at deadlines up to 50 µs, {ONLY}",
        "  warning: rehearsed: more answers are late than the promised 0.3 %: 0.4 % at 100 µs",
        f"  cold: {SHORTEST}: none: no deadline gives more than the prior",
        f"  warning: cold: at deadlines up to 30 µs, {ONLY}",
    ]


def test_table_of_a_bundle_without_an_outlook_says_so(bundle: Bundle) -> None:
    assert lines(bundle) == [
        "expected answers hot (items back to back); promised is at most 1 % late:",
        f"  hot: {SHORTEST}: not replayed",
    ]


def test_few_recorded_answers_are_said_where_they_cannot_tell_the_promise(bundle: Bundle) -> None:
    """With 95 % confidence, none late of 53 may be 5.5 %."""
    few, enough = (changed(bundle, outlook=(outlook(30 * US, 0.7, 0.0, ("a",), 0.0, n),)) for n in (53, 300))

    said = "hot: 53 answers were recorded, too few to tell 1 % late from none: where none was, up to 5.5 % may be"
    assert [said in line for line in lines(few)].count(True) == 1
    assert "recorded" not in "".join(lines(enough))


def test_deadlines_below_the_range_are_said_and_are_no_shortcoming(bundle: Bundle) -> None:
    below = outlook(15 * US, 0.4, 1.0, (), 0.5), outlook(30 * US, 0.7, 0.0, ("a",), 0.0)

    said = lines(changed(bundle, outlook=below))

    assert said[-2:] == [
        "  the bundle was built for deadlines from 30 µs: below, it may lack good models",
        f"  hot: {SHORTEST}: 30 µs",
    ]


def test_deadline_that_was_not_replayed_has_what_the_lines_beside_it_hold(bundle: Bundle) -> None:
    told = with_outlook(bundle)
    known = outlook_table(told).rows

    asked = [outlook_table(told, deadline * US).rows for deadline in (20.0, 50.0, 70.0, 300.0)]

    assert [len(rows) for rows in asked] == [3, 3, 4, 4]
    assert asked[0] == asked[1] == known
    beside = "0.520 to 0.750", "0.1 % to 0.4 %", "0.520 to 0.753", "0.1 %", "99.5 % to 25 %"
    assert asked[2][2] == ("hot", "70 µs", *beside, "(between the lines beside it)")
    assert asked[3][3] == ("hot", "300 µs", *known[-1][2:-1], "(as the line before)")


def test_deadlines_that_are_of_no_use_are_those_before_the_first_one_of_use(bundle: Bundle) -> None:
    """A longer deadline may be planned more carefully, and get the prior again."""
    rows, promise = with_outlook(bundle).times.outlook, bundle.promise
    again = outlook(150 * US, 0.5, 1.0, (), 0.0)

    assert [*shortcomings("hot", (*rows, again), promise)] == [f"hot: at deadlines up to 50 µs, {ONLY}"]
    assert [*shortcomings("cold", rows[2:], promise._replace(late=0.003))] == [
        "cold: more answers are late than the promised 0.3 %: 0.4 % at 100 µs"
    ]


def test_table_of_estimated_times_says_whose_they_are(bundle: Bundle) -> None:
    measured, estimated = (changed(bundle, origin=CostOrigin("a board", estimated=e)) for e in (False, True))

    assert "a board" not in "".join(lines(measured))
    assert lines(estimated)[-1] == (
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

    assert too_short(bundle, 0.5 * US) == ""
    assert too_short(bundle, 0.2 * US) == (
        "The deadline must be at least 250 ns, which dispatch alone typically takes (1 µs at worst). Got 200 ns. "
        "Choose a longer one."
    )
    with pytest.raises(DeadlineError, match="at least 250 ns"):
        checked_deadline(bundle, 0.2 * US)


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
