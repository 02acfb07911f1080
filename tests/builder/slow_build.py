"""``python -m tests.builder.slow_build CACHE OUT LOG``: a build that a test can kill; logs a line a scoring."""

import sys
import time
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from polydom_builder import PolyDomSearch
from tests.builder import task


def slow_accuracy(estimator: Any, rows: Any, labels: Any) -> float:
    """Return the accuracy, taking its time."""
    with open(sys.argv[3], "a") as log:
        log.write("scored\n")
    time.sleep(0.05)
    return float(accuracy_score(labels, estimator.predict(rows)))


if __name__ == "__main__":
    sys.modules["tests.builder.slow_build"] = sys.modules["__main__"]
    slow_accuracy.__module__ = "tests.builder.slow_build"
    cache, out, log = sys.argv[1:]
    Path(log).touch()
    search = PolyDomSearch(
        LogisticRegression(),
        task.space,
        deadline=(50e-6, 400e-6),
        cv=3,
        scoring=slow_accuracy,
        memory=cache,
    )
    search.fit(*task.items(120), costs=task.costs)
    search.export(out)
