"""The paper's experiments on photographs: every score is looked up in a lattice that was trained before."""

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from polydom_runtime.bundles.greedy import GreedyIndex

from .algorithms.fewest_trainings import fewest_trainings
from .figures import save_figures
from .results import Row, load_facts, load_rows, save_facts, save_rows
from .scene_assumptions import (
    check_promises,
    compare_accuracies,
    compare_costs,
    violation_distances,
    violation_shares,
)
from .scene_costs import Scenes, measure_units, measured_costs
from .scene_figures import FIGURES
from .scene_lattice import lattice_of_scenes, learned_space
from .scene_scale import QUICK, Scale
from .scene_table import as_markdown
from .synthetic_index import lookups, microseconds
from .systems import AS_PRINTED, BEST_FIRST, LAYERED, ComparedSystem, World, array_entries, envelope, every_crossing

FACTS, TABLE = "scenes.json", "scenes.md"
INDEX_ALPHA = 1.3
"""The α at which the paper varies e for its indexes."""

MAX_CROSSED = 500
"""Every crossing is indexed for at most this number of candidates; more take minutes."""


def count_trainings(scenes: Scenes, scale: Scale) -> list[Row]:
    """Count the sets that each search trains, for each α and e."""
    rows: list[Row] = []
    for alpha in scale.alphas:
        for e in scale.tolerances:
            for search in (AS_PRINTED, LAYERED, *([BEST_FIRST] if affordable(alpha, e) else [])):
                for c0_fixed in (False, True) if search is BEST_FIRST else (False,):
                    count = len(scenes.trained(search, alpha, e, c0_fixed=c0_fixed))
                    name = f"{search.name}, c0 fixed" if c0_fixed else search.name
                    rows.append({"system": name, "alpha": alpha, "e": e, "trained": count})
    for name, count in {"Greedy": len(scenes.greedies()["Greedy"].trained), "all": len(scenes.world.scores)}.items():
        rows += [{"system": name, "alpha": 1.0, "e": e, "trained": count} for e in scale.tolerances]
    for alpha in {1.1, 1.2} & set(scale.alphas):
        fewest = fewest_trainings(scenes.world.scores, scenes.world.costs, scenes.world.region, alpha=alpha)
        for name, count in (("at least", fewest.at_least), ("enough", len(fewest.enough))):
            rows.append({"system": f"{name}, omniscient", "alpha": alpha, "e": 0.0, "trained": count})
    return rows


def affordable(alpha: float, e: float) -> bool:
    """Tell whether best first is run: with α near 1 it takes minutes for each e, as nearly all sets are needed.

    >>> affordable(1.0, 0.0), affordable(1.0, 0.05), affordable(1.2, 0.05)
    (True, False, True)
    """
    return alpha >= 1.1 or e <= alpha - 1.0


def measure_indexes(scenes: Scenes, scale: Scale) -> list[Row]:
    """Count the entries of all indexes over the same candidates, and time their lookups side by side."""
    rows: list[Row] = []
    pairs = [(INDEX_ALPHA, e) for e in scale.tolerances] + [(alpha, 0.0) for alpha in scale.alphas]
    queries = [(n, budget) for _, n, budget in scenes.questions(max(scale.timed // len(scenes.lattice.sizes), 1))]
    for alpha, e in dict.fromkeys(pairs):
        printed = scenes.trained(AS_PRINTED, alpha, e)
        kept = {"kept": scenes.kept(BEST_FIRST if affordable(alpha, e) else LAYERED, alpha, e)}
        kept["kept as printed"] = scenes.kept(AS_PRINTED, alpha, e)
        for selection, masks in {**kept, "all trained": list(printed)}.items():
            here: Row = {"alpha": alpha, "e": e, "selection": selection, "scan": len(masks)}
            times = microseconds(lookups(scenes.world, masks, queries), queries)
            rows.append(here | _entries(scenes.world, masks) | times)
    return rows


def _entries(world: World, masks: Sequence[int]) -> Row:
    candidates = world.candidates(masks)
    index, intervals = envelope(candidates, world.region)
    crossings = float(every_crossing(candidates, world.region)[1]) if len(masks) <= MAX_CROSSED else math.nan
    return {"intervals": intervals, "array": array_entries(index), "all_crossings": crossings}


def measure_accuracy(scenes: Scenes, scale: Scale) -> list[Row]:
    """Return the estimated and the tested accuracy of each system's answer at each size and budget."""
    largest = scenes.world.region.sizes[1]
    systems: dict[str, Callable[[float, float], int]] = {
        "optimum": scenes.best,
        "one set for all sizes": lambda _, budget: scenes.best(largest, budget),
        **{name: system.best for name, system in _systems(scenes).items()},
    }
    rows: list[Row] = []
    for k, n, budget in scenes.questions(scale.budgets):
        for name, best in systems.items():
            here: Row = {"size": n, "budget": budget, "system": name}
            rows.append(here | _accuracies(scenes, best(n, budget), k))
    return rows


def _systems(scenes: Scenes) -> dict[str, ComparedSystem]:
    return {
        "Poly-Dom": scenes.poly_dom(1.0),
        "Poly-Dom, α = 1.02": scenes.poly_dom(1.02),
        "Poly-Dom, α = 1.2": scenes.poly_dom(1.2),
        "α = 1.2, all trained": scenes.poly_dom(1.2, pruned=False),
        "as printed": scenes.poly_dom(1.2, search=AS_PRINTED),
        **scenes.greedies(),
    }


def _accuracies(scenes: Scenes, mask: int, k: int) -> Row:
    return {"estimated": float(scenes.lattice.estimated[mask]), "tested": float(scenes.lattice.tested[mask, k])}


def replay(scenes: Scenes, scale: Scale) -> list[Row]:
    """Answer the same queries with measured times instead of planned ones.

    A late answer of Poly-Dom counts as that of the empty set. Greedy adds features until the budget is really spent,
    and is assumed to stop in time. So this is an upper bound for the gain of adapting to real times.
    """
    rows: list[Row] = []
    systems = _systems(scenes)
    for k, n, budget in scenes.questions(scale.budgets):
        tested = scenes.lattice.tested[:, k]
        for name, system in systems.items():
            if isinstance(system.index, GreedyIndex):
                masks = [c.mask for c in system.index.at_deadline(budget).sequence]
            else:
                masks = [0, system.best(n, budget)]
            # The empty set is always in time.
            in_time = np.array([scenes.costs.measured(mask, n) <= budget for mask in masks[1:]])
            reached = np.array(masks)[in_time.sum(axis=0)]
            late = 0.0 if isinstance(system.index, GreedyIndex) or masks[-1] == 0 else float(1.0 - in_time.mean())
            here: Row = {"size": n, "budget": budget, "system": name}
            rows.append(here | {"tested": float(tested[reached].mean()), "late": late})
    return rows


def average(scenes: Scenes, scale: Scale) -> list[Row]:
    """Return the mean accuracy over all sizes and budgets, for each α and e, and of the systems without α and e."""
    questions = scenes.questions(scale.budgets)
    fixed = {name: system.best for name, system in scenes.greedies().items()} | {"optimum": scenes.best}
    asked = [(name, 0.0, e, best) for name, best in fixed.items() for e in scale.tolerances]
    for alpha in scale.alphas:
        for e in scale.tolerances:
            search = BEST_FIRST if affordable(alpha, e) else LAYERED
            asked.append(("Poly-Dom", alpha, e, scenes.poly_dom(alpha, e, search).best))
    rows: list[Row] = []
    for name, alpha, e, best in asked:
        answers = [_accuracies(scenes, best(n, budget), k) for k, n, budget in questions]
        means = {kind: float(np.mean([row[kind] for row in answers])) for kind in ("estimated", "tested")}
        rows.append({"system": name, "alpha": alpha, "e": e, **means})
    return rows


EXPERIMENTS: dict[str, Callable[[Scenes, Scale], list[Row]]] = {
    "costs": lambda scenes, _: measure_units(scenes.costs),
    "trainings": count_trainings,
    "indexes": measure_indexes,
    "accuracy": measure_accuracy,
    "replay": replay,
    "averages": average,
    "violations": violation_shares,
    "distances": violation_distances,
    "compared_costs": compare_costs,
    "compared_accuracies": compare_accuracies,
    "promises": check_promises,
}
"""The experiments by name; each writes a CSV file named ``scenes_`` and its name."""


def run_scenes(data: Path, out: Path, quick: bool) -> None:
    """Train and measure, unless the folder holds the results, then run all experiments, write raw results, and draw.

    Parameters
    ----------
    data : Path
        Folder of the photographs, see `scene_images`.
    out : Path
        Folder for the results, created if it does not exist. It also keeps the lattice and the measured costs.
    quick : bool
        Use a lattice of sixteen sets.
    """
    scale = QUICK if quick else Scale()
    out.mkdir(parents=True, exist_ok=True)
    lattice = lattice_of_scenes(data, out, scale.plan, n_jobs=1 if quick else -1)
    space, photos = learned_space(data, out, scale.plan), scale.plan.parts(data).fitting
    run_experiments(Scenes(lattice, measured_costs(space, photos, out, scale.rounds, scale.seconds)), out, scale)


def run_experiments(scenes: Scenes, out: Path, scale: Scale) -> None:
    """Run all experiments on a trained lattice, and draw."""
    seconds = {}
    for name, experiment in EXPERIMENTS.items():
        start = time.process_time()
        save_rows(experiment(scenes, scale), out / f"scenes_{name}.csv")
        seconds[name] = round(time.process_time() - start, 1)
        print(f"{name}: {seconds[name]:.0f} s of processor time", file=sys.stderr)
    samples = scenes.costs.samples
    measured = {"rounds": samples.n_rounds, "stopped": samples.stopped, "warnings": list(samples.warnings)}
    known = {"features": scenes.lattice.names.tolist(), "deadline": scenes.deadline, "quantile": scenes.costs.quantile}
    save_facts({"scale": asdict(scale), "seconds": seconds, "measured": measured} | known, out / FACTS)
    draw_scenes(out)


def draw_scenes(out: Path) -> None:
    """Draw figures and table from the raw results in `out`.

    Raises
    ------
    ResultsError
        If raw results are missing.
    """
    tables = {name: load_rows(out / f"scenes_{name}.csv") for name in EXPERIMENTS}
    save_figures({f"scenes_{name}": figure for name, figure in FIGURES.items()}, tables, out)
    (out / TABLE).write_text(as_markdown(tables, load_facts(out / FACTS), list(FIGURES)), encoding="utf-8")
    print(f"{out / TABLE}: the paper's figures beside these; {len(FIGURES)} pictures beside it.")
