"""A task with its times and deadlines, and the searches that all parts of the study start from."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from examples.deadlines.measuring import SECONDS, measured_costs
from examples.deadlines.systems import estimator, planned_costs, shared_parameters, spread_deadlines
from examples.deadlines.task import Task
from polydom_builder.search import PolyDomSearch
from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.measuring.cost_samples import CostSamples

QUICK_SECONDS = 3.0


@dataclass(frozen=True)
class Setting:
    """The settings of one task that all parts of the study share.

    `folder`: keeps times, features, scores and bundles. `samples`: times of the task's features. `deadlines`: eight, in
    seconds, rising.
    """

    task: Task
    folder: Path
    samples: CostSamples
    deadlines: tuple[float, ...]

    @classmethod
    def of(cls, task: Task, folder: Path, quick: bool = False) -> "Setting":
        """Measure the features of a task, or take the times that are in the folder."""
        samples = measured_costs(task, folder, QUICK_SECONDS if quick else SECONDS)
        return cls(task, folder, samples, spread_deadlines(task, planned_costs(task, samples)))

    def search(self, **changes: Any) -> PolyDomSearch:
        """Return a search with some parameters changed, not fitted."""
        shared = shared_parameters(self.task, self.deadlines, self.folder)
        found: PolyDomSearch = PolyDomSearch(estimator(self.task), self.task.space, **shared).set_params(**changes)
        return found

    def fitted(self, **changes: Any) -> PolyDomSearch:
        """Return a search with some parameters changed, fitted on the items to build with."""
        return self.search(**changes).fit(self.task.items, self.task.labels, self.task.groups, self.samples)

    @cached_property
    def weights(self) -> Floats:
        """How much each test item counts in a score, shape ``(n_items,)``; they sum to 1."""
        return item_weights(self.task.test_labels, self.task.scoring)

    def right(self, search: PolyDomSearch) -> Bools:
        """Return which test items a search answers rightly at each deadline, shape ``(n_deadlines, n_items)``."""
        truth, items = np.array(self.task.test_labels), self.task.test_items
        return np.array([search.predict(items, deadline) == truth for deadline in self.deadlines])


def item_weights(labels: ArrayLike, scoring: str) -> Floats:
    """Return the weight of each item in a score; in balanced accuracy all classes count alike.

    >>> item_weights(["a", "a", "b"], "balanced_accuracy").tolist()
    [0.25, 0.25, 0.5]
    """
    _, codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
    if scoring == "balanced_accuracy":
        return np.asarray(1.0 / counts[codes] / len(counts))
    return np.full(len(codes), 1.0 / len(codes))
