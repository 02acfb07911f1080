"""Explanations of answers, on a virtual clock: the parts of an answer, and the sets that did not fit."""

import json
import math
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor, Seams
from polydom_runtime.__main__ import main
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.explaining.explanation import Explanation, with_alternatives
from polydom_runtime.items.packing import write_packed
from polydom_runtime.records.flight_file import load_flight
from polydom_runtime.records.recorder import FlightRecorder
from tests.runtime.conftest import US, World

SPACE = "tests.runtime.node_space:space"
ITEM = np.ones(50)


def predictor_of(folder: Path, world: World, deadline: float, **options: Any) -> Predictor:
    return Predictor(load_bundle(folder), world.space, deadline=deadline, seams=Seams(clock=world.clock), **options)


def explain(folder: Path, world: World, deadline: float, item: Any = ITEM, **options: Any) -> Explanation:
    return predictor_of(folder, world, deadline, **options).explain(item)


def test_parts_of_an_answer_are_told_with_the_time_left(bundle_folder: Path, world: World) -> None:
    found = explain(bundle_folder, world, 100 * US)

    assert found.size == 50.0
    assert found.planned == ("mean", "spread")
    assert [(w.name, w.left_ns, w.took_ns) for w in found.work] == [
        ("mean", 100_000, 12_000),  # with the shared step
        ("spread", 88_000, 20_000),
        ("", 68_000, 0),
    ]
    assert [w.worst_ns for w in found.work] == pytest.approx([12_000, 25_000, 5_000], abs=1)
    assert (found.answer.features, found.answer.reason) == (("mean", "spread"), "planned")


@pytest.mark.parametrize("policy", ["anytime", "strict"])
def test_sets_that_did_not_fit_are_told_with_the_time_that_they_lack(
    policy: Any, bundle_folder: Path, world: World
) -> None:
    found = explain(bundle_folder, world, 100 * US, policy=policy)

    (better,) = found.better
    assert better.features == ("mean", "spread", "ends")
    # At size 50: 12 + 25 + 100, the model 5 and dispatch 1 µs.
    assert (better.needs_ns, better.lacks_ns) == pytest.approx((143_000, 43_000), abs=2)
    (cheaper,) = found.cheaper
    assert cheaper.features == ("mean",)
    assert (cheaper.needs_ns, cheaper.lacks_ns) == pytest.approx((18_000, -82_000), abs=2)


def test_the_best_set_has_no_better_one_and_the_nearest_cheaper_one_comes_first(
    bundle_folder: Path, world: World
) -> None:
    found = explain(bundle_folder, world, 200 * US)

    assert found.better == ()
    assert [one.accuracy for one in found.cheaper] == [0.8, 0.7]


def test_set_that_was_given_up_is_told_to_have_fitted(bundle_folder: Path, world: World) -> None:
    world.seconds["mean"] = 70 * US

    found = explain(bundle_folder, world, 100 * US)
    assert found.answer.reason == "no time for spread"
    assert found.planned == ("mean", "spread")
    assert [one.lacks_ns > 0 for one in found.better] == [False, True]
    assert "57 µs to spare" in str(found)


def test_time_before_the_call_is_lost(bundle_folder: Path, world: World) -> None:
    predictor = predictor_of(bundle_folder, world, 100 * US)
    answer = predictor.predict_one(ITEM, arrived_ns=world.clock() - 40_000)

    found = Explanation.of(answer, predictor.trace, predictor.bundle.names, 100_000)
    assert found.work[0].left_ns == 60_000
    assert found.planned is None
    assert "the item had waited 40 µs at the call" in str(found)


def test_sets_lack_the_time_in_which_the_item_waited_too(bundle_folder: Path, world: World) -> None:
    predictor = predictor_of(bundle_folder, world, 100 * US)
    answer = predictor.predict_one(ITEM, arrived_ns=world.clock() - 40_000)
    found = Explanation.of(answer, predictor.trace, predictor.bundle.names, 100_000)

    told = with_alternatives(found, predictor.bundle, "anytime")
    assert told.better
    assert {one.needs_ns - one.lacks_ns for one in (*told.better, *told.cheaper)} == {60_000}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (400 * US, "late by any plan: the machine paused while mean was computed, which took 402 µs"),
        (150 * US, None),  # twelve times as long as usual: work
    ],
)
def test_pause_that_made_an_answer_late_is_told_as_the_promise_counts_it(
    seconds: float, said: str | None, bundle_folder: Path, world: World, tmp_path: Path
) -> None:
    predictor = predictor_of(bundle_folder, world, 100 * US)
    world.seconds["mean"] = seconds

    with closing(FlightRecorder(tmp_path / "node.flight", predictor, 4)) as recorder:
        found = predictor.explain(ITEM)
        recorder.add(found.answer, predictor.trace, 0)
    (record,) = load_flight(tmp_path / "node.flight").records
    lines = [line for line in str(found).splitlines() if line.startswith("late by")]
    assert not found.answer.deadline_met
    assert (predictor.margin.paused, found.paused, record.paused) == (int(said is not None),) * 3
    assert lines == ([] if said is None else [said])


def test_item_that_had_waited_for_too_long_is_told_to_be_late_by_any_plan(
    bundle_folder: Path, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predictor = predictor_of(bundle_folder, world, 100 * US)
    with closing(FlightRecorder(tmp_path / "node.flight", predictor, 4)) as recorder:
        recorder.add(predictor.predict_one(ITEM, arrived_ns=world.clock() - 140_000), predictor.trace, 0)

    assert main(["flight", str(tmp_path / "node.flight"), "--explain", "0"]) == 0
    assert "late by any plan: the item had waited for 140 µs when it came to the node\n" in capsys.readouterr().out


def test_item_without_a_size_has_an_explanation(bundle_folder: Path, world: World) -> None:
    found = explain(bundle_folder, world, 100 * US, item=3)

    assert math.isnan(found.size)
    assert (found.planned, found.better, found.cheaper) == ((), (), ())
    assert "error: size: TypeError" in str(found)


def test_answer_counts_as_any_other(bundle_folder: Path, world: World) -> None:
    world.results["mean"] = ValueError("no sound")
    predictor = predictor_of(bundle_folder, world, 100 * US)

    assert predictor.explain(ITEM).answer.error == "mean: ValueError: no sound"
    assert predictor.failures == {"mean": 1}


@pytest.fixture
def flight(bundle_folder: Path, world: World, tmp_path: Path) -> Path:
    predictor = predictor_of(bundle_folder, world, 100 * US)
    recorder = FlightRecorder(tmp_path / "node.flight", predictor, 4)
    for number in range(3):
        recorder.add(predictor.predict_one(ITEM), predictor.trace, number)
    recorder.close()
    return tmp_path / "node.flight"


def test_recorded_answer_is_explained_as_it_was_when_it_was_given(
    flight: Path, bundle_folder: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    live = explain(bundle_folder, world, 100 * US)
    assert main(["flight", str(flight), "--explain", "1", "--bundle", str(bundle_folder), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)["result"]
    assert found["record"] == 2
    assert found["planned"] is None
    assert found["answer"]["label"] == live.answer.label
    assert found["answer"]["accuracy"] == live.answer.accuracy
    assert [w["left_ns"] for w in found["work"]] == [w.left_ns for w in live.work]
    assert [w["worst_ns"] for w in found["work"]] == [w.worst_ns for w in live.work]
    assert [one["lacks_ns"] for one in found["better"]] == [one.lacks_ns for one in live.better]


def test_recorded_answer_is_explained_without_its_bundle(flight: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flight", str(flight), "--explain", "2"]) == 0

    said = capsys.readouterr().out
    assert "record 3 of the flight recording" in said
    assert "sets that" not in said
    assert main(["flight", str(flight), "--explain", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["answer"]["accuracy"] is None


def test_margin_of_a_recorded_answer_is_told(
    bundle_folder: Path, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predictor = predictor_of(bundle_folder, world, 100 * US)
    predictor.margin.value = 1.25
    with closing(FlightRecorder(tmp_path / "node.flight", predictor, 4)) as recorder:
        recorder.add(predictor.predict_one(ITEM), predictor.trace, 0)
    assert main(["flight", str(tmp_path / "node.flight"), "--explain", "0"]) == 0

    assert "slow-down 1.25, of which margin 1.25\n" in capsys.readouterr().out


def test_item_that_was_not_recorded_is_refused(flight: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flight", str(flight), "--explain", "3"]) == 2
    assert "which has 0 to 2. Got 3" in capsys.readouterr().err


def test_other_bundle_is_refused(flight: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = Path(__file__).parents[2] / "golden" / "format_1.bundle"
    assert main(["flight", str(flight), "--explain", "1", "--bundle", str(other)]) == 2
    assert "must be that of the recording" in capsys.readouterr().err


def test_command_explains_an_item_of_a_file(
    bundle_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_packed(tmp_path / "items.npz", [np.ones(5), np.ones(7)])
    command = ["explain", str(bundle_folder), SPACE, "--deadline", "200us", "--item"]
    assert main([*command, f"{tmp_path / 'items.npz'}#1"]) == 0
    assert capsys.readouterr().out.startswith("size 7, deadline 200 µs")
    assert main([*command, f"{tmp_path / 'items.npz'}#1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["size"] == 7.0


@pytest.mark.parametrize(("item", "said"), [("items.npz", "ITEMS#i"), ("items.npz#2", "more than 2 items")])
def test_items_that_are_none_are_refused(
    item: str, said: str, bundle_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_packed(tmp_path / "items.npz", [np.ones(5), np.ones(7)])
    assert main(["explain", str(bundle_folder), SPACE, "--item", str(tmp_path / item)]) == 2
    assert said in capsys.readouterr().err
