"""Several estimators in one bundle, beside each of them alone."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from examples.deadlines.systems import N_DEADLINES, estimator
from examples.deadlines.task import Task
from examples.paper.results import Row

from .setting import Setting

N_ITEMS, LONGER = 600, 4.0
"""Slow models are trained often here, so on a part of the items; and they need longer deadlines than quick ones."""

WORDS = (
    f"Three estimators, each alone and together, on {N_ITEMS} items to build with: sets that were trained, of all "
    "estimators, and the score on test items in percent: the mean over eight deadlines, and at the shortest and the "
    f"longest one. The longest deadline is {LONGER:g} times that of the other tables, since two of the three are slow."
)


def rows(setting: Setting) -> list[Row]:
    """Return a row for each estimator alone and for all two or three of them."""
    setting = replace(setting, task=some_items(setting.task, N_ITEMS), deadlines=longer(setting.deadlines))
    every: dict[str, Any] = {
        "logistic regression": estimator(setting.task),
        "trees": ExtraTreesClassifier(50, max_depth=12, random_state=0),
        "SVC": make_pipeline(StandardScaler(), SVC(C=10.0)),
    }
    found: list[Row] = []
    for names in (names for count in (1, 2, 3) for names in combinations(every, count)):
        search = setting.fitted(estimator={name: every[name] for name in names})
        scores = 100.0 * setting.right(search) @ setting.weights
        found.append(
            {
                "task": setting.task.name,
                "estimators": " + ".join(names),
                "trained": sum(len(scores) for scores in search.scores_.values()),
                "score": round(float(scores.mean()), 2),
                "shortest": round(float(scores[0]), 2),
                "longest": round(float(scores[-1]), 2),
            }
        )
    return found


def some_items(task: Task, count: int) -> Task:
    """Return a task with a random part of the items to build with."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(task.items))[:count]).tolist()
    groups = None if task.groups is None else [task.groups[k] for k in chosen]
    return replace(task, items=[task.items[k] for k in chosen], labels=[task.labels[k] for k in chosen], groups=groups)


def longer(deadlines: tuple[float, ...]) -> tuple[float, ...]:
    """Return eight deadlines from the shortest one of a task, of which the longest is `LONGER` times its longest."""
    return tuple(np.geomspace(deadlines[0], LONGER * deadlines[-1], N_DEADLINES).tolist())
