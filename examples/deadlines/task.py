"""A task: labelled items to build with, items to test with, and the features of both."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from polydom_runtime import FeatureSpace


@dataclass(frozen=True)
class Task:
    """What a system is built and tested on.

    Parameters
    ----------
    name : str
    space : FeatureSpace
    items, labels : list
        To build with.
    groups : list or None
        Items of one group never stand on both sides of a fold.
    test_items, test_labels : list
        From sources that none of `items` is from.
    scoring : str
        As in scikit-learn.
    folds : int
        In which scores are estimated.
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
