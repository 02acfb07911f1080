"""Are stated scores right? Searches on halves of the items, each tested on the other half."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from examples.deadlines.systems import planned_times
from examples.paper.results import Row, column, where
from polydom_runtime.bundles.bundle import Bundle

from .looked_up import looked_up
from .setting import Setting

KEYS = ("measured", "stated", "low", "high", "tested")
N_SPLITS, MANY_GROUPS = 20, 10
"""With fewer groups than these, items of a group are on both sides: halves of three loads or five speakers differ."""

WORDS = (
    f"{N_SPLITS} searches, each on a random half of the items, answer the other half at eight deadlines. *Too high "
    "before* is by how many points the measured scores of the models that answer lie above their scores on the other "
    "half, in the mean; *after* the same for the corrected scores, which a bundle states. *Within* is the share of "
    "the scores on the other half that lie in their 90 % intervals. Where there are many groups, all items of a "
    "group are in the same half."
)


def rows(setting: Setting, n_splits: int = N_SPLITS) -> list[Row]:
    """Return a row for each split and deadline."""
    task = setting.task
    space, times = looked_up(task, setting.folder), planned_times(task, setting.samples)
    numbers, labels = np.arange(len(task.items)), np.array(task.labels)
    many = task.groups is not None and len(set(task.groups)) >= MANY_GROUPS
    groups = np.array(task.groups) if many else None
    kind = GroupShuffleSplit if many else ShuffleSplit
    found: list[Row] = []
    for k, (build, test) in enumerate(kind(n_splits, test_size=0.5, random_state=0).split(numbers, groups=groups)):
        search = setting.search(space=space, memory=None, max_mismatches=len(build))
        search.fit(build.tolist(), labels[build].tolist(), None if groups is None else groups[build].tolist(), times)
        with tempfile.TemporaryDirectory() as folder:
            bundle = search.export(Path(folder) / "half.bundle")
        for deadline in setting.deadlines:
            ends = stated(bundle, [space.size(item) for item in test.tolist()], deadline)
            tested = search.score(test.tolist(), labels[test].tolist(), deadline)
            found.append({"task": task.name, "split": k, "deadline": deadline, **ends, "tested": tested})
        print(f"{task.name}: split {k + 1} of {n_splits}", flush=True)
    return found


def stated(bundle: Bundle, sizes: list[float], deadline: float) -> Row:
    """Return the mean of what a bundle states of the models that answer items of these sizes."""
    prior = bundle.prior.accuracy
    known: dict[Any, tuple[float, ...]] = {0: (prior, prior, prior, prior)}
    for entry in bundle.models:
        if entry.estimate is not None:
            known[entry.mask] = (entry.estimate.measured, entry.accuracy, entry.estimate.low, entry.estimate.high)
    means = np.mean([known[bundle.index.best(size, deadline).mask] for size in sizes], axis=0)
    return dict(zip(("measured", "stated", "low", "high"), means.tolist(), strict=True))


def in_short(rows: list[Row]) -> list[Row]:
    """Return a row for each task."""
    found: list[Row] = []
    for name in dict.fromkeys(row["task"] for row in rows):
        mine = where(rows, task=name)
        measured, stated_, low, high, tested = (np.array(column(mine, key)) for key in KEYS)
        found.append(
            {
                "task": name,
                "too high before": f"{100.0 * (measured - tested).mean():+.1f}",
                "after": f"{100.0 * (stated_ - tested).mean():+.1f}",
                "within": f"{100.0 * ((low <= tested) & (tested <= high)).mean():.0f} %",
            }
        )
    return found
