"""The demo, small: real pictures, a bundle, and a node of its own for two deadlines."""

import json
from pathlib import Path
from typing import Any

import pytest

from polydom_builder.commands.baselines import best_single_set
from polydom_builder.commands.demo import run_demo
from polydom_builder.commands.estimator import default_estimator
from polydom_builder.exceptions import ExportError
from polydom_builder.search import PolyDomSearch
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import ItemError
from tests.builder import task
from tests.runtime.commands.test_node_command import node_python

SURFACE = Path(__file__).parents[1] / "examples" / "surface"


def demo(out: Path, **changes: Any) -> list[dict[str, Any]]:
    arguments: dict[str, Any] = {
        "example": SURFACE,
        "node": node_python(),
        "out": out,
        "estimator": default_estimator(),
        "deadlines": (10.0, 100.0),  # so long that costs fit that are measured on a busy machine
        "n_jobs": None,
        "count": 60,
    }
    return run_demo(**(arguments | changes))


@pytest.mark.end_to_end
def test_demo_measures_builds_and_answers_on_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = demo(tmp_path)

    assert [r["deadline"] for r in results] == pytest.approx([10.0, 100.0])
    for r in results:
        assert r["items"] == 60
        assert sum(r["features"].values()) == 60
        assert all(1 / 6 < r[system] <= 1 for system in ("accuracy", "single", "cheap_first"))
    assert json.loads((tmp_path / "results.json").read_text()) == results
    assert (tmp_path / "accuracy.png").read_bytes()[:4] == b"\x89PNG"
    assert load_bundle(tmp_path / "surface.bundle").stored.shipped
    assert "best single" in capsys.readouterr().out


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
    from polydom_builder.commands.demo import run_node

    with pytest.raises(ExportError, match="bundle folder"):
        run_node(node_python(), SURFACE, tmp_path, 0.01)
