"""A task: labelled items to build with, items to test with, and the features of both."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from polydom_runtime import FeatureSpace


@dataclass(frozen=True)
class Task:
    """The items, labels and features that systems are built and tested with.

    `items`, `labels`: items to build with, and their labels. `groups`: group of each item; all items of a group are in
    the same fold. `test_items`, `test_labels`: items to test, from other sources than `items`, and their labels.
    `scoring`: name of a scorer of scikit-learn. `folds`: number of folds of the cross-validation.
    """

    name: str
    space: FeatureSpace
    items: list[Any]
    labels: list[Any]
    groups: list[Hashable] | None
    test_items: list[Any]
    test_labels: list[Any]
    scoring: str = "accuracy"
    folds: int = 5

    @property
    def test_sizes(self) -> list[float]:
        """The sizes of the test items."""
        return [float(self.space.size(item)) for item in self.test_items]
