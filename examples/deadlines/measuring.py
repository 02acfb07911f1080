"""Costs of a task's features on this machine, measured once: half of the times to plan with, half to replay."""

from pathlib import Path

from polydom_builder.costs.sample_checks import check_coverage
from polydom_builder.exceptions import FitError
from polydom_builder.simulation.trials import halves
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure

from . import answers
from .task import Task

__all__ = ["QUANTILE", "SECONDS", "halves", "measured_costs"]

QUANTILE = 0.99
"""The plan promises this share of the answers in time."""

ROUNDS, SECONDS = 2000, 30.0
"""The greatest number of samples of each task, and the longest time to measure it in seconds."""


def measured_costs(task: Task, folder: Path, seconds: float = SECONDS) -> CostSamples:
    """Measure the features of a task on its items, or return the samples of an earlier run with the same source.

    Many items are also answered as they come, back to back and after sleeps.

    `folder`: folder that keeps the samples as ``NAME.costs``, and the answers as ``NAME-answers.npz``; delete the
    former to measure again. `seconds`: the longest time to measure; the answers may take half as long again.
    """
    file = folder / f"{task.name}.costs"
    if not _serves(file, task):
        for old in (file, file.with_name(file.name + ".part")):
            old.unlink(missing_ok=True)
        items = [*task.items, *task.test_items]
        journal = FileJournal(file)
        measure(task.space, items, rounds=ROUNDS, seconds=seconds, quantile=QUANTILE, precision=0.01, journal=journal)
    kept = folder / f"{task.name}-answers.npz"
    return answers.with_many_answers(task, load_costs(file), kept, answers.SHARE_OF_TIME * seconds)


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
