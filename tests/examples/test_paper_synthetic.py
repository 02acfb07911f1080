"""The paper's synthetic experiments: the command end to end, and what its results must show."""

import doctest
import statistics
from pathlib import Path

import numpy as np
import pytest

from examples.paper import (
    figures,
    generator,
    results,
    synthetic,
    synthetic_claims,
    synthetic_promises,
    synthetic_trainings,
    synthetic_world,
)
from examples.paper.__main__ import main
from examples.paper.algorithms import (
    all_crossings,
    every_set,
    fewest_trainings,
    layers,
    pairs,
    printed,
    scan,
    sweep,
)
from examples.paper.synthetic_promises import ALPHAS, Queries, best_scores, total
from examples.paper.synthetic_world import KINDS, Scale
from examples.paper.synthetic_world import synthetic_world as world_of
from examples.paper.systems import AS_PRINTED, BEST_FIRST, INDEXES, greedy, greedy_acc, greedy_cost, poly_dom
from polydom_builder.drawing import saving
from polydom_builder.drawing.style import style
from polydom_builder.sets.region import QueryRegion

TINY = Scale(seeds=2, most_features=4, default_features=5, table_features=6, queries=1_000, timed_queries=5)
FEW = {name: synthetic.FIGURES[name] for name in ("index_sizes", "promises")}
COARSE = 40
KINDS_OF_FILES = (".png", ".svg", "-dark.png", "-dark.svg")
PICTURES = [name + kind for name in synthetic.FIGURES for kind in KINDS_OF_FILES]
RAW = [f"{name}.csv" for name in synthetic.EXPERIMENTS]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one run of the command, which draws two coarse figures instead of all: they take long."""
    folder = tmp_path_factory.mktemp("paper") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic_world, "QUICK", TINY)
        patch.setattr(synthetic, "FIGURES", FEW)
        patch.setattr(saving, "DPI", COARSE)
        assert main(["synthetic", "--quick", "--out", str(folder)]) == 0
    return folder


@pytest.mark.end_to_end
def test_command_leaves_raw_results_pictures_and_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic_world, "QUICK", TINY)
    out = tmp_path / "new"

    assert main(["synthetic", "--quick", "--out", str(out)]) == 0
    assert {f.name for f in out.iterdir()} == {*RAW, *PICTURES, synthetic.FACTS, synthetic.TABLE}
    assert all((out / name).stat().st_size > 5_000 for name in PICTURES)
    assert all((out / name).read_bytes()[:4] == b"\x89PNG" for name in PICTURES if name.endswith("png"))
    assert all(f"{name}.png" in (out / synthetic.TABLE).read_text() for name in synthetic.FIGURES)


@pytest.fixture
def few_figures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two coarse figures instead of all; returns the names of their files."""
    monkeypatch.setattr(synthetic, "FIGURES", FEW)
    monkeypatch.setattr(saving, "DPI", COARSE)
    return [name + kind for name in FEW for kind in KINDS_OF_FILES]


def test_redraw_gives_the_same_pictures_and_table_and_recomputes_nothing(
    out: Path, tmp_path: Path, few_figures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = [*RAW, synthetic.FACTS]
    for name in raw:
        (tmp_path / name).write_bytes((out / name).read_bytes())
    monkeypatch.setattr(synthetic, "EXPERIMENTS", dict.fromkeys(synthetic.EXPERIMENTS))

    assert main(["synthetic", "--redraw", "--out", str(tmp_path)]) == 0

    assert {f.name for f in tmp_path.iterdir()} == {*raw, *few_figures, synthetic.TABLE}
    assert all((tmp_path / name).read_bytes() == (out / name).read_bytes() for name in (*raw, *few_figures))
    before, after = ((folder / synthetic.TABLE).read_text().partition("## Figures")[0] for folder in (out, tmp_path))
    assert before == after


def test_redraw_draws_what_the_raw_results_say(out: Path, tmp_path: Path, few_figures: list[str]) -> None:
    for name in (*RAW, synthetic.FACTS):
        (tmp_path / name).write_bytes((out / name).read_bytes())
    rows = results.load_rows(out / "index_sizes.csv")
    results.save_rows([row | {"array": 7 * int(row["array"])} for row in rows], tmp_path / "index_sizes.csv")

    assert main(["synthetic", "--redraw", "--out", str(tmp_path)]) == 0

    assert (tmp_path / "index_sizes.svg").read_bytes() != (out / "index_sizes.svg").read_bytes()
    assert (tmp_path / "promises.svg").read_bytes() == (out / "promises.svg").read_bytes()


@pytest.mark.parametrize("damage", ["missing", "empty", "binary"])
def test_redraw_without_sound_raw_results_is_said_in_one_line(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if damage != "missing":
        (tmp_path / "trainings.csv").write_bytes(b"" if damage == "empty" else b"\xff\xfe\x00")

    assert main(["synthetic", "--redraw", "--out", str(tmp_path)]) == 2

    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "trainings.csv" in error
    assert "without --redraw" in error


def test_number_of_seeds_must_be_positive(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["synthetic", "--seeds", "0"])

    assert "at least 1" in capsys.readouterr().err


def test_poly_dom_breaks_no_promise_in_the_experiment(out: Path) -> None:
    rows = results.load_rows(out / "promises.csv")

    systems = {str(row["system"]) for row in rows} - {"as printed"}
    assert systems == {"layer by layer", "Poly-Dom", "Poly-Dom, c0 fixed", "Poly-Dom, n0 fixed"}
    for kind in KINDS:
        for alpha in ALPHAS:
            for system in systems:
                assert total(rows, kind, system, alpha).broken == 0
                assert total(rows, kind, system, alpha).queries == TINY.queries


def test_the_paper_as_printed_breaks_its_promise() -> None:
    world = world_of("cfinf", 10, seed=0)
    kept = AS_PRINTED.select(AS_PRINTED.expand(world, 1.2, 0.0), world, 1.2, 0.0)
    queries = Queries.draw(world, np.random.default_rng(0), 2_000)

    ratio = best_scores(world, range(1024), queries) / best_scores(world, kept, queries)

    assert (ratio > 1.2 * 1.001).sum() > 20
    assert ratio.max() < 1.2**3


def test_poly_dom_trains_at_most_a_third_of_the_sets_that_the_paper_does() -> None:
    for kind in KINDS:
        worlds = [world_of(kind, 10, seed) for seed in range(5)]
        ours, printed = (
            statistics.median(len(search.expand(world, 1.2, 0.0)) for world in worlds)
            for search in (BEST_FIRST, AS_PRINTED)
        )
        assert 3 * ours <= printed


@pytest.mark.parametrize("kind", KINDS)
def test_all_indexes_answer_alike(kind: str) -> None:
    world = world_of(kind, 6, seed=1)
    systems = [poly_dom(world, 1.02, indexer=indexer) for indexer in INDEXES.values()]
    queries = Queries.draw(world, np.random.default_rng(0), 300)
    expected = best_scores(world, [c.mask for c in systems[0].candidates], queries)

    for system in systems:
        answers = [system.best(n, c) for n, c in zip(queries.sizes.tolist(), queries.budgets.tolist(), strict=True)]
        assert world.scores[answers] == pytest.approx(expected, abs=0)
        assert all(world.costs(m)(n) <= c for m, n, c in zip(answers, queries.sizes, queries.budgets, strict=True))


def test_greedy_variants_answer_with_sets_that_fit_and_train_few() -> None:
    world = world_of("cfinf", 8, seed=0)
    queries = Queries.draw(world, np.random.default_rng(0), 100)
    best = best_scores(world, range(256), queries)

    for build in (greedy, greedy_acc, greedy_cost):
        system = build(world)
        answers = [system.best(n, c) for n, c in zip(queries.sizes.tolist(), queries.budgets.tolist(), strict=True)]
        assert all(world.costs(m)(n) <= c for m, n, c in zip(answers, queries.sizes, queries.budgets, strict=True))
        assert (world.scores[answers] <= best).all()
        assert len(system.trained) <= 12 * 8 * 9 / 2
    assert len(greedy_cost(world).trained) == 9


def test_raw_results_come_back_as_they_went(tmp_path: Path) -> None:
    rows: list[results.Row] = [{"kind": "cf1", "seed": 3, "score": 0.25}, {"kind": "a, b", "seed": -1, "score": 1e-9}]
    results.save_rows(rows, tmp_path / "rows.csv")

    assert results.load_rows(tmp_path / "rows.csv") == rows


def test_titles_say_what_the_raw_results_say() -> None:
    rows: list[results.Row] = [
        {"kind": kind, "n_features": 4, "seed": seed, "system": system, "alpha": 1.2, "trained": trained + 2 * seed}
        for kind in KINDS
        for seed in range(3)
        for system, trained in (("Poly-Dom", 3), ("as printed", 11))
    ]

    with style():
        figure = synthetic_trainings.draw(rows, 1.2)

    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{kind}: of 16 sets, Poly-Dom trains 5, the printed search 13" for kind in ("cf₁", "cf∞")]


def test_the_title_about_promises_names_the_systems_that_break_them(out: Path) -> None:
    rows = [row | {"broken": 0} for row in results.load_rows(out / "promises.csv")]
    kept = synthetic_promises.draw(rows)
    broken = synthetic_promises.draw([row | {"broken": 7 * (row["system"] == "layer by layer")} for row in rows])

    answers = sum(int(row["queries"]) for row in rows if row["system"] == "layer by layer")
    n_rows = sum(row["system"] == "layer by layer" for row in rows)
    assert kept.get_suptitle() == "No answer breaks the promise"
    assert broken.get_suptitle().startswith(f"Layer by layer, {7 * n_rows:,} of {answers:,} answers break the promise")


@pytest.mark.parametrize(
    "module",
    [
        *(figures, generator, results, synthetic_claims, synthetic_promises),
        *(all_crossings, every_set, fewest_trainings, layers, pairs, printed, scan, sweep),
    ],
)
def test_examples_in_the_documentation_hold(module: object) -> None:
    outcome = doctest.testmod(module)  # type: ignore[arg-type]

    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_scores_of_the_generator_are_monotone_and_start_at_chance() -> None:
    for kind in (*KINDS, "saturating"):
        table = generator.scores(kind, 7, np.random.default_rng(2))
        grown = np.arange(128)[:, None] | 1 << np.arange(7)
        assert (table[:, None] <= table[grown]).all()
        assert kind == "saturating" or table[0] == 0.5


def test_worlds_ask_for_the_sizes_of_the_paper() -> None:
    assert world_of("cf1", 3, 0).region == QueryRegion((1.0, 500.0))
