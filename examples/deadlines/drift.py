"""Times that differ from those of the build: a node that learns, one that does not, and one that knows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from examples.paper.results import Row
from polydom_builder.simulation import Trials, simulate
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.learning.learned_times import LearnedTimes
from polydom_runtime.learning.unit_history import Change
from polydom_runtime.prediction import Prediction

CHANGED_AT, FIRST = 200, 60
"""Number of items before times change, and number of items after it in which the node may still adapt."""

FACTORS = (1.5, 2.0, 3.0, 0.25)
WRONG = 3.0
"""The limit of the factor by which each unit is wrong, up or down, each by its own."""

ALL = "all"
HEAD = "| task | deadline | what takes longer | node | score | late of the first 60 | late after | share |"

Factors = Mapping[str, float]
"""The factor of each unit by name, and of `ALL` others, models included."""


def drifted(bundle: Bundle, trials: Trials, deadline: float, task: str) -> list[Row]:
    """Let times change after the first items; return a row for each change and node."""
    first = simulate(bundle, trials, deadline, adapt=False).answers
    usual = Counter(name for answer in first for name in answer.features).most_common(1)
    changes: dict[str, Factors] = {"nothing": {}}
    changes |= {f"everything × {factor:g}": {ALL: factor} for factor in FACTORS}
    changes |= {f"{name} × 4": {name: 4.0} for name, _ in usual}
    rng = np.random.default_rng(0)
    units = bundle.times.worst.names
    limit = np.log(WRONG)
    changes["each by its own factor"] = dict(zip(units, np.exp(rng.uniform(-limit, limit, len(units))), strict=True))
    rows: list[Row] = []
    for what, factors in changes.items():
        real = _changed(trials, factors)
        nodes = {
            "does not learn": simulate(bundle, real, deadline, adapt=False).answers[CHANGED_AT:],
            "learns": simulate(bundle, real, deadline).answers[CHANGED_AT:],
            "knows": simulate(_knowing(bundle, deadline, factors), real, deadline, adapt=False).answers[CHANGED_AT:],
        }
        rows += [{"task": task, "deadline": deadline, "change": what, "node": n, **_row(a)} for n, a in nodes.items()]
    return rows


def _changed(trials: Trials, factors: Factors) -> Trials:
    changed = np.arange(len(trials)) >= CHANGED_AT
    by_unit = np.array([factors.get(unit, factors.get(ALL, 1.0)) for unit in trials.units])
    return replace(
        trials,
        seconds=trials.seconds * np.where(changed, by_unit[:, None], 1.0),
        model_seconds=trials.model_seconds * np.where(changed, factors.get(ALL, 1.0), 1.0),
    )


def _knowing(bundle: Bundle, deadline: float, factors: Factors) -> Bundle:
    times = LearnedTimes(bundle, deadline)
    changes = {unit: Change(factors.get(str(unit), factors.get(ALL, 1.0))) for unit in times.changes("hot")}
    return times.bundle("hot", changes)


def _row(answers: Sequence[Prediction]) -> Row:
    late = [not answer.deadline_met for answer in answers]
    after = answers[FIRST:]
    return {
        "score": float(np.mean([answer.accuracy * answer.deadline_met for answer in after])),
        "late at first": sum(late[:FIRST]),
        "late after": sum(late[FIRST:]),
        "items": len(after),
    }


def drift_table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    for r in rows:
        share = float(r["late after"]) / float(r["items"])
        lines.append(
            f"| {r['task']} | {float(r['deadline']) * 1e3:.2f} ms | {r['change']} | {r['node']} | "
            f"{float(r['score']):.3f} | {r['late at first']} | {r['late after']} of {r['items']} | {share:.2%} |"
        )
    return "\n".join(lines) + "\n"
