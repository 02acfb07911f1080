"""Two deadlines of one item: a first answer to act on at once, and a better one later, both by the same bundle.

    python two_deadlines.py my.bundle my_module:space 2 10

The deadlines are in milliseconds; both run from the arrival of the item. The second answer computes its features again.
"""

import sys
from typing import Any

import numpy as np

from polydom_runtime import Prediction, Predictor, hardware_clock, space_of


class TwoDeadlines:
    """Answers an item twice, by two deadlines in seconds."""

    def __init__(self, bundle: str, space: str, early: float, late: float) -> None:
        features = space_of(space)
        self._early, self._late = (Predictor.load(bundle, features, deadline=d) for d in (early, late))

    def warm_up(self, item: Any) -> None:
        """Run the code of both once."""
        self._early.warm_up(item)
        self._late.warm_up(item)

    def early(self, item: Any) -> tuple[Prediction, int]:
        """Return the first answer, and the arrival of the item for `late`."""
        arrived_ns = hardware_clock()
        return self._early.predict_one(item, arrived_ns=arrived_ns), arrived_ns

    def late(self, item: Any, arrived_ns: int) -> Prediction:
        """Return the better answer, by the second deadline since the arrival."""
        return self._late.predict_one(item, arrived_ns=arrived_ns)


def main(bundle: str, space: str, early_ms: str, late_ms: str) -> list[tuple[Prediction, Prediction]]:
    """Answer some items twice."""
    both = TwoDeadlines(bundle, space, float(early_ms) * 1e-3, float(late_ms) * 1e-3)
    items = [np.random.default_rng(k).normal(size=200) for k in range(10)]
    both.warm_up(items[0])
    answers = []
    for item in items:
        first, arrived_ns = both.early(item)
        # Act on the first answer here, such as stopping a motor.
        answers.append((first, both.late(item, arrived_ns)))
    return answers


if __name__ == "__main__":
    for first, second in main(*sys.argv[1:5]):
        print(first.label, first.features, "then", second.label, second.features)
