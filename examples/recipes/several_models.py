"""Two bundles on one node that share a deadline: the second one gets the time that the first leaves unused.

    python several_models.py first.bundle second.bundle my_module:space

The first plans with a part of the deadline. Both deadlines run from the arrival of the item, so none of the first's
time is lost.
"""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from polydom_runtime import Monitor, Prediction, Predictor, hardware_clock, space_of


class Pair:
    """Two predictors as one for `Monitor`: its answer is that of the second, and `first` is that of the first."""

    def __init__(self, first: Predictor, second: Predictor) -> None:
        self._first, self._second = first, second
        self.deadline = second.deadline
        self.first: Prediction | None = None

    def warm_up(self, item: Any) -> None:
        """Run the code of both once."""
        self._first.warm_up(item)
        self._second.warm_up(item)

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        """Answer by both, one after the other."""
        arrived_ns = hardware_clock() if arrived_ns is None else arrived_ns
        self.first = self._first.predict_one(item, arrived_ns=arrived_ns)
        return self._second.predict_one(item, arrived_ns=arrived_ns)

    def rehearse(self) -> None:
        """Rehearse both."""
        self._first.rehearse()
        self._second.rehearse()


def main(first: str, second: str, space: str, items: Iterable[Any] | None = None) -> list[tuple[Any, Any]]:
    """Answer items by both bundles, the first within 40 % of the deadline; return the labels."""
    features, labels = space_of(space), list[tuple[Any, Any]]()
    later = Predictor.load(second, features)
    pair = Pair(Predictor.load(first, features, deadline=0.4 * later.deadline), later)

    def on_answer(number: int, item: Any, answer: Prediction) -> None:
        assert pair.first is not None
        labels.append((pair.first.label, answer.label))

    rng = np.random.default_rng(0)
    items = [rng.normal(size=200) for _ in range(20)] if items is None else items
    Monitor(items, pair, max(0.02, later.deadline), on_answer).run()
    return labels


if __name__ == "__main__":
    print(*main(*sys.argv[1:4]), sep="\n")
