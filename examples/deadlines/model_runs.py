"""The real times of models in a replay: timed in real answers, so that no system gains from what its bundle states."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from polydom_builder.simulation import Trials
from polydom_builder.training.cache import Cache
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.clock import collector_off, memory_kept
from polydom_runtime.measuring.answer_bench import ModelBench, Order, run_exported
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.cost_samples import CostSamples

from .task import Task

SECONDS, ROUNDS, SLEEPS, ITEMS = 6.0, 30, 150, 100
LEAST = 0.5
"""A model takes at least this share of its usual time."""


Model = tuple[Order, Engine]
"""The features of a model, and the engine that runs it."""


class ModelRuns:
    """The time of each model in an answer: its own median, and what this answer adds to the reference model.

    The time of the reference model is known in every answer that is replayed. After a sleep all models of an
    engine take longer by the same constant. The reference model runs after all features, so its times spread more than
    those of models that run after few: only a share of its deviation from the median counts.

    `medians`: seconds, by the order of the model's features and by its engine. `share`: the spread of models as a share
    of that of the reference model, from 0 to 1. `added`: how much longer than hot models of an engine take in a regime,
    in seconds.
    """

    def __init__(
        self,
        medians: Mapping[Model, float],
        share: float = 1.0,
        added: Mapping[tuple[Regime, Engine], float] | None = None,
    ) -> None:
        self._medians, self._share, self._added = dict(medians), share, added or {}
        self._usual = float(np.median(list(medians.values()))) if medians else 0.0
        engines = Counter(engine for _, engine in medians)
        self._engine: Engine = engines.most_common(1)[0][0] if engines else "onnxruntime"

    def of(self, model: Model | None, trials: Trials, regime: Regime = "hot") -> Floats:
        """Return the time of a model on each trial in seconds; that of a usual one if it was never timed, or None."""
        if not self._medians:
            return trials.model_seconds
        median, engine = self._usual, self._engine
        if model is not None:
            median, engine = self._medians.get(model, median), model[1]
        usual = median + self._added.get((regime, engine), 0.0)
        beyond = trials.model_seconds - np.median(trials.model_seconds)
        return np.maximum(usual + self._share * beyond, LEAST * usual)

    def in_bundle(self, bundle: Bundle, trials: Trials, regime: Regime = "hot") -> dict[Order, Floats]:
        """Return the times of all models of a bundle."""
        return {entry.order: self.of((entry.order, entry.engine), trials, regime) for entry in bundle.models}


def timed_models(task: Task, samples: CostSamples, bundles: Mapping[str, Bundle], memory: Cache) -> ModelRuns:
    """Time all models of some bundles in answers to test items, hot, and some of them after sleeps.

    `samples`: has the times of the reference model. `bundles`: of the same features, on the disk. `memory`: cache of
    the times.
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
    sleeps = {regime: items.asleep for regime, items in samples.items.items() if regime != "hot"}
    seconds, spread, rows = timed(task, task.name, samples.fingerprint, listed, n_classes, sleeps, identity())
    medians: dict[Model, float] = dict(zip(models, seconds, strict=True))
    added: dict[tuple[Regime, Engine], float] = {(regime, engine): more for regime, engine, more in rows}
    low, high = np.quantile(samples.items["hot"].reference_runs, [0.5, 0.9])
    share = spread * float(np.median(list(medians.values()))) / max(float(high - low), 1e-9)
    return ModelRuns(medians, min(share, 1.0), added)


def _timed(
    task: Task,
    name: str,
    source: str,
    models: list[tuple[Order, bytes, Engine]],
    n_classes: int,
    sleeps: Mapping[Regime, float],
    machine: Mapping[str, Any],
) -> tuple[list[float], float, list[tuple[Regime, Engine, float]]]:
    """Time models, hot and after sleeps."""
    chosen = np.random.default_rng(0).permutation(len(task.test_items))[:ITEMS].tolist()
    orders, data, engines = ([*column] for column in zip(*models, strict=True))
    with collector_off(), memory_kept():
        run_of = run_exported(data, n_classes, engines)
        bench = ModelBench(task.space, [task.test_items[k] for k in chosen], orders, run_of)
        hot = bench.hot(SECONDS, ROUNDS)
        after = {regime: bench.after_sleep(regime, asleep, SECONDS, SLEEPS) for regime, asleep in sleeps.items()}
    medians = np.array([float(np.nanmedian(hot.model_seconds[hot.models == k])) for k in range(len(orders))])
    relative = hot.model_seconds / medians[hot.models]
    added: list[tuple[Regime, Engine, float]] = []
    for regime, answers in after.items():
        longer, by = answers.model_seconds - medians[answers.models], np.array(engines)[answers.models]
        for engine in set(by.tolist()):
            added.append((regime, engine, max(0.0, float(np.nanmedian(longer[by == engine])))))
    return medians.tolist(), float(np.nanquantile(relative, 0.9)) - 1.0, added
