"""What the features of a task cost here: measured once, half of the rounds to plan with and half to replay."""

from pathlib import Path

from polydom_builder.costs.coverage import check_coverage
from polydom_builder.exceptions import FitError
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure

from .task import Task

QUANTILE = 0.99
"""The share of answers that must be in time by the plan."""

ROUNDS, SECONDS = 2000, 40.0
"""At most so many samples, at most so long, of each task."""


def measured_costs(task: Task, folder: Path, seconds: float = SECONDS) -> CostSamples:
    """Measure the features of a task on its items, or return what was measured before of the same source.

    Parameters
    ----------
    task : Task
    folder : Path
        Keeps the samples as ``NAME.costs``; delete the file to measure again.
    seconds : float
        At most so long.
    """
    file = folder / f"{task.name}.costs"
    if not _serves(file, task):
        for old in (file, file.with_name(file.name + ".part")):
            old.unlink(missing_ok=True)
        items = [*task.items, *task.test_items]
        journal = FileJournal(file)
        measure(task.space, items, rounds=ROUNDS, seconds=seconds, quantile=QUANTILE, precision=0.01, journal=journal)
    return load_costs(file)


def halves(samples: CostSamples) -> tuple[CostSamples, CostSamples]:
    """Return the even rounds, to plan with, and the odd ones, to replay: slow spells fall into both."""
    return samples.rounds(slice(0, None, 2)), samples.rounds(slice(1, None, 2))


def _serves(file: Path, task: Task) -> bool:
    """Tell whether a file holds samples of these features, over all the sizes of the task."""
    if not file.exists():
        return False
    sizes = [float(task.space.size(item)) for item in [*task.items, *task.test_items]]
    try:
        samples = load_costs(file)
        check_coverage(samples, sizes, (min(sizes), max(sizes)))
    except (MeasurementError, FitError):
        return False
    return samples.fingerprint == source_fingerprint(task.space)
