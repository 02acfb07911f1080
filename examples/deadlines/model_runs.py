"""The real times of models in a replay: timed in real answers, so that no system gains from what its bundle states."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import Memory

from polydom_builder.costs.fit_times import REFERENCE_MODEL
from polydom_builder.simulation import Trials
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.model_bench import ModelBench, Order, run_exported
from polydom_runtime.pauses import collector_off, memory_kept

from .task import Task

SECONDS, ROUNDS, ITEMS = 6.0, 30, 100
LEAST = 0.5
"""A model takes at least this share of the time of the reference model."""


class ModelRuns:
    """How much longer than the reference model each model takes, in the median.

    The time of the reference model is known in every answer that is replayed, hot or after a sleep. What a model takes
    more than that is nearly a constant, so it is enough to know this constant.

    Parameters
    ----------
    longer : dict of tuples of int to float
        Seconds, by the order of the model's features.
    """

    def __init__(self, longer: Mapping[Order, float]) -> None:
        self._longer = dict(longer)
        self._usual = float(np.median(list(self._longer.values()))) if longer else 0.0

    def of(self, order: Order, trials: Trials) -> Floats:
        """Return the time of a model on each trial in seconds; that of a usual one if it was never timed."""
        reference = trials.model_seconds
        return np.maximum(reference + self._longer.get(order, self._usual), LEAST * reference)

    def in_bundle(self, bundle: Bundle, trials: Trials) -> dict[Order, Floats]:
        """Return the times of all models of a bundle."""
        return {entry.order: self.of(entry.order, trials) for entry in bundle.models}


def timed_models(task: Task, samples: CostSamples, bundles: Mapping[str, Bundle], memory: Memory) -> ModelRuns:
    """Time all models of some bundles in answers to test items, hot.

    Parameters
    ----------
    task : Task
    samples : CostSamples
        Has the times of the reference model.
    bundles : dict of str to Bundle
        Of the same features, on the disk.
    memory : Memory
        Cache of the times.
    """
    if "hot" not in samples.items:  # then nothing is known of real answers
        return ModelRuns({})
    models = {
        entry.order: bundle.model_bytes(k) for bundle in bundles.values() for k, entry in enumerate(bundle.models)
    }
    n_classes = len(next(iter(bundles.values())).space.classes)
    timed = memory.cache(_medians, ignore=["task"])
    medians = timed(task, task.name, samples.fingerprint, list(models.items()), n_classes, identity())
    reference = float(np.median(samples.items["hot"].models[REFERENCE_MODEL]))
    return ModelRuns({order: seconds - reference for order, seconds in medians.items()})


def _medians(
    task: Task, name: str, source: str, models: list[tuple[Order, bytes]], n_classes: int, machine: Mapping[str, Any]
) -> dict[Order, float]:
    """Return the median time of each model; the other arguments are the key of the cache."""
    chosen = np.random.default_rng(0).permutation(len(task.test_items))[:ITEMS].tolist()
    orders = [order for order, _ in models]
    with collector_off(), memory_kept():
        run_of = run_exported([data for _, data in models], n_classes)
        hot = ModelBench(task.space, [task.test_items[k] for k in chosen], orders, run_of).hot(SECONDS, ROUNDS)
    return {order: float(np.nanmedian(hot.model_seconds[hot.models == k])) for k, order in enumerate(orders)}
