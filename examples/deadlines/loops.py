"""Real loops on this machine that sleep between two items: rehearsed, not rehearsed, and as if code were never cold."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from examples.paper.results import Row, save_rows
from polydom_runtime import Monitor, Predictor, Seams
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.clock import collector_off
from polydom_runtime.costs import format_seconds
from polydom_runtime.policy.deadline import too_short

from .markdown import markdown_table
from .measuring import QUANTILE, measured_costs
from .systems import build_poly_dom
from .task import Task
from .tasks import LOADERS

COUNTS = {0.01: 300, 0.02: 300, 0.05: 120, 0.2: 60}
"""The number of items for each period in seconds, so that a loop takes 3 to 12 seconds."""

USUAL_PERIOD = 0.02
"""The period at which loops are also run that plan as if code were never cold."""

SURFACE_DEADLINES = (0.0004, 0.0006, 0.001, 0.002)
TASKS = ("surface", "digits", "bearings")


class Way(NamedTuple):
    """A way to run a loop.

    `options`: of the predictor. `only_usual`: whether it is tried at the usual period only.
    """

    name: str
    rehearse: bool
    options: dict[str, Any]
    only_usual: bool = False


WAYS = (
    Way("rehearsed", True, {}),
    Way("not rehearsed", False, {}),
    Way("planned hot", False, {"seams": Seams(regime="hot")}, only_usual=True),
    Way("planned hot, no estimate", False, {"seams": Seams(regime="hot", adapt=False)}, only_usual=True),
)
"""The last two are as of a version without regimes, with and without the estimate of the slow-down."""

HEAD = ("task", "deadline", "period", "loop", "in time and right", "the same items back to back", "late")
SHARES = ("rehearsing", "processor")


def run_loops(data: Path | None, out: Path, names: Sequence[str] = ()) -> None:
    """Run loops at four periods and four deadlines, and write ``loops.csv`` and ``loops.md``."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in names or TASKS:
        task, bundle, deadlines = _built(name, data or Path(), out)
        rows += loop_rows(task, bundle, deadlines)
        save_rows(rows, out / "loops.csv")
        (out / "loops.md").write_text(loop_table(rows) + "\n", encoding="utf-8")
        print(f"{task.name}: loops done; see {out / 'loops.md'}", flush=True)


def loop_rows(
    task: Task, bundle: Bundle, deadlines: Sequence[float], counts: dict[float, int] | None = None
) -> list[Row]:
    """Return a row for each deadline, period and way; deadlines that are too short are left out."""
    rows: list[Row] = []
    for deadline in deadlines:
        if too_short(bundle, deadline):
            continue
        for period, count in (counts or COUNTS).items():
            chosen = np.random.default_rng(0).permutation(len(task.test_items))[:count].tolist()
            hot = float(np.mean(_back_to_back(task, bundle, deadline, chosen)))
            for way in WAYS:
                if deadline < period and (period == USUAL_PERIOD or not way.only_usual):
                    here: Row = {"task": task.name, "deadline": deadline, "period": period, "loop": way.name}
                    rows.append(here | _looped(task, bundle, deadline, period, way, chosen) | {"hot": hot})
    return rows


def loop_table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    return markdown_table((*HEAD, *SHARES), [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[object, ...]:
    return (
        row["task"],
        format_seconds(float(row["deadline"])),
        format_seconds(float(row["period"])),
        row["loop"],
        f"{float(row['right']):.3f}",
        f"{float(row['hot']):.3f}",
        f"{row['late']} of {row['items']}",
        *(f"{100 * float(row[share]):.1f} %" for share in SHARES),
    )


def _built(name: str, data: Path, out: Path) -> tuple[Task, Bundle, tuple[float, ...]]:
    """Return a task, its bundle, and four deadlines: of eight, the first one that leaves out most features is not."""
    if name == "surface":
        patches = LOADERS["patches"](data)
        task, given = replace(patches, name=name), SURFACE_DEADLINES
        bundle, deadlines = build_poly_dom(task, measured_costs(patches, out), out, QUANTILE, deadlines=given)
        return task, bundle, deadlines
    task = LOADERS[name](data)
    bundle, deadlines = build_poly_dom(task, measured_costs(task, out), out, QUANTILE)
    return task, bundle, deadlines[1:5]


def _back_to_back(task: Task, bundle: Bundle, deadline: float, chosen: Sequence[int]) -> list[bool]:
    """Return for each chosen item whether the answer was right and in time, without sleeps."""
    predictor = Predictor(bundle, task.space, deadline=deadline)
    predictor.warm_up(task.test_items[chosen[0]])
    with collector_off():
        answers = [predictor.predict_one(task.test_items[k]) for k in chosen]
    return [a.deadline_met and a.label == task.test_labels[k] for a, k in zip(answers, chosen, strict=True)]


def _looped(task: Task, bundle: Bundle, deadline: float, period: float, way: Way, chosen: Sequence[int]) -> Row:
    """Return the results of one loop. The deadline of each item runs from the start of its period."""
    predictor = Predictor(bundle, task.space, deadline=deadline, **way.options)
    late = right = 0

    def on_answer(number: int, item: Any, answer: Any) -> None:
        nonlocal late, right
        late += not answer.deadline_met
        right += answer.deadline_met and answer.label == task.test_labels[chosen[number]]

    source = (task.test_items[k] for k in chosen)
    monitor = Monitor(source, predictor, period, on_answer, rehearse=way.rehearse)
    began, busy = time.perf_counter(), time.thread_time()
    summary = monitor.run()
    took, used = time.perf_counter() - began, time.thread_time() - busy
    answered = summary.counts.answered
    return {
        "right": right / answered,
        "late": late,
        "items": answered,
        "rehearsing": summary.rehearsals.share,
        "processor": used / took,
    }
