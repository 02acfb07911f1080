"""The experiments on deadlines, on a made-up task: replays, real answers and loops; their measurements and tables."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.deadlines import (
    answers,
    certificates,
    checks,
    experiment,
    gaps,
    loops,
    model_runs,
    models,
    page,
    real,
    replay,
)
from examples.deadlines.__main__ import main
from examples.deadlines.earlier import Earlier
from examples.deadlines.experiment import run_task, write_results
from examples.deadlines.measuring import halves, measured_costs
from examples.deadlines.model_runs import Model, ModelRuns, timed_models
from examples.deadlines.replay import ANY_TIME, BEFORE, NO_ESTIMATE, ORACLE, STRICT, SYSTEMS
from examples.deadlines.systems import N_DEADLINES, build_poly_dom
from examples.deadlines.table import KINDS
from examples.deadlines.task import Task
from examples.paper.results import ResultsError, Row, column, load_rows, where
from polydom_builder.drawing.saving import FigureMaker, save
from polydom_builder.simulation import Trials
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.measuring.cost_samples import AFTER, CostSamples, units_of
from tests.draws import EVERY, draws

PAGE = Path(__file__).parents[2] / "docs" / "anytime.md"
ONE: Model = ((0,), "onnxruntime")
N_ANSWERS = draws(1_000, replay.N_ANSWERS)


@pytest.fixture(scope="module", autouse=True)
def few_answers() -> Iterator[None]:
    """Replay fewer answers, and time models in few real ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "N_ANSWERS", N_ANSWERS)
        patch.setattr(model_runs, "ROUNDS", 11)
        patch.setattr(model_runs, "SLEEPS", 11)
        yield


def test_rounds_are_split_into_halves_that_share_none() -> None:
    samples = CostSamples(
        ("f", AFTER),
        np.array([1.0]),
        np.arange(1.0, 15.0).reshape(2, 1, 7),
        np.ones((2, 1), dtype=np.int64),
        np.full((2, 1, 7), np.nan),
    )

    planned, fresh = halves(samples)

    assert planned.of("f").tolist() == [[1.0, 3.0, 5.0, 7.0]]
    assert fresh.of("f").tolist() == [[2.0, 4.0, 6.0]]


@pytest.fixture(scope="module")
def results(
    made_up_task: Task, made_up_samples: CostSamples, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Row]]:
    """The folder, with tables and no figures, and the rows of the experiment on a task of three features."""
    out = tmp_path_factory.mktemp("results")
    rows, facts = run_task(made_up_task, made_up_samples, out, verbose=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "save", lambda maker, path: [])
        write_results(rows, [facts], out)
    return out, rows


def test_there_is_a_row_for_each_regime_system_and_deadline(results: tuple[Path, list[Row]]) -> None:
    _, rows = results

    for system in SYSTEMS:
        assert len({row["deadline"] for row in where(rows, system=system)}) == N_DEADLINES
    assert len(rows) == len(REGIMES) * N_DEADLINES * len(SYSTEMS)
    assert all(0.0 <= float(row[kind]) <= 1.0 for row in rows for kind in ("estimated", "tested"))


def test_nobody_is_promised_more_than_the_oracle(results: tuple[Path, list[Row]]) -> None:
    _, rows = results
    best = np.array(column(where(rows, system=ORACLE), "estimated"))

    for system in SYSTEMS:
        assert (np.array(column(where(rows, system=system), "estimated")) <= best + 0.02).all(), system


def test_a_loop_that_does_not_rehearse_is_promised_less_at_short_deadlines(results: tuple[Path, list[Row]]) -> None:
    _, rows = results

    sums = {regime: sum(column(where(rows, system=ANY_TIME, regime=regime), "estimated")) for regime in REGIMES}
    assert sums["cold"] < sums["hot"] - 0.05
    assert sums["cold"] < sums["rehearsed"] - 0.05


def test_very_many_answers_show_whether_the_promise_is_kept(results: tuple[Path, list[Row]]) -> None:
    _, rows = results

    for system in (ANY_TIME, STRICT):
        mine = where(rows, system=system, regime="hot")
        assert {row["answers"] for row in mine} == {N_ANSWERS}
        assert sum(column(mine, "late")) < 0.02 * sum(column(mine, "answers"))
    assert {row["answers"] for row in where(rows, system=NO_ESTIMATE)} == {0}


def test_with_all_the_time_everybody_may_use_the_best_set(results: tuple[Path, list[Row]]) -> None:
    _, results_ = results
    rows = where(results_, regime="hot")
    longest = max(float(row["deadline"]) for row in rows)
    last = where(rows, deadline=longest)
    scores = {str(row["system"]): float(row["estimated"]) for row in last}

    assert scores[ORACLE] > min(column(rows, "estimated"))
    assert scores[ANY_TIME] == pytest.approx(scores[ORACLE], abs=0.05)
    assert scores[STRICT] == pytest.approx(scores[ORACLE], abs=0.05)


def test_tables_and_figures_are_drawn_again_from_raw_results(
    results: tuple[Path, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rows = results
    written = (out / "deadlines.md").read_text(encoding="utf-8")
    (out / "deadlines.md").unlink()
    hot, asked = {f"deadlines_{kind}" for kind in KINDS}, set[str]()

    def save_some(maker: FigureMaker, path: Path) -> list[Path]:
        asked.add(path.name)
        return save(maker, path) if EVERY or path.name in hot else []

    monkeypatch.setattr(experiment, "save", save_some)

    assert main(["--out", str(out), "--redraw"]) == 0
    assert (out / "deadlines.md").read_text(encoding="utf-8") == written
    assert all((out / f"{name}.svg").stat().st_size > 0 for name in hot)
    assert asked == hot | {f"{name}_{regime}" for name in hot for regime in ("rehearsed", "cold")}
    assert all(system in written for system in SYSTEMS)
    assert len(load_rows(out / "deadlines.csv")) == len(rows)


def test_the_page_has_the_words_of_the_report(results: tuple[Path, list[Row]]) -> None:
    out, _ = results
    written = (out / "deadlines.md").read_text(encoding="utf-8").replace("made-up", "scenes")
    shown = PAGE.read_text(encoding="utf-8")
    blocks = [block.splitlines()[0] for block in written.replace("# Score", "## Score", 1).split("\n\n")]

    assert len(blocks) == 27
    # Paragraphs are wrapped on the page.
    assert [block for block in blocks if f" {block} " not in f" {' '.join(shown.split())} "] == []


@pytest.mark.parametrize(
    ("place", "table"),
    [
        ("real", real.real_table([])),
        ("loops", loops.loop_table([])),
    ],
)
def test_the_page_has_the_tables_of_the_other_experiments(place: str, table: str) -> None:
    shown = PAGE.read_text(encoding="utf-8")

    _, _, after = shown.partition(f"<!-- begin {place} -->")
    inside, _, _ = after.partition(f"<!-- end {place} -->")
    assert inside.strip().startswith(table)
    assert len(inside.strip().splitlines()) > 3


@pytest.fixture(scope="module")
def measured(made_up_task: Task, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CostSamples]:
    """The folder and the times of a short measurement."""
    folder = tmp_path_factory.mktemp("measured")
    return folder, measured_costs(made_up_task, folder, seconds=0.1)


def test_measured_costs_are_kept_until_the_items_or_the_features_change(
    made_up_task: Task, measured: tuple[Path, CostSamples], tmp_path: Path
) -> None:
    folder, first = measured
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "made-up.costs"
    written = file.stat().st_mtime_ns

    assert measured_costs(made_up_task, tmp_path, seconds=0.01).n_rounds == first.n_rounds
    assert file.stat().st_mtime_ns == written

    fewer = replace(made_up_task, space=made_up_task.space.part(["mean", "half_mean"]))
    assert measured_costs(fewer, tmp_path, seconds=0.01).units == units_of(fewer.space)


def test_the_command_without_data_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--tasks", "digits"]) == 2
    assert "Got no --data" in capsys.readouterr().err


def test_an_earlier_run_gives_its_deadlines_and_its_bundles_are_replayed(
    made_up_task: Task, made_up_samples: CostSamples, results: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    out, before = results
    earlier = Earlier.read(out / "deadlines.csv")
    (tmp_path / "cache").symlink_to(out / "cache")

    rows, _ = run_task(made_up_task, made_up_samples, tmp_path, earlier, verbose=0)

    assert {row["deadline"] for row in rows} == set(earlier.deadlines("made-up"))
    assert len(earlier.deadlines("made-up")) == N_DEADLINES
    ours, theirs = (column(where(rows, system=system, regime="hot"), "estimated") for system in (ANY_TIME, BEFORE))
    assert theirs == pytest.approx(ours, abs=0.02)  # it is the same version
    assert {str(row["system"]) for row in before} == {str(row["system"]) for row in rows} - {BEFORE}
    assert "made-up" in gaps.gap_table(rows)


def test_the_deadlines_of_an_earlier_run_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"deadlines\.csv"):
        Earlier.read(tmp_path / "deadlines.csv")


def made_up_rows(regime: Regime, scores: dict[str, float], late: int = 0) -> list[Row]:
    return [
        {
            "task": "digits",
            "regime": regime,
            "deadline": deadline,
            "system": system,
            "estimated": scores.get(system, 0.5),
            "tested": scores.get(system, 0.5),
            "late": late,
            "answers": 10_000,
        }
        for deadline in (1e-3, 2e-3)
        for system in (*SYSTEMS, BEFORE)
    ]


def test_the_gap_to_the_oracle_is_shown_before_and_now() -> None:
    hot = made_up_rows("hot", {ORACLE: 0.9, ANY_TIME: 0.8, BEFORE: 0.6})
    cold = made_up_rows("cold", {ORACLE: 0.8, ANY_TIME: 0.5, BEFORE: 0.3})
    rehearsed = made_up_rows("rehearsed", {ORACLE: 0.9, ANY_TIME: 0.75})

    table = gaps.gap_table([*hot, *cold, *rehearsed])

    assert table.splitlines()[2:] == [
        "| digits | 30.0 | 10.0 | 50.0 | 15.0 | 30.0 |",
        "| mean | 30.0 | 10.0 | 50.0 | 15.0 | 30.0 |",
    ]


def test_checks_name_each_deadline_at_which_something_does_not_hold() -> None:
    rows = made_up_rows("hot", {ORACLE: 0.9, ANY_TIME: 0.8, STRICT: 0.81, BEFORE: 0.78}, late=101)
    rows += made_up_rows("cold", {ANY_TIME: 0.8}) + made_up_rows("rehearsed", {ANY_TIME: 0.8})

    table = checks.check_table(rows).splitlines()

    assert "| any-time is at most 0.5 points below strict | hot | 2 | digits 1 ms by 1.0; digits 2 ms by 1.0 |" in table
    assert "| any-time is at most 0.5 points below Greedy | hot | 2 | nowhere |" in table
    assert any("101 of 10000; digits 2 ms" in line for line in table if "any-time are late | hot" in line)
    assert any("nowhere" in line for line in table if "any-time are late | cold" in line)
    assert "| at least a third less of the gap to the oracle | hot | 3 shortest | 83% left |" in table


def test_a_model_takes_its_own_time_and_a_share_of_what_an_answer_adds() -> None:
    trials = Trials(("f",), np.ones(3), np.ones((1, 3)), np.array([1e-5, 4e-5, 2e-5]))
    runs = ModelRuns({ONE: 3e-5, ((0, 1), "onnxruntime"): 5e-5}, share=0.5, added={("cold", "onnxruntime"): 1e-5})

    assert runs.of(ONE, trials) == pytest.approx([2.5e-5, 4e-5, 3e-5])
    assert runs.of(ONE, trials, "cold") == pytest.approx([3.5e-5, 5e-5, 4e-5])
    assert runs.of(((2,), "onnxruntime"), trials, "cold") == pytest.approx([4.5e-5, 6e-5, 5e-5])  # a usual one
    assert ModelRuns({ONE: 1e-5}).of(ONE, trials) == pytest.approx([0.5e-5, 3e-5, 1e-5])  # but never nothing
    assert ModelRuns({}).of(ONE, trials) == pytest.approx(trials.model_seconds)


def test_models_are_timed_where_they_run(
    made_up_task: Task, made_up_samples: CostSamples, built: Any, tmp_path: Path
) -> None:
    from polydom_builder.training.cache import Cache

    bundle, _ = built

    runs = timed_models(made_up_task, made_up_samples, {"Poly-Dom": bundle}, Cache(tmp_path))
    trials = Trials.as_they_came(made_up_samples, 10)

    assert set(runs.in_bundle(bundle, trials)) == {entry.order for entry in bundle.models}
    again = timed_models(made_up_task, made_up_samples, {"Poly-Dom": bundle}, Cache(tmp_path))  # from the cache
    for order, seconds in runs.in_bundle(bundle, trials, "cold").items():
        np.testing.assert_array_equal(again.in_bundle(bundle, trials, "cold")[order], seconds)


@pytest.fixture(scope="module")
def built(made_up_task: Task, made_up_samples: CostSamples, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A bundle of the made-up task and its deadlines."""
    return build_poly_dom(made_up_task, made_up_samples, tmp_path_factory.mktemp("built"), 0.99)


def test_real_answers_are_counted_by_deadline_run_and_item(made_up_task: Task, built: Any) -> None:
    bundle, deadlines = built

    rows = real.real_rows(made_up_task, bundle, deadlines[-2:], n_runs=2)

    assert [row["answers"] for row in rows] == [2 * 90, 2 * 90]
    assert all(0 <= float(row["late"]) <= 180 and 0.0 <= float(row["score"]) <= 1.0 for row in rows)


def test_more_late_answers_than_promised_are_bold() -> None:
    row: Row = {"task": "digits", "deadline": 1e-3, "late": 3, "answers": 100, "often late": 0, "items": 20}

    table = real.real_table([row | {"score": 0.5, "promised": 0.6}])

    assert table.splitlines()[-1] == "| digits | 1 ms | 3 of 100 | **3.00 %** | 0 of 20 | 50.0 | 60.0 |"


def test_loops_are_run_in_each_way_and_beside_the_same_items_at_once(made_up_task: Task, built: Any) -> None:
    bundle, deadlines = built

    rows = loops.loop_rows(made_up_task, bundle, deadlines[-1:], {0.02: 3, 0.03: 2})

    usual = [way.name for way in loops.WAYS]
    assert [(row["period"], row["loop"]) for row in rows] == [
        *((0.02, name) for name in usual),
        (0.03, "rehearsed"),
        (0.03, "not rehearsed"),
    ]
    assert all(0 <= float(row["late"]) <= float(row["items"]) for row in rows)
    assert "| made-up |" in loops.loop_table(rows)


def test_many_answers_are_measured_in_each_regime_and_kept(
    made_up_task: Task, measured: tuple[Path, CostSamples]
) -> None:
    folder, samples = measured
    kept = np.load(folder / "made-up-answers.npz")

    again = answers.with_many_answers(made_up_task, samples, folder / "made-up-answers.npz", 0.0)

    assert set(samples.items) == set(REGIMES)
    for regime in REGIMES:
        assert samples.items[regime].seconds.shape[0] == len(samples.units)
        assert again.items[regime].seconds.tolist() == samples.items[regime].seconds.tolist()
        assert kept[f"{regime} sizes"].tolist() == samples.items[regime].sizes.tolist()


def test_certificates_are_shown_with_verdict_late_answers_and_margin() -> None:
    certificate = Certificate.__new__(Certificate)
    for name, value in {
        "verdict": "refuted",
        "misses": 7,
        "items": 4603,
        "elapsed_share": {"max": 1.25},
        "guard_margin": 0.0015,
    }.items():
        object.__setattr__(certificate, name, value)

    table = certificates.certificate_table([certificates.Tried("digits", 0.006, [certificate, certificate])])

    assert "refuted, 7 late of 4603 (longest 1.25); margin 1.5 ms" in table
    assert table.splitlines()[-1].startswith("| digits, 6 ms |")


def test_models_are_shown_as_multiples_of_their_real_time() -> None:
    table = models.model_table([{"estimator": "a", "real": 1e-5, "placed": 2e-5, "stated": 1.1e-5, "tuned": 0.9e-5}])

    assert table.splitlines()[-1] == "| a | 10 µs | × 2.00 | × 1.10 | × 0.90 |"
    assert len(models.ESTIMATORS) == 8


def test_results_come_into_their_places_on_the_page(results: tuple[Path, list[Row]], tmp_path: Path) -> None:
    out, _ = results
    page_file = tmp_path / "page.md"
    page_file.write_text(
        "".join(f"Words about {name}.\n<!-- begin {name} -->\nold\n<!-- end {name} -->\n" for name in page.FILES)
    )

    without = page.fill_page(page_file, out)

    filled = page_file.read_text(encoding="utf-8")
    assert without == ["drift", "real", "loops", "certificates", "models"]
    assert filled.count("\nold\n") == len(without)
    short, full = filled.split("Words about in full.")
    assert "## What must hold" in short
    assert "## The scores in full" not in short
    assert full.index("## The scores in full") < full.index("## What was built")
    assert page.fill_page(page_file, out) == without
    assert page_file.read_text(encoding="utf-8") == filled


def test_a_page_without_a_place_is_refused(results: tuple[Path, list[Row]], tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Only words.")

    with pytest.raises(ResultsError, match="in short"):
        page.fill_page(tmp_path / "page.md", results[0])
