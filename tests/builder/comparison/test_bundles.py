"""The comparison of two bundles: what is added, removed, better, worse, larger and slower."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from polydom_builder.commands.compare import print_comparison
from polydom_builder.comparison.bundles import compare_bundles
from polydom_builder.comparison.comparison import ChangeLimits, Fact, SetChange, Units
from polydom_builder.exceptions import ComparisonError
from polydom_runtime import Bundle
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.device.board import memory_need
from tests.bundle_parts import changed, outlook
from tests.runtime.bundles.test_model_entry import with_two_models_of_one_set
from tests.runtime.conftest import US, make_bundle

OLD = make_bundle()[0]


def scored(bundle: Bundle, *scores: float) -> Bundle:
    models = tuple(m._replace(accuracy=a) for m, a in zip(bundle.models, scores, strict=True))
    return replace(bundle, models=models)


def without_ends(bundle: Bundle) -> Bundle:
    """Return a bundle that ships two sets only."""
    intervals = (Interval(1, 1.0, 1000.0), Interval(2, 1.0, 1000.0))
    return changed(replace(bundle, models=bundle.models[:2]), shipped=(0, 1), intervals=intervals)


def slower(times: UnitTimes, unit: str, factor: float) -> UnitTimes:
    terms = [cost * factor if name == unit else cost for name, cost in zip(times.names, times.terms, strict=True)]
    return replace(times, terms=tuple(terms))


def test_a_bundle_does_not_differ_from_itself() -> None:
    found = compare_bundles(OLD, OLD)

    assert all(before == after for before, after in found.facts.values())
    assert Units((), (), ("mean", "spread", "ends")) == found.units
    assert {1.0} == {time.growth for time in found.times}
    assert {0.0} == {answer.loss for answer in found.answers}
    assert [(row.before, row.after) for row in found.sets] == [(0.7, 0.7), (0.8, 0.8), (0.9, 0.9)]


@pytest.mark.parametrize(
    ("new", "fact", "expected"),
    [
        (replace(OLD, identity=Identity("bats", "1.2")), "version", Fact("", "1.2")),
        (replace(OLD, sha256="ab"), "sha256", Fact("", "ab")),
        (changed(OLD, classes=("no", "maybe")), "classes", Fact(["no", "yes"], ["no", "maybe"])),
        (changed(OLD, budgets=(100 * US, math.inf)), "deadlines", Fact([100 * US, 200 * US], [100 * US, None])),
        (changed(OLD, alpha=1.5), "alpha", Fact(1.0, 1.5)),
        (changed(OLD, scoring="r2"), "scoring", Fact("", "r2")),
        (changed(OLD, alpha=1.5), "promise", Fact(promise_text(OLD), promise_text(changed(OLD, alpha=1.5)))),
        (without_ends(OLD), "models", Fact(3, 2)),
    ],
    ids=["version", "sha256", "classes", "deadlines", "alpha", "scoring", "promise", "models"],
)
def test_facts_are_those_before_and_after(new: Bundle, fact: str, expected: Fact) -> None:
    assert expected == compare_bundles(OLD, new).facts[fact]


def test_sizes_are_of_all_models_and_of_the_memory_that_they_need() -> None:
    sizes = [model.size_bytes for model in OLD.models]

    facts = compare_bundles(OLD, without_ends(OLD)).facts

    assert Fact(sum(sizes), sum(sizes[:2])) == facts["model bytes"]
    assert Fact(memory_need(sizes), memory_need(sizes[:2])) == facts["memory bytes"]


def test_shipped_sets_are_added_and_removed() -> None:
    removed, added = compare_bundles(OLD, without_ends(OLD)).sets, compare_bundles(without_ends(OLD), OLD).sets

    every = ("mean", "spread", "ends")
    assert SetChange(every, 0.9, None) in removed
    assert SetChange(every, None, 0.9) in added
    assert SetChange(("mean",), 0.7, 0.7) in removed


def test_models_of_one_set_are_told_apart_by_their_estimators(capsys: pytest.CaptureFixture[str]) -> None:
    two = with_two_models_of_one_set()
    found = compare_bundles(two, scored(two, 0.7, 0.85, 0.8, 0.95))

    every = ("mean", "spread", "ends")
    assert SetChange(every, 0.85, 0.85, "lines") in found.sets
    assert SetChange(every, 0.9, 0.95, "trees") in found.sets
    assert Fact("trees", "trees") in {answer.estimators for answer in found.answers}
    units = {time.unit for time in found.times}
    assert {"answer by ends+mean+spread of lines", "answer by ends+mean+spread of trees"} <= units
    print_comparison(found)
    assert "mean+spread+ends of trees" in capsys.readouterr().out


def test_answers_are_those_of_the_index_at_each_deadline_and_size() -> None:
    answers = {(a.deadline, a.size): a for a in compare_bundles(OLD, without_ends(OLD)).answers}

    assert {100 * US, 200 * US} == {deadline for deadline, _ in answers}
    assert [1.0, pytest.approx(1000**0.5), 1000.0] == sorted({size for _, size in answers})
    row = answers[200 * US, 1.0]
    assert Fact(("mean", "spread", "ends"), ("mean", "spread")) == row.features
    assert pytest.approx(0.1) == row.loss
    assert answers[100 * US, 1000.0].loss == 0.0


WIDE = changed(OLD, budgets=(30 * US, 2000 * US), sizes=(10.0, 300.0))


def worse_between(bundle: Bundle) -> Bundle:
    """Return a bundle without the middle set: the ends of its deadlines are answered as before."""
    return changed(bundle, shipped=(0, 2), intervals=(Interval(1, 10.0, 300.0), Interval(2, 10.0, 300.0)))


@pytest.mark.parametrize(
    "new",
    [
        worse_between(WIDE),
        replace(WIDE, models=tuple(m._replace(seconds=9 * US) for m in WIDE.models)),
        scored(WIDE, 0.7, 0.72, 0.9),
    ],
    ids=["removed", "slower", "scores less"],
)
def test_a_loss_between_the_ends_is_found(new: Bundle) -> None:
    """At the shortest and the longest deadline, at three sizes, nothing is lost."""
    found = compare_bundles(WIDE, new)

    assert {0.0} == {answer.loss for answer in found.answers}
    assert found.worst is not None
    assert found.worst.loss > 0.07
    (excess, *_) = ChangeLimits(score_loss=0.005).exceeded(found)
    assert f"size {found.worst.size:g} falls by {found.worst.loss:.4g}, more than 0.005" in excess
    old, fresh = (b.index.best(found.worst.size, found.worst.deadline).accuracy for b in (WIDE, new))
    assert Fact(old, fresh) == found.worst.score


def test_a_greedy_bundle_loses_where_its_sequence_changes() -> None:
    greedy = changed(WIDE, sequences=((0, 1, 2),), shipped=(), intervals=(), median_size=10.0)
    found = compare_bundles(greedy, scored(greedy, 0.7, 0.72, 0.9))

    assert {0.0} == {answer.loss for answer in found.answers}
    assert found.worst is not None
    assert pytest.approx(0.08) == found.worst.loss


def test_replays_lose_where_plans_take_longer() -> None:
    """The worst cases, from which the index follows, are the same; what was replayed is not."""
    old, new = (changed(WIDE, outlook=(outlook(50 * US, score, 0.0, ("mean",), 0.0),)) for score in (0.8, 0.7))

    found = compare_bundles(old, new)

    assert found.worst is not None
    assert found.worst.loss == 0.0
    assert max(replay.loss for replay in found.replays) > 0.0


def test_expected_scores_are_those_of_the_tables_at_the_deadlines_that_both_have() -> None:
    old, new = (
        changed(WIDE, outlook=tuple(outlook(d * US, score, 0.0, ("mean",), 0.0) for d in deadlines))
        for score, deadlines in ((0.8, (50.0, 200.0, 400.0)), (0.7, (50.0, 100.0, 400.0)))
    )

    replays = compare_bundles(old, new).replays

    assert [(replay.deadline, *replay.score) for replay in replays] == [(50 * US, 0.8, 0.7), (400 * US, 0.8, 0.7)]


def test_times_are_compared_by_unit_kind_and_size() -> None:
    times = OLD.times
    new = replace(
        OLD, times=times._replace(worst=slower(times.worst, "spread", 2.0), typical=slower(times.typical, "half", 3.0))
    )

    grown = {(t.unit, t.kind): t.growth for t in compare_bundles(OLD, new).times if t.size == 1000.0}

    assert pytest.approx(2.0) == grown["spread", "worst case"]
    assert pytest.approx(3.0) == grown["half", "typical"]
    assert 1.0 == grown["spread", "typical"] == grown["(after)", "worst case"]
    assert 1.0 < grown["answer by mean+spread", "worst case"] < 2.0


def test_a_slower_model_shows_in_answers() -> None:
    new = replace(OLD, models=tuple(m._replace(seconds=50 * US) for m in OLD.models))

    grown = {t.unit for t in compare_bundles(OLD, new).times if t.growth > 1.0}

    assert {"answer by mean", "answer by mean+spread", "answer by ends+mean+spread"} == grown


def test_times_of_sizes_that_both_know_are_compared() -> None:
    found = compare_bundles(OLD, changed(OLD, sizes=(100.0, 5000.0)))

    assert [100.0, pytest.approx(100000**0.5), 1000.0] == sorted({time.size for time in found.times})


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (changed(OLD, names=("a", "b", "c")), r"must have a feature in common\. Got mean, spread, ends, and a, b, c"),
        (changed(OLD, sizes=(2000.0, 3000.0)), r"some of the same item sizes\. Got 1 to 1000 and 2000 to 3000"),
    ],
    ids=["features", "sizes"],
)
def test_bundles_with_nothing_in_common_are_refused(new: Bundle, message: str) -> None:
    with pytest.raises(ComparisonError, match=message):
        compare_bundles(OLD, new)


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        without_ends(OLD),
        changed(OLD, sequences=((0, 1, 2),), shipped=(), intervals=(), median_size=10.0),
        changed(OLD, models=(), shipped=(), intervals=()),
        changed(OLD, alpha=math.inf, tolerance=math.inf, budgets=(0.0, math.inf), sizes=(0.0, 5.0)),
    ],
    ids=["same", "fewer sets", "greedy", "no models", "no limits"],
)
def test_every_comparison_is_plain_json_and_text(new: Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    for found in (compare_bundles(OLD, new), compare_bundles(new, OLD), compare_bundles(new, new)):
        document: dict[str, Any] = json.loads(json.dumps(found.as_dict(), allow_nan=False))

        assert {"kind", "facts", "units", "times", "sets", "answers", "worst", "replays"} == document.keys()
        assert len(found.times) == len(document["times"])
        print_comparison(found)
        assert "features the same: mean, spread, ends\n" in capsys.readouterr().out


def test_a_report_shows_changes_and_names_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    new = changed(scored(OLD, 0.7, 0.75, 0.9), alpha=1.5)
    new = replace(new, times=new.times._replace(typical=slower(new.times.typical, "ends", 2.0)))

    print_comparison(compare_bundles(OLD, new))
    lines = capsys.readouterr().out.splitlines()

    assert "alpha: 1 -> 1.5" in lines
    assert any(line.startswith("the same: name, version,") for line in lines)
    assert " 0.800  0.750          mean+spread" in lines
    assert "  100 µs  31.6228   0.800  0.750  -0.050  mean+spread" in lines
    assert "times: 48 of 51 are the same" in lines
    assert "      1    51 µs  102 µs   2.00      -  ends, typical" in lines
