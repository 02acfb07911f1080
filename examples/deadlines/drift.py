"""A device that becomes slower than when it was measured, with and without the estimate of the slow-down."""

from collections.abc import Sequence

import numpy as np

from examples.paper.results import Row
from polydom_builder.simulation import Trials, simulate
from polydom_runtime.bundles.bundle import Bundle

FACTORS = (1.0, 1.5, 2.0, 3.0)
BEFORE, FIRST = 200, 10
"""Number of items before the device slows down, and number of items after it that the estimate has to adapt."""


def slow_down(bundle: Bundle, trials: Trials, deadline: float, task: str) -> list[Row]:
    """Multiply all times after the first items by a factor; return a row for each factor, with and without estimate."""
    rows: list[Row] = []
    for factor in FACTORS:
        slowed = trials.slowed(np.where(np.arange(len(trials)) < BEFORE, 1.0, factor))
        for adapt in (True, False):
            answers = simulate(bundle, slowed, deadline, adapt=adapt).answers[BEFORE:]
            late = [not a.deadline_met for a in answers]
            rows.append(
                {
                    "task": task,
                    "deadline": deadline,
                    "slower": factor,
                    "estimate": "yes" if adapt else "no",
                    "score": float(
                        np.mean([0.0 if missed else a.accuracy for a, missed in zip(answers, late, strict=True)])
                    ),
                    "late at first": sum(late[:FIRST]),
                    "late after": sum(late[FIRST:]),
                    "items": len(answers) - FIRST,
                    "s": float(np.median([a.slowdown for a in answers[FIRST:]])),
                }
            )
    return rows


def drift_table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = [
        f"| task | deadline | × slower | estimate | score | late of the first {FIRST} | late after | share | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        share = float(r["late after"]) / float(r["items"])
        lines.append(
            f"| {r['task']} | {float(r['deadline']) * 1e3:.2f} ms | {r['slower']} | {r['estimate']} | "
            f"{float(r['score']):.3f} | {r['late at first']} | {r['late after']} of {r['items']} | {share:.3%} | "
            f"{float(r['s']):.2f} |"
        )
    return "\n".join(lines) + "\n"
