"""Real answers on this machine, no replays: every test item in five runs, hot, at eight deadlines."""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.paper.results import Row, save_rows
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.clock import collector_off
from polydom_runtime.costs import format_seconds
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.predictor import Predictor

from .markdown import markdown_table
from .measuring import QUANTILE, measured_costs
from .replay import mean_of_classes
from .systems import build_poly_dom
from .task import Task
from .tasks import chosen_loaders

TASKS = ("bearings", "digits", "patches", "scenes")
N_RUNS, OFTEN = 5, 4
"""Runs in which every item is answered. If it is late in `OFTEN` of them, that is no chance."""

HEAD = ("task", "deadline", "late", "share", f"items late in {OFTEN} of {N_RUNS} runs", "score", "as promised")


def run_real(data: Path | None, out: Path, names: Sequence[str] = ()) -> None:
    """Answer every test item of some tasks in five runs at eight deadlines, and write ``real.csv`` and ``real.md``."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for load in chosen_loaders(names or TASKS, quick=False):
        task = load(data or Path())
        bundle, deadlines = build_poly_dom(task, measured_costs(task, out), out, QUANTILE)
        rows += real_rows(task, bundle, deadlines)
        save_rows(rows, out / "real.csv")
        (out / "real.md").write_text(real_table(rows) + "\n", encoding="utf-8")
        print(f"{task.name}: {N_RUNS} runs done; see {out / 'real.md'}", flush=True)


def real_rows(task: Task, bundle: Bundle, deadlines: Sequence[float], n_runs: int = N_RUNS) -> list[Row]:
    """Answer every test item in each run, in a new order, at each deadline; return a row for each deadline."""
    usable = [deadline for deadline in deadlines if not too_short(bundle, deadline)]
    late = np.zeros((len(usable), n_runs, len(task.test_items)), dtype=bool)
    right = np.zeros_like(late)
    promised = np.zeros(late.shape)
    for run in range(n_runs):
        for k, deadline in enumerate(usable):
            late[k, run], right[k, run], promised[k, run] = _answered(task, bundle, deadline, seed=run)
    targets = np.unique(np.asarray(task.test_labels), return_inverse=True)[1]
    return [
        {
            "task": task.name,
            "deadline": deadline,
            "late": int(late[k].sum()),
            "answers": late[k].size,
            "often late": int((late[k].sum(axis=0) >= OFTEN).sum()),
            "items": len(task.test_items),
            "score": float(np.mean([_score(task, right[k, run], targets) for run in range(n_runs)])),
            "promised": float(np.where(late[k], 0.0, promised[k]).mean()),
        }
        for k, deadline in enumerate(usable)
    ]


def real_table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown; more late answers than promised are in bold."""
    return markdown_table(HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[object, ...]:
    share, often = float(row["late"]) / float(row["answers"]), float(row["often late"]) / float(row["items"])
    return (
        row["task"],
        format_seconds(float(row["deadline"])),
        f"{row['late']} of {row['answers']}",
        _bold(f"{100 * share:.2f} %", share),
        _bold(f"{row['often late']} of {row['items']}", often),
        f"{100 * float(row['score']):.1f}",
        f"{100 * float(row['promised']):.1f}",
    )


def _bold(text: str, share: float) -> str:
    return f"**{text}**" if share > 1.0 - QUANTILE + 1e-9 else text


def _answered(
    task: Task, bundle: Bundle, deadline: float, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Return for each test item whether it was late, right and in time, and the score that its model promises."""
    predictor: Any = Predictor(bundle, task.space, deadline=deadline)
    predictor.warm_up(task.test_items[0])
    late = np.zeros(len(task.test_items), dtype=bool)
    right, promised = late.copy(), np.zeros(len(late))
    gc.collect()
    with collector_off():
        for k in np.random.default_rng(seed).permutation(len(late)).tolist():
            answer = predictor.predict_one(task.test_items[k])
            late[k], promised[k] = not answer.deadline_met, answer.accuracy
            right[k] = answer.deadline_met and answer.label == task.test_labels[k]
    return late, right, promised


def _score(task: Task, right: NDArray[np.bool_], targets: NDArray[np.int64]) -> float:
    return mean_of_classes(right, targets) if task.scoring == "balanced_accuracy" else float(right.mean())
