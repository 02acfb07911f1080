"""The real times of models in a replay: timed in real answers, so that no system gains from what its bundle states."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import Memory

from polydom_builder.costs.fit_times import REFERENCE_MODEL, reference_runs
from polydom_builder.simulation import Trials
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.model_bench import ModelBench, Order, run_exported
from polydom_runtime.pauses import collector_off, memory_kept

from .task import Task

SECONDS, ROUNDS, ITEMS = 6.0, 30, 100
LEAST = 0.5
"""A model takes at least this share of its usual time."""


Model = tuple[Order, Engine]
"""The features of a model, and the engine that runs it."""


class ModelRuns:
    """The time of each model in an answer: its own median, and what this answer adds to the reference model.

    The time of the reference model is known in every answer that is replayed. After a sleep all models take longer by
    the same constant. The reference model runs after all features, so its times spread more than those of models that
    run after few: of what an answer adds to its median, only a share counts.

    Parameters
    ----------
    medians : dict of (tuple of int, str) to float
        Seconds, by the order of the model's features and by its engine.
    share : float
        The spread of models as a share of that of the reference model, from 0 to 1.
    added : dict of str to float
        How much longer than hot models take in other regimes, in seconds.
    """

    def __init__(
        self, medians: Mapping[Model, float], share: float = 1.0, added: Mapping[Regime, float] | None = None
    ) -> None:
        self._medians, self._share, self._added = dict(medians), share, added or {}
        self._usual = float(np.median(list(medians.values()))) if medians else 0.0

    def of(self, model: Model | None, trials: Trials, regime: Regime = "hot") -> Floats:
        """Return the time of a model on each trial in seconds; that of a usual one if it was never timed, or None."""
        if not self._medians:
            return trials.model_seconds
        usual = (self._usual if model is None else self._medians.get(model, self._usual)) + self._added.get(regime, 0.0)
        beyond = trials.model_seconds - np.median(trials.model_seconds)
        return np.maximum(usual + self._share * beyond, LEAST * usual)

    def in_bundle(self, bundle: Bundle, trials: Trials, regime: Regime = "hot") -> dict[Order, Floats]:
        """Return the times of all models of a bundle."""
        return {entry.order: self.of((entry.order, entry.engine), trials, regime) for entry in bundle.models}


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
        (entry.order, entry.engine): bundle.model_bytes(k)
        for bundle in bundles.values()
        for k, entry in enumerate(bundle.models)
    }
    n_classes = len(next(iter(bundles.values())).space.classes)
    timed = memory.cache(_timed, ignore=["task"])
    listed = [(order, data, engine) for (order, engine), data in models.items()]
    medians, spread = timed(task, task.name, samples.fingerprint, listed, n_classes, identity())
    low, high = np.quantile(reference_runs(samples.items["hot"]), [0.5, 0.9])
    share = spread * float(np.median(list(medians.values()))) / max(float(high - low), 1e-9)
    usual = {regime: float(np.median(items.models[REFERENCE_MODEL])) for regime, items in samples.items.items()}
    added = {regime: max(seconds - usual["hot"], 0.0) for regime, seconds in usual.items()}
    return ModelRuns(medians, min(share, 1.0), added)


def _timed(
    task: Task,
    name: str,
    source: str,
    models: list[tuple[Order, bytes, Engine]],
    n_classes: int,
    machine: Mapping[str, Any],
) -> tuple[dict[Model, float], float]:
    """Return the median time of each model, and by which share of it the 0.9 quantile is longer, for all of them."""
    chosen = np.random.default_rng(0).permutation(len(task.test_items))[:ITEMS].tolist()
    orders, data, engines = ([*column] for column in zip(*models, strict=True))
    with collector_off(), memory_kept():
        run_of = run_exported(data, n_classes, engines)
        hot = ModelBench(task.space, [task.test_items[k] for k in chosen], orders, run_of).hot(SECONDS, ROUNDS)
    medians = [float(np.nanmedian(hot.model_seconds[hot.models == k])) for k in range(len(orders))]
    relative = hot.model_seconds / np.array(medians)[hot.models]
    return dict(zip(zip(orders, engines, strict=True), medians, strict=True)), float(
        np.nanquantile(relative, 0.9)
    ) - 1.0
