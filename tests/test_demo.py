"""The demo, small: real pictures, a bundle, and a node of its own for two deadlines."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder.commands.demo import DemoLoop, Looped, run_demo, run_loop, write_loop_items
from polydom_builder.commands.demo_report import as_table
from polydom_builder.commands.estimator import default_estimator
from polydom_builder.evaluation.baselines import best_single_set
from polydom_builder.evaluation.predictions import Node
from polydom_builder.exceptions import ExportError
from polydom_builder.search import PolyDomSearch
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.packed import read_packed
from tests.builder import task
from tests.runtime.commands.test_node_command import node_python

SURFACE = Path(__file__).parents[1] / "examples" / "surface"


RESULT: dict[str, Any] = {
    "deadline": 0.0006,
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


def demo(out: Path, **changes: Any) -> list[dict[str, Any]]:
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
    results = demo(tmp_path)

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
    assert "best single" in printed
    assert "a loop with a period of 1.5 s" in printed


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


def test_the_table_of_loops_has_rates_late_answers_and_the_share_of_rehearsals() -> None:
    rates = {"in_time": 0.9, "at_once": 0.91, "rehearsing": 0.043}
    loop = {"period": 0.02, "items": 250, "late": 3, "paused": 1, **rates}

    printed = as_table([{**RESULT, "loop": loop}])

    assert "Rehearsed: a loop with a period of 20 ms sleeps" in printed
    assert "600 µs: The promise was kept: 0 of 1,500 answers were late" in printed
    assert "600 µs: The promise was missed, maybe by chance: 3 of 250 answers were late, 1.2 %;" in printed
    assert "1 of them would be late by any plan" in printed
    (line,) = [line for line in printed.splitlines() if "3/250" in line]
    assert line.split() == ["600", "µs", "0.900", "0.910", "3/250", "4.3%"]


def test_missed_deadlines_are_told_by_how_late_they_were() -> None:
    shares = {"up to 1.1": 3, "more than 10": 1}
    late = {**RESULT, "missed": 4, "misses": {"reasons": {"planned": 4}, "elapsed_share": shares}}

    last = as_table([RESULT, late]).splitlines()[-1]
    assert " ".join(last.split()) == "600 µs 4 of 1500: 3 up to 1.1, 1 more than 10"
    assert as_table([RESULT]).splitlines()[-1] == "No deadline was missed."


def test_without_loops_there_is_no_table_of_them() -> None:
    assert "a loop" not in as_table([RESULT])


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
