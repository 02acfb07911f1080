"""The experiments on photographs: on a made-up lattice of five features with given costs, and once end to end."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from examples.paper import results, scene_costs, scene_figures, scene_table, scenes
from examples.paper.__main__ import main
from examples.paper.results import Row, column, where
from examples.paper.scene_costs import MEASURED_SIDES, SceneCosts, Scenes
from examples.paper.scene_images import SIDES
from examples.paper.scene_lattice import SceneLattice
from examples.paper.scene_scale import Scale
from examples.paper.systems import BEST_FIRST, INDEXES
from polydom_builder.drawing import saving
from polydom_builder.drawing.style import style
from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.device.calibration import REFERENCES
from polydom_runtime.measuring.cost_samples import MIN_SECONDS, CostSamples, units_of

N_FEATURES = 5
TINY = Scale(alphas=(1.0, 1.1, 1.2, 1.3), tolerances=(0.0, 0.02, 0.05), budgets=12, queries=2_000, timed=8, drawn=20)
RAW = [f"scenes_{name}.csv" for name in scenes.EXPERIMENTS]
FEW = {name: scene_figures.FIGURES[name] for name in ("violations", "averages")}
COARSE = 40
PICTURES = [
    f"scenes_{name}{kind}" for name in scene_figures.FIGURES for kind in (".png", ".svg", "-dark.png", "-dark.svg")
]


def double(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return image


def mean(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.array([image.mean()])


def made_up_space() -> FeatureSpace:
    """Five features, of which two share a step."""
    step = Step("double", double)
    return FeatureSpace([Feature(f"f{i}", mean, 1, step if i < 2 else None) for i in range(N_FEATURES)], size=np.size)


def made_up_samples(space: FeatureSpace) -> CostSamples:
    """Costs of several kinds of growth that jitter by a fifth."""
    rng, sizes = np.random.default_rng(0), np.square(MEASURED_SIDES).astype(float)
    units = units_of(space)
    *others, around = [1e-4 * (k + 1) + 4e-8 * (k % 3) * sizes for k in range(len(units) - 2)]
    exact = np.array([*others, 0.5 * around, np.full(len(sizes), MIN_SECONDS), 0.5 * around])
    seconds = exact[:, :, None] * rng.uniform(1.0, 1.2, (*exact.shape, 30))
    kernels = {name: rng.uniform(1e-5, 1.2e-5, 30) for name in REFERENCES}
    loops = np.ones(exact.shape, dtype=np.int64)
    return CostSamples(units, sizes, seconds, loops, np.full(seconds.shape, np.nan), kernels, stopped="enough")


def made_up_lattice(space: FeatureSpace) -> SceneLattice:
    """Scores that rise with each feature, ever less, but for noise that breaks monotonicity here and there."""
    rng, masks = np.random.default_rng(3), np.arange(1 << N_FEATURES)
    chosen = masks[:, None] >> np.arange(N_FEATURES) & 1
    estimated = 0.1 + 0.6 * (1.0 - np.exp(-chosen @ rng.uniform(0.1, 1.0, N_FEATURES)))
    estimated[1:] += rng.normal(0.0, 0.02, len(masks) - 1)
    tested = estimated[:, None] + rng.normal(0.0, 0.01, (len(masks), len(SIDES)))
    return SceneLattice(estimated, tested, np.array(space.names), np.square(SIDES))


@pytest.fixture(scope="module")
def made_up() -> Scenes:
    space = made_up_space()
    return Scenes(made_up_lattice(space), SceneCosts(space, made_up_samples(space)))


@pytest.fixture(scope="module")
def out(made_up: Scenes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one run on the made-up lattice, which draws two coarse figures instead of all: they take long."""
    folder = tmp_path_factory.mktemp("scenes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "FIGURES", FEW)
        patch.setattr(saving, "DPI", COARSE)
        scenes.run_experiments(made_up, folder, TINY)
    return folder


def rows(out: Path, name: str) -> list[Row]:
    return results.load_rows(out / f"scenes_{name}.csv")


@pytest.mark.end_to_end
def test_a_run_leaves_raw_results_pictures_and_a_table(made_up: Scenes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    scenes.run_experiments(made_up, out, TINY)

    assert {f.name for f in out.iterdir()} == {*RAW, *PICTURES, scenes.FACTS, scenes.TABLE}
    assert all((out / name).stat().st_size > 5_000 for name in PICTURES)
    table = (out / scenes.TABLE).read_text()
    assert all(f"scenes_{name}.png" in table for name in scene_figures.FIGURES)
    assert all(claim.what in table for claim in scene_table.CLAIMS)


def test_redraw_gives_the_same_and_recomputes_nothing(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenes, "FIGURES", FEW)
    monkeypatch.setattr(saving, "DPI", COARSE)
    monkeypatch.setattr(scenes, "EXPERIMENTS", dict.fromkeys(scenes.EXPERIMENTS))
    for name in (*RAW, scenes.FACTS):
        (tmp_path / name).write_bytes((out / name).read_bytes())

    scenes.draw_scenes(tmp_path)

    before, after = ((folder / scenes.TABLE).read_text().partition("## Figures")[0] for folder in (out, tmp_path))
    assert before == after
    for name in FEW:
        assert (out / f"scenes_{name}.svg").read_bytes() == (tmp_path / f"scenes_{name}.svg").read_bytes()


def test_the_title_counts_what_the_searches_train(out: Path) -> None:
    changed = [row | {"trained": 1234} if row["system"] == "as printed" else row for row in rows(out, "trainings")]
    (ours,) = column(where(changed, system="best first", alpha=1.2, e=0.0), "trained")

    with style():
        title = scene_figures.draw_trainings(changed).get_suptitle()

    assert title.endswith(f"of 32 sets, Poly-Dom trains {ours:,.0f}, the printed search 1,234")


def test_redraw_without_raw_results_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(results.ResultsError, match=r"scenes_costs\.csv"):
        scenes.draw_scenes(tmp_path)


def test_complete_searches_keep_their_promise_when_e_is_the_largest_violation(out: Path) -> None:
    checked = [row for row in rows(out, "promises") if row["sufficient"] and row["system"] != "as printed"]

    assert {(row["system"], row["alpha"]) for row in checked} == {
        (system, alpha) for system in ("layer by layer", "best first") for alpha in TINY.alphas[1:]
    }
    assert all(row["broken"] == 0 and row["queries"] == TINY.queries for row in checked)
    assert all(float(row["worst_ratio"]) <= float(row["alpha"]) + 1e-5 for row in checked)


def test_violations_are_a_distribution_that_ends_at_one(made_up: Scenes, out: Path) -> None:
    shares = rows(out, "violations")

    assert shares[-1]["all_pairs"] == shares[-1]["violating"] == 1.0
    for name in ("all_pairs", "violating"):
        assert (np.diff(column(shares, name)) >= 0.0).all()
    scores = made_up.lattice.estimated
    pairs = [(i, j) for i in range(32) for j in range(32) if i & j == i != j]
    amounts = np.array([scores[i] - scores[j] for i, j in pairs])
    assert float(shares[-1]["amount"]) == pytest.approx(amounts.max(), abs=1e-4)
    assert float(shares[0]["all_pairs"]) == pytest.approx((amounts <= 0.0).mean(), rel=1e-5)
    distances = rows(out, "distances")
    assert sum(column(distances, "pairs")) == len(pairs) == 3**5 - 2**5
    assert sum(column(distances, "violating")) == (amounts > 0.0).sum() > 0


def test_all_indexes_over_the_candidates_answer_alike(made_up: Scenes) -> None:
    candidates = made_up.world.candidates(made_up.kept(BEST_FIRST, 1.1, 0.0))
    indexes = [build(candidates, made_up.world.region)[0] for build in INDEXES.values()]

    for _, n, budget in made_up.questions(30):
        assert len({index.best(n, budget).accuracy for index in indexes}) == 1


def test_no_answer_is_estimated_above_the_optimum_and_exact_poly_dom_is_at_most_a_violation_below(
    made_up: Scenes, out: Path
) -> None:
    answers = rows(out, "accuracy")
    largest = float(rows(out, "violations")[-1]["amount"])

    best = np.array(column(where(answers, system="optimum"), "estimated"))
    for system in {str(row["system"]) for row in answers}:
        assert (column(where(answers, system=system), "estimated") <= best + 1e-9).all()
    exact = np.array(column(where(answers, system="Poly-Dom"), "estimated"))
    assert (best - exact).max() <= largest
    assert best[-1] == pytest.approx(made_up.lattice.estimated.max(), rel=1e-5)


def test_what_is_trained_is_counted_and_never_more_than_all(out: Path) -> None:
    counts = rows(out, "trainings")

    assert {row["trained"] for row in where(counts, system="all")} == {32}
    assert all(1 <= int(row["trained"]) <= 32 for row in counts)
    for alpha in (1.1, 1.2):
        least = column(where(counts, system="at least, omniscient", alpha=alpha), "trained")
        enough = column(where(counts, system="enough, omniscient", alpha=alpha), "trained")
        assert least <= enough
        assert least <= column(where(counts, system="best first", alpha=alpha, e=0.0), "trained")


def test_indexes_hold_what_the_paper_says_of_them(out: Path) -> None:
    for row in rows(out, "indexes"):
        assert 1 <= int(row["intervals"]) <= int(row["array"]) <= float(row["all_crossings"])
        assert int(row["scan"]) >= 1


def test_replay_counts_late_answers_of_poly_dom_alone_and_greedy_never_loses_by_going_on(out: Path) -> None:
    replayed, planned = rows(out, "replay"), rows(out, "accuracy")

    assert not any(float(row["late"]) for row in replayed if str(row["system"]).startswith("Greedy"))
    assert np.mean(column(where(replayed, system="Poly-Dom"), "late")) < 0.02
    gained = [np.mean(column(where(table, system="Greedy-Cost"), "tested")) for table in (planned, replayed)]
    assert gained[1] >= gained[0]


def test_measured_costs_of_a_set_add_up_its_features_steps_and_model(made_up: Scenes) -> None:
    samples = made_up.costs.samples
    units = ["double", "f0", "f1", "f3", "(before)", "(after)"]
    expected = sum(samples.of(unit)[5, 1::2] for unit in units) + samples.kernels["model linear chain"][1::2]

    np.testing.assert_allclose(made_up.costs.measured(0b01011, 125.0**2), expected)
    assert (made_up.costs.measured(0b01011, 125.0**2) <= made_up.world.costs(0b01011)(125.0**2)).mean() > 0.9


@pytest.mark.parametrize("module", [scene_costs, scene_figures, scenes])
def test_examples_in_the_documentation_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def write_pictures(folder: Path) -> None:
    """Write six small pictures of each of three kinds, with their index."""
    rng = np.random.default_rng(0)
    lines = ["path,label,dup_of"]
    for label, wave in (("across", np.sin(np.arange(90))), ("down", np.sin(np.arange(90))[:, None]), ("noise", 0.0)):
        for i in range(6):
            values = np.clip(128 + 60 * wave + rng.normal(0, 20, (90, 90)), 0, 255).astype(np.uint8)
            Image.fromarray(values).save(folder / f"{label}{i}.png")
            lines.append(f"{label}{i}.png,{label},")
    (folder / "index.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.end_to_end
def test_the_quick_command_runs_end_to_end_and_measures_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"violations": scene_figures.FIGURES["violations"]}
    monkeypatch.setattr(scenes, "FIGURES", few)
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    write_pictures(data)
    command = ["scenes", "--quick", "--data", str(data), "--out", str(out)]

    assert main(command) == 0
    (kept,) = out.glob("*.costs")
    before = kept.stat().st_mtime_ns, (out / "scenes_costs.csv").read_bytes()
    assert main(command) == 0

    assert (kept.stat().st_mtime_ns, (out / "scenes_costs.csv").read_bytes()) == before
    assert len(where(rows(out, "trainings"), system="all", trained=16)) == 2
    assert (out / "scenes_violations.png").read_bytes()[:4] == b"\x89PNG"
