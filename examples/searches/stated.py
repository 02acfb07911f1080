"""Are stated scores right? Searches on halves of the items, each tested on the other half."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from examples.deadlines.systems import planned_times
from examples.paper.results import Row, column, where
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle

from .looked_up import looked_up
from .setting import Setting, item_weights
from .trainings import mean_and_error

KEYS = ("measured", "stated", "low", "high", "tested", "chance")
Z = 1.645
"""Standard errors on either side of a 90 % interval."""

N_SPLITS = 20

WORDS = (
    f"{N_SPLITS} searches, each on a random half of the items, answer the other half at eight deadlines. *Too high "
    "before* is by how many points the measured scores of the models that answer lie above their scores on the other "
    "half, in the mean; *after* the same for the corrected scores, which a bundle states. *Within* is the share of "
    "the scores on the other half that lie in their 90 % intervals, after the chance of that half is added to these; "
    "*below* is the share that is lower. Scores are measured on folds, by models that learn from fewer items than "
    "those that answer, so stated scores may be too low. Items of a group, such as a speaker, are in both halves."
)


def rows(setting: Setting, n_splits: int = N_SPLITS) -> list[Row]:
    """Return a row for each split and deadline."""
    task = setting.task
    space, times = looked_up(task, setting.folder), planned_times(task, setting.samples)
    labels = np.array(task.labels)
    found: list[Row] = []
    for k, (build, test) in enumerate(ShuffleSplit(n_splits, test_size=0.5, random_state=0).split(labels)):
        search = setting.search(space=space, memory=None, limits__max_mismatches=len(build))
        search.fit(build.tolist(), labels[build].tolist(), None, times)
        with tempfile.TemporaryDirectory() as folder:
            bundle = search.export(Path(folder) / "half.bundle")
        for deadline in setting.deadlines:
            ends = stated(bundle, [space.size(item) for item in test.tolist()], deadline)
            right = search.predict(test.tolist(), deadline) == labels[test]
            tested, chance = mean_and_error(right, item_weights(labels[test], task.scoring))
            row: Row = {"task": task.name, "split": k, "deadline": deadline, **ends}
            found.append(row | {"tested": tested, "chance": chance})
        print(f"{task.name}: split {k + 1} of {n_splits}", flush=True)
    return found


def stated(bundle: Bundle, sizes: list[float], deadline: float) -> Row:
    """Return the mean stated score and interval of the models that answer items of these sizes."""
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
        measured, stated_, low, high, tested, chance = (np.array(column(mine, key)) for key in KEYS)
        off = tested - 0.5 * (low + high)
        half = np.hypot(0.5 * (high - low), Z * chance)
        found.append(
            {
                "task": name,
                "too high before": _signed(measured - tested),
                "after": _signed(stated_ - tested),
                "within": f"{100.0 * (np.abs(off) <= half).mean():.0f} %",
                "below": f"{100.0 * (off < -half).mean():.0f} %",
            }
        )
    return found


def _signed(differences: Floats) -> str:
    return f"{round(100.0 * float(differences.mean()), 1) + 0.0:+.1f}"  # never -0.0
