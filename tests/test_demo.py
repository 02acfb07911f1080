"""The demo, small: real pictures, a bundle, and a node of its own for two deadlines."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder.__main__ import main
from polydom_builder.commands.demo import DemoLoop, Looped, run_demo, run_loop, stated_in_loop, write_loop_items
from polydom_builder.commands.demo_report import (
    Demonstrated,
    detail_tables,
    kept_promises,
    knee_lines,
    main_table,
    print_results,
)
from polydom_builder.commands.estimator import default_estimator
from polydom_builder.evaluation.baselines import best_single_set
from polydom_builder.evaluation.predictions import Node
from polydom_builder.exceptions import ExportError
from polydom_builder.search import PolyDomSearch
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.costs import CostFunction
from polydom_runtime.describing.kept_promise import KeptPromise
from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.packed import read_packed
from tests.builder import task
from tests.bundle_parts import bundle_of, outlook, with_regimes
from tests.runtime.commands.test_node_command import node_python

SURFACE = Path(__file__).parents[1] / "examples" / "surface"


RESULT: dict[str, Any] = {
    "deadline": 0.0006,
    "stated": 0.91,
    "accuracy": 0.9,
    "single": 0.8,
    "cheap_first": 0.85,
    "elapsed_share": {"p50": 0.5, "p99": 0.8, "max": 0.9},
    "promised": 0.01,
    "missed": 0,
    "items": 1500,
    "features": {"level": 1500},
    "misses": {"reasons": {}, "elapsed_share": {}},
}
LOOP: dict[str, Any] = {
    "period": 0.02,
    "items": 250,
    "late": 3,
    "paused": 1,
    "stated": 0.89,
    "in_time": 0.9,
    "at_once": 0.91,
    "rehearsing": 0.043,
}


def bundle(*notes: str) -> Bundle:
    rows = outlook(3e-4, 0.55, 1.0, (), 0.0), outlook(6e-4, 0.9, 0.0, ("level",), 0.001)
    origin, budgets = CostOrigin(notes=notes), (6e-4, 6e-4)
    made = bundle_of(names=["level"], costs=[CostFunction.of(1e-6)], outlook=rows, origin=origin, budgets=budgets)
    return with_regimes(made, rehearsed=1e-6, cold=1e-3)


def details(*results: dict[str, Any]) -> str:
    found = Demonstrated(bundle(), 20, results)
    return "\n".join(line for table in detail_tables(found) for line in table.lines())


def demo(out: Path, **changes: Any) -> Demonstrated:
    arguments: dict[str, Any] = {
        "example": SURFACE,
        "node": node_python(),
        "out": out,
        "estimator": default_estimator(),
        "deadlines": (1.0, 100.0),  # so long that costs fit that are measured on a busy machine
        "n_jobs": None,
        "count": 60,
        "loop": DemoLoop(period=1.5, items=3),
    }
    return run_demo(**(arguments | changes))


@pytest.mark.end_to_end
def test_demo_measures_builds_and_answers_on_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = demo(tmp_path)
    print_results(found, tmp_path)

    results = found.results
    assert [r["deadline"] for r in results] == pytest.approx([1.0, 100.0])
    for r in results:
        assert r["items"] == 60
        assert sum(r["features"].values()) == 60
        assert all(1 / 6 < r[system] <= 1 for system in ("accuracy", "single", "cheap_first"))
    assert json.loads((tmp_path / "results.json").read_text()) == results
    assert (tmp_path / "accuracy.png").read_bytes()[:4] == b"\x89PNG"
    assert load_bundle(tmp_path / "surface.bundle").stored.shipped
    assert (results[0]["loop"]["period"], results[0]["loop"]["items"]) == (1.5, 3)
    assert "loop" not in results[1]  # its deadline is longer than the period
    printed = capsys.readouterr().out
    assert printed.startswith("This takes about two minutes")
    assert f"Trained: {found.n_trained} of 4,096 possible feature sets" in printed
    assert "in the loop: a patch comes every 1.5 s" in printed


def test_missing_example_is_said(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="clone of the repository"):
        demo(tmp_path, example=tmp_path)


def test_best_single_set_fits_the_largest_item_and_no_other_such_set_is_better() -> None:
    search = PolyDomSearch(default_estimator(), task.space, deadline=(1e-4, 4e-4), cv=3)
    search.fit(*task.items(120), costs=task.costs)
    largest = search.region_.sizes[1]
    scores = dict(zip(range(32), search.trainer_.scores(range(32)), strict=True))
    search.tolerance_ = max(scores[a] - scores[b] for a in scores for b in scores if a & b == a)

    for deadline in (1e-4, 2e-4, 4e-4):
        mask = sum(1 << i for i in best_single_set(search, deadline))
        fitting = [m for m in scores if m == 0 or search.set_costs_(m)(largest) <= deadline]
        assert mask in fitting
        assert scores[mask] == max(scores[m] for m in fitting)


def test_node_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="bundle folder"):
        Node(node_python(), SURFACE, tmp_path / "absent", "surface:space").run("test.npz", 0.01)


def test_each_deadline_has_one_row_with_what_was_stated_and_measured() -> None:
    table = main_table([{**RESULT, "missed": 2, "loop": LOOP}, {**RESULT, "deadline": 0.03, "stated": None}])

    assert table.rows == [
        ("600 µs", "0.910", "0.900", "2 of 1,500", "0.890", "0.900", "3 of 250"),
        ("30 ms", "-", "0.900", "0 of 1,500", "-", "-", "-"),
    ]
    assert table.notes[1:] == [
        "in the loop: a patch comes every 20 ms; the node sleeps until then",
        "by chance alone, a share may be too high or too low by 0.015 with 1,500 patches and 0.037 with 250 patches",
    ]


def test_the_promise_is_told_for_all_deadlines_and_those_at_which_it_was_not_kept_are_named() -> None:
    results = [{**RESULT, "loop": LOOP}, {**RESULT, "deadline": 0.001, "missed": 16}]

    assert [*kept_promises(results)] == [
        "Back to back: The promise was kept: 16 of 3,000 answers were late, 0.53 %; promised is at most 1 %. "
        "One by one, it was not kept at 1 ms.",
        f"In the loop: {KeptPromise(3, 250, 0.01, 1)} One by one, it was not kept at 600 µs.",
    ]
    assert [*kept_promises([RESULT])] == [f"Back to back: {KeptPromise(0, 1500, 0.01)}"]


def test_the_knee_is_told_back_to_back_and_rehearsed_with_the_words_that_it_uses() -> None:
    lines = knee_lines(bundle())

    assert [line.split(":")[0] for line in lines if not line.startswith("  ")] == [
        "Which deadline? The knee is the shortest one with 95 % of what the best one gains",
        *("hot", "rehearsed", "hot", "rehearsed", "prior"),
    ]
    assert "hot: 600 µs is the knee: score 0.900; 0.1 % late (at most 1 % is promised)." in lines
    assert "  Half of it, 300 µs: score 0.550, 0.350 less." in lines


def test_a_bundle_whose_deadlines_give_only_the_prior_has_no_knee() -> None:
    told = knee_lines(bundle_of(names=["level"], costs=[CostFunction.of(1.0)]))

    assert told[0] == "No deadline that was tried gives more than the prior."
    assert told[1].startswith("prior: ")


def test_the_loop_has_the_score_that_is_stated_after_a_sleep_and_a_rehearsal() -> None:
    assert [stated_in_loop(bundle(), deadline) for deadline in (6e-4, 1e-3)] == [0.9, None]
    assert stated_in_loop(bundle_of(names=["level"], costs=[CostFunction.of(1e-6)]), 6e-4) is None


def test_results_tell_that_the_machine_was_busy_and_how_to_measure_again(capsys: pytest.CaptureFixture[str]) -> None:
    busy = "the machine was busy: the measurement got 70 % of a processor"

    print_results(Demonstrated(bundle(busy, "pauses"), 20, [RESULT]), Path("out"))

    assert capsys.readouterr().out.splitlines()[:4] == [
        f"warning: {busy}",
        "To measure again while nothing else runs, give --out another folder.",
        "warning: pauses",
        "Trained: 20 of 2 possible feature sets; the bundle has 0 models.",
    ]


def test_details_have_simpler_methods_loops_and_the_whole_table_of_the_bundle() -> None:
    printed = details({**RESULT, "loop": LOOP})

    assert "  600 µs     0.900        0.800        0.850  0.50  0.80  0.90  0/1500" in printed
    assert "  600 µs        0.900               0.910                     4.3 %" in printed
    assert "cheap-first: features added" in printed
    assert "expected answers hot (items back to back), rehearsed (after 20 ms asleep), cold" in printed
    assert printed.splitlines()[-1].startswith("cold: after a sleep, without a rehearsal")


def test_details_are_printed_only_if_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "polydom_builder.commands.demo.run_demo", lambda **options: Demonstrated(bundle(), 20, [RESULT])
    )

    assert main(["demo"]) == 0
    short = capsys.readouterr().out
    assert main(["demo", "--details"]) == 0
    whole = capsys.readouterr().out

    assert "cheap-first" not in short
    assert whole.startswith(short)
    assert "cheap-first" in whole


def test_late_answers_are_told_by_how_late_they_were() -> None:
    shares = {"up to 1.1": 3, "more than 10": 1}
    late = {**RESULT, "missed": 4, "misses": {"reasons": {"planned": 4}, "elapsed_share": shares}}

    assert "600 µs  4 of 1500: 3 up to 1.1, 1 more than 10" in details(RESULT, late)
    assert "No answer was late." in details(RESULT)


def test_only_right_answers_in_time_count_in_a_loop_and_a_skipped_item_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        {"item": 0, "label": "brick", "deadline_met": True},
        {"item": 1, "label": "brick", "deadline_met": True},
        {"item": 2, "label": "brick", "deadline_met": False},
    ]
    periods = []

    def run(self: Node, items: Path, deadline: float, *, period: float | None = None) -> Any:
        periods.append(period)
        return answers, {"loop": {"rehearsals": {"share": 0.05}}, "promise": {"paused": 1}}

    monkeypatch.setattr(Node, "run", run)
    labels = ["brick", "grass", "brick", "brick"]

    looped = run_loop(Node("python", SURFACE, tmp_path, "surface:space"), tmp_path, 0.001, 0.02, labels)

    assert looped == Looped(items=3, late=1, in_time=0.25, at_once=0.25, rehearsing=0.05, paused=1)
    assert periods == [0.02, None]


def test_there_is_no_loop_where_the_deadline_is_not_shorter_than_the_period(tmp_path: Path) -> None:
    assert run_loop(Node("python", SURFACE, tmp_path, "surface:space"), tmp_path, 0.02, 0.02, []) is None


def test_items_of_the_loop_are_drawn_from_all(tmp_path: Path) -> None:
    items = [np.full(3, k, dtype=np.float32) for k in range(50)]

    labels = write_loop_items(tmp_path, items, list(range(50)), 10)

    written, stored, *_ = read_packed(tmp_path / "loop.npz")
    assert stored is not None
    assert [int(item[0]) for item in written] == list(stored) == labels
    assert len(set(labels)) == 10
    assert max(labels) > 25
