"""The experiment of score against deadline, once on a made-up task; its measurements and its tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.deadlines.__main__ import main
from examples.deadlines.experiment import run_task, write_results
from examples.deadlines.measuring import halves, measured_costs
from examples.deadlines.replay import ANY_TIME, ORACLE, STRICT, SYSTEMS
from examples.deadlines.systems import N_DEADLINES
from examples.deadlines.task import Task
from examples.paper.results import Row, column, load_rows, where
from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.device.calibration import REFERENCES
from polydom_runtime.measuring.cost_samples import CostSamples, units_of


def test_rounds_are_split_into_halves_that_share_none() -> None:
    samples = CostSamples(
        ("f", "(dispatch)"),
        np.array([1.0]),
        np.arange(1.0, 15.0).reshape(2, 1, 7),
        np.ones((2, 1), dtype=np.int64),
        np.full((2, 1, 7), np.nan),
    )

    planned, fresh = halves(samples)

    assert planned.of("f").tolist() == [[1.0, 3.0, 5.0, 7.0]]
    assert fresh.of("f").tolist() == [[2.0, 4.0, 6.0]]


def halved(x: Any) -> Any:
    return x[: len(x) // 2]


def mean(x: Any) -> list[float]:
    return [float(x.mean())]


def spread(x: Any) -> list[float]:
    return [float(x.std())]


@pytest.fixture(scope="module")
def made_up_task() -> Task:
    """Three features of which two share a step; each tells a little of three classes."""
    step = Step("halved", halved)
    features = [Feature("mean", mean), Feature("half_mean", mean, 1, step), Feature("half_spread", spread, 1, step)]
    rng = np.random.default_rng(0)
    labels = [k % 3 for k in range(180)]
    items = [rng.normal(label % 2, 1.0 + label // 2, 4 * 2 ** (k % 5)) for k, label in enumerate(labels)]
    return Task("made-up", FeatureSpace(features, len), items[:90], labels[:90], None, items[90:], labels[90:], folds=3)


@pytest.fixture(scope="module")
def made_up_samples(made_up_task: Task) -> CostSamples:
    """Times that grow at different rates and jitter by half."""
    rng, units = np.random.default_rng(1), units_of(made_up_task.space)
    sizes = np.array(sorted({float(len(item)) for item in made_up_task.items}))
    exact = np.array([1e-4 * (k + 1) + 4e-5 * (k % 3) * sizes for k in range(len(units))])
    seconds = exact[:, :, None] * rng.uniform(1.0, 1.5, (*exact.shape, 40))
    kernels = {name: rng.uniform(1e-5, 1.5e-5, 40) for name in REFERENCES}
    loops = np.ones(exact.shape, dtype=np.int64)
    return CostSamples(units, sizes, seconds, loops, np.full(seconds.shape, np.nan), kernels, stopped="enough")


@pytest.fixture(scope="module")
def results(
    made_up_task: Task, made_up_samples: CostSamples, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Row]]:
    """The folder and the rows of the experiment on a task of three features."""
    out = tmp_path_factory.mktemp("results")
    rows, facts = run_task(made_up_task, made_up_samples, out, verbose=0)
    write_results(rows, [facts], out)
    return out, rows


def test_there_is_a_row_for_each_system_and_deadline(results: tuple[Path, list[Row]]) -> None:
    _, rows = results

    for system in SYSTEMS:
        assert len({row["deadline"] for row in where(rows, system=system)}) == N_DEADLINES
    assert len(rows) == N_DEADLINES * len(SYSTEMS)
    assert all(0.0 <= float(row[kind]) <= 1.0 for row in rows for kind in ("estimated", "tested"))


def test_nobody_is_promised_more_than_the_oracle(results: tuple[Path, list[Row]]) -> None:
    _, rows = results
    best = np.array(column(where(rows, system=ORACLE), "estimated"))

    for system in SYSTEMS:
        assert (np.array(column(where(rows, system=system), "estimated")) <= best + 0.02).all(), system


def test_with_all_the_time_everybody_may_use_the_best_set(results: tuple[Path, list[Row]]) -> None:
    _, rows = results
    longest = max(float(row["deadline"]) for row in rows)
    last = where(rows, deadline=longest)
    scores = {str(row["system"]): float(row["estimated"]) for row in last}

    assert scores[ORACLE] > min(column(rows, "estimated"))
    assert scores[ANY_TIME] == pytest.approx(scores[ORACLE], abs=0.05)
    assert scores[STRICT] == pytest.approx(scores[ORACLE], abs=0.05)


def test_tables_and_figures_are_drawn_again_from_raw_results(results: tuple[Path, list[Row]]) -> None:
    out, rows = results
    written = (out / "deadlines.md").read_text(encoding="utf-8")
    (out / "deadlines_tested.svg").unlink()

    assert main(["--out", str(out), "--redraw"]) == 0
    assert (out / "deadlines.md").read_text(encoding="utf-8") == written
    assert (out / "deadlines_tested.svg").stat().st_size > 0
    assert all(system in written for system in SYSTEMS)
    assert len(load_rows(out / "deadlines.csv")) == len(rows)


def test_the_page_has_the_words_of_the_report(results: tuple[Path, list[Row]]) -> None:
    out, _ = results
    written = (out / "deadlines.md").read_text(encoding="utf-8").replace("made-up", "scenes")
    page = (Path(__file__).parents[2] / "docs" / "anytime.md").read_text(encoding="utf-8")
    blocks = [block.splitlines()[0] for block in written.replace("# Score", "## Score", 1).split("\n\n")]

    assert len(blocks) == 10
    # Paragraphs are wrapped on the page.
    assert [block for block in blocks if f" {block} " not in f" {' '.join(page.split())} "] == []


def test_measured_costs_are_kept_until_the_items_or_the_features_change(made_up_task: Task, tmp_path: Path) -> None:
    first = measured_costs(made_up_task, tmp_path, seconds=0.01)
    file = tmp_path / "made-up.costs"
    written = file.stat().st_mtime_ns

    assert measured_costs(made_up_task, tmp_path, seconds=0.01).n_rounds == first.n_rounds
    assert file.stat().st_mtime_ns == written

    fewer = replace(made_up_task, space=made_up_task.space.part(["mean", "half_mean"]))
    assert measured_costs(fewer, tmp_path, seconds=0.01).units == units_of(fewer.space)


def test_the_command_without_data_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--tasks", "digits"]) == 2
    assert "Got no --data" in capsys.readouterr().err
