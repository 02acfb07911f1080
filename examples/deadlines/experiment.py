"""The whole experiment: measure, build, replay, and write the results."""

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from examples.paper.results import Row, load_rows, save_facts, save_rows, where
from polydom_builder.drawing.saving import save
from polydom_builder.simulation import Trials
from polydom_builder.training.cache import Cache
from polydom_runtime.bundles.bundle_times import REGIMES
from polydom_runtime.costs import format_seconds
from polydom_runtime.measuring.cost_samples import CostSamples

from . import figure
from .drift import drift_table, drifted
from .earlier import Earlier
from .measuring import QUANTILE, SECONDS, halves, measured_costs
from .model_runs import timed_models
from .replay import BEFORE, Replay
from .systems import Systems, build_poly_dom, build_systems
from .table import KINDS, as_markdown
from .task import Task
from .tasks import chosen_loaders

ROWS, FACTS, TABLE = "deadlines.csv", "tasks.csv", "deadlines.md"
QUICK_SECONDS = 3.0
DRIFT_ITEMS, DRIFT_DEADLINES = 2200, (2, 4)


def run_deadlines(
    data: Path,
    out: Path,
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    earlier: Earlier | None = None,
    verbose: int = 1,
) -> None:
    """Run every task and write ``deadlines.csv``, ``tasks.csv``, ``deadlines.md`` and the figures.

    `data`: holds one folder for each data set. `out`: also keeps times, features, scores, models and bundles, so that a
    run that was killed can continue and a second run is short. `quick`: use few items and short measurements, and write
    to the folder ``quick`` inside `out`. `earlier`: run at its deadlines, and replay its bundles, too.
    """
    out = out / "quick" if quick else out
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    facts: list[Row] = []
    for load in chosen_loaders(names, quick):
        start, task = time.monotonic(), load(data)
        samples = measured_costs(task, out, QUICK_SECONDS if quick else SECONDS)
        answered, built = run_task(task, samples, out, earlier, verbose)
        rows += answered
        facts.append(built | {"seconds": round(time.monotonic() - start)})
        write_results(rows, facts, out)
        print(f"{task.name}: done in {facts[-1]['seconds']} s; see {out / TABLE}", flush=True)


def run_drift(data: Path, out: Path, names: Sequence[str] = (), *, verbose: int = 1) -> None:
    """Let times differ from those of the build, for each task, and write ``drift.md``.

    The deadlines are the third and the fifth of the eight.
    """
    rows: list[Row] = []
    for load in chosen_loaders(names, quick=False):
        task = load(data)
        planned, fresh = halves(measured_costs(task, out))
        bundle, deadlines = build_poly_dom(task, planned, out, QUANTILE, verbose)
        sizes = np.random.default_rng(0).choice(task.test_sizes, DRIFT_ITEMS).tolist()
        trials = Trials.drawn(fresh, sizes)
        rows += [row for at in DRIFT_DEADLINES for row in drifted(bundle, trials, deadlines[at], task.name)]
        print(f"{task.name}: done")
    (out / "drift.md").write_text(drift_table(rows), encoding="utf-8")


def run_task(
    task: Task, samples: CostSamples, out: Path, earlier: Earlier | None = None, verbose: int = 1
) -> tuple[list[Row], Row]:
    """Build all systems of one task with half of the samples and replay the other half, in each regime.

    Return a row for each regime, deadline and system, and one row of facts about the task.
    """
    planned, fresh = halves(samples)
    deadlines = earlier.deadlines(task.name) if earlier else ()
    systems = build_systems(task, planned, out, verbose=verbose, deadlines=deadlines)
    if earlier and (bundle := earlier.bundle(task.name)):
        systems.bundles[BEFORE] = bundle
    memory = Cache(out / "cache")
    runs = timed_models(task, fresh, systems.bundles, memory)
    regimes = [regime for regime in REGIMES if regime == "hot" or regime in samples.items]
    rows = [row for regime in regimes for row in Replay(systems, fresh, runs, memory, regime).rows()]
    return rows, task_facts(systems, samples)


def write_results(rows: Sequence[Row], facts: Sequence[Row], out: Path) -> None:
    """Write the raw results and draw them."""
    save_rows(rows, out / ROWS)
    save_rows(facts, out / FACTS)
    save_facts({"tasks": [row["task"] for row in facts]}, out / "deadlines.json")
    draw_deadlines(out)


def draw_deadlines(out: Path) -> None:
    """Draw figures and table from the raw results in `out`."""
    rows = load_rows(out / ROWS)
    for regime in dict.fromkeys(str(row["regime"]) for row in rows):
        for kind in KINDS:
            name = f"deadlines_{kind}" if regime == "hot" else f"deadlines_{kind}_{regime}"
            save(partial(figure.draw, where(rows, regime=regime), kind), out / name)
    (out / TABLE).write_text(as_markdown(rows, load_rows(out / FACTS)), encoding="utf-8")


def task_facts(systems: Systems, samples: CostSamples) -> Row:
    """Return the numbers that describe a task and its systems, as one row."""
    task, search, bundle = systems.task, systems.search, systems.bundles["Poly-Dom"]
    everything = (1 << len(task.space)) - 1
    (full,) = search.trainer_.scores([everything])
    return {
        **_item_facts(task),
        "features": len(task.space),
        "steps": len(task.space.steps),
        "rounds": samples.n_rounds,
        "answers": " / ".join(str(items.seconds[0].size) for items in samples.items.values()) or "–",
        "deadlines": f"{format_seconds(systems.deadlines[0])} to {format_seconds(systems.deadlines[-1])}",
        "trained": len(search.expanded_),
        "trained by all": len(systems.scores),
        "candidates": len(bundle.stored.shipped),
        "models": len(bundle.models),
        "prior score": round(search.prior_[1], 4),
        "full set score": round(full, 4),
        "best score": round(max(systems.scores.values()), 4),
    }


def _item_facts(task: Task) -> Row:
    sizes = [float(task.space.size(item)) for item in [*task.items, *task.test_items]]
    return {
        "task": task.name,
        "items": len(task.items),
        "test items": len(task.test_items),
        "classes": len(Counter(task.labels)),
        "smallest": f"{min(sizes):g}",
        "largest": f"{max(sizes):g}",
    }
