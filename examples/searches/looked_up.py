"""Features that are looked up in a table, so that many searches on parts of the items compute none again."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.deadlines.task import Task
from polydom_runtime import Feature, FeatureSpace, Step


def looked_up(task: Task, folder: Path) -> FeatureSpace:
    """Return features of the same names, widths and steps, of which an item is its number in the task.

    `task`: of whose items to build with the features are computed. `folder`: keeps the features as
    ``NAME-features.npz``.
    """
    file = folder / f"{task.name}-features.npz"
    if not file.exists():
        np.savez(file, rows=np.stack([task.space.extract_all(item) for item in task.items]))
    with np.load(file) as kept:
        rows: NDArray[np.float32] = kept["rows"]
    sizes = [float(task.space.size(item)) for item in task.items]
    steps = {step.name: Step(step.name, _itself) for step in task.space.steps}
    ends = np.cumsum([0, *(feature.width for feature in task.space.features)]).tolist()
    features = [
        Feature(feature.name, _values(rows, slice(*place)), feature.width, feature.step and steps[feature.step.name])
        for feature, place in zip(task.space.features, pairwise(ends), strict=True)
    ]
    return FeatureSpace(features, sizes.__getitem__)


def _itself(item: int) -> int:
    return item


def _values(rows: NDArray[np.float32], place: slice) -> Callable[[int], Any]:
    return lambda item: rows[item, place]
