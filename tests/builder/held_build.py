"""A build that a test can kill; the command line says CACHE OUT LOG [LAST].

It logs a line a scoring. When there are LAST lines, it waits.
"""

import signal
import sys
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from polydom_builder import PolyDomSearch, SearchLimits
from tests.builder import task


def held_accuracy(estimator: Any, rows: Any, labels: Any) -> float:
    """Return the accuracy, unless this is the last scoring."""
    log = Path(sys.argv[3])
    with log.open("a") as file:
        file.write("scored\n")
    if sys.argv[4:] and len(log.read_text().splitlines()) >= int(sys.argv[4]):
        signal.pause()
    return float(accuracy_score(labels, estimator.predict(rows)))


def main() -> None:
    """Build until the end, or until it waits."""
    cache, out, log = sys.argv[1:4]
    Path(log).touch()
    search = PolyDomSearch(
        LogisticRegression(),
        task.space,
        deadline=(50e-6, 400e-6),
        cv=3,
        limits=SearchLimits(max_trainings=10),
        scoring=held_accuracy,
        memory=cache,
    )
    search.fit(*task.items(60), costs=task.costs)
    search.export(out)
