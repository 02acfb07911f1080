"""The stated time of a run of each model: as given, as timed here in real answers, or as carried over to the device.

Where models are timed here, the engine that is quicker after the features is chosen for each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import hash as content_hash
from numpy.typing import NDArray

from polydom_builder.exceptions import ExportError
from polydom_builder.training.cache import Cache
from polydom_builder.training.trainer import Trainer
from polydom_runtime.bundles.agreement import agreeing_engines
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.clock import collector_off, memory_kept
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.answer_bench import ModelBench, Order, added_after_sleep, model_quantiles, run_exported
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.fingerprint import source_fingerprint

from . import host_measurement
from .fitted_times import TYPICAL_QUANTILE
from .model_placing import placed_seconds
from .target import Target

N_ITEMS, MOST_ROUNDS, MOST_SLEEPS = 100, 100, 40
SHARE_OF_MEASUREMENT, SHARE_AFTER_SLEEP = 0.5, 0.05
"""Shares of the time of a measurement. `SHARE_OF_MEASUREMENT`: for all models. `SHARE_AFTER_SLEEP`: for one model in
each regime, after sleeps."""

TimedModel = tuple[Order, bytes]
"""An exported model: its features, in the order of its input columns, and its ONNX bytes."""

ModelChoice = tuple[Order, bytes, Engine]
"""A model and one of the engines that can run it."""


class ModelTime(NamedTuple):
    """The seconds that a model states, and the engine that runs it."""

    seconds: float
    engine: Engine = "onnxruntime"


class ModelTimer(Protocol):
    """Knows how long models run on the device."""

    def __call__(self, models: Sequence[TimedModel]) -> list[ModelTime]:
        """Return the time of each model."""

    def after_sleep(self, choice: ModelChoice, regimes: Mapping[Regime, float]) -> dict[Regime, float]:
        """Return how much longer than hot a model runs in other regimes; empty if that cannot be timed here.

        `choice`: the model, and the engine that runs it. `regimes`: the seconds of sleep in each regime.
        """
        return {}


@dataclass(frozen=True)
class GivenTimer(ModelTimer):
    """Every model takes the time that the user gave, in seconds."""

    seconds: float

    def __call__(self, models: Sequence[TimedModel]) -> list[ModelTime]:
        """Return the given time for each model."""
        return [ModelTime(self.seconds)] * len(models)


@dataclass(frozen=True)
class PlacedTimer(ModelTimer):
    """Models are timed alone, here, and their times carried over to the device by those of reference models.

    Nothing is timed after a sleep: the reference models were timed in all regimes on the device.
    """

    trainer: Trainer
    """Its table has the inputs of the models."""
    device: Mapping[str, float]
    """Seconds of the reference models on the device."""
    engines: tuple[Engine, ...]
    """The engines that can run models on the device."""
    typical: UnitTimes
    """The typical times of features on the device."""
    size: float
    """The size of an item at which the times of sets are compared."""
    sure: bool = False
    """Whether models compute their scores beside the labels."""

    def __call__(self, models: Sequence[TimedModel]) -> list[ModelTime]:
        """Return the time of each model on the device, by the quicker engine.

        Raises `ExportError` if the device has no onnxruntime, and numpy has no kernel for a model.
        """
        table, here, found = self.trainer.table, identity(), []
        timed = self.trainer.memory.cache(placed_seconds, ignore=["rows"])
        for order, data in models:
            rows, n_classes, share = table.rows_of(order), len(table.classes), self._share(order)
            some, agreeing = rows[:: max(len(rows) // 256, 1)], agreeing_engines(data, rows, n_classes)
            found_here = [
                ModelTime(timed(data, some, n_classes, self.device, engine, self.sure, share, here), engine)
                for engine in self.engines
                if engine in agreeing
            ]
            if not found_here:
                raise ExportError(
                    "The device must have onnxruntime, or the estimator a kernel of numpy that gives the same answers. "
                    "There is neither. Choose another estimator."
                )
            found.append(min(found_here))
        return found

    def _share(self, order: Order) -> float:
        """Return the time of some features as a share of that of all of them."""
        some, everything = (
            self.typical.of_set(mask)(self.size)
            for mask in (sum(1 << f for f in order), (1 << self.typical.n_features) - 1)
        )
        return some / everything


@dataclass(frozen=True)
class InPlaceTimer(ModelTimer):
    """Models are timed here, in real answers to items: the time right after the features of each."""

    space: FeatureSpace
    items: list[Any]
    """Some of the items, as they come."""
    n_classes: int
    """0 for regressors."""
    rows_of: Callable[[Order], NDArray[np.float32]]
    """Takes the features of a model; returns rows of its inputs, on which engines must agree."""
    memory: Cache
    """The cache."""
    sure: bool = False
    """Whether models compute their scores beside the labels."""

    def __call__(self, models: Sequence[TimedModel]) -> list[ModelTime]:
        """Return the 0.9 quantile of the seconds of each model, by the quicker engine; all are timed in turns."""
        if not models:
            return []
        choices = [
            (order, data, engine)
            for order, data in models
            for engine in agreeing_engines(data, self.rows_of(order), self.n_classes)
        ]
        timed = self.memory.cache(_time_in_place, ignore=["timer", "choices", "seconds"])
        seconds, content = SHARE_OF_MEASUREMENT * host_measurement.SECONDS, content_hash(choices)
        times: list[float] = timed(self, *self._key, content, choices, seconds)
        quickest: dict[TimedModel, ModelTime] = {}
        for (order, data, engine), seconds in zip(choices, times, strict=True):
            found = ModelTime(seconds, engine)
            quickest[order, data] = min(found, quickest.get((order, data), found))
        return [quickest[model] for model in models]

    def after_sleep(self, choice: ModelChoice, regimes: Mapping[Regime, float]) -> dict[Regime, float]:
        """Return how much longer than hot the model runs after sleeps."""
        if not regimes:
            return {}
        timed = self.memory.cache(_time_after_sleep, ignore=["timer", "seconds"])
        constants: dict[Regime, float] = timed(
            self, *self._key, choice, dict(regimes), SHARE_AFTER_SLEEP * host_measurement.SECONDS
        )
        return constants

    @property
    def _key(self) -> tuple[str, dict[str, Any]]:
        return source_fingerprint(self.space), {**identity(), **({"sure": True} if self.sure else {})}

    def bench(self, choices: Sequence[ModelChoice]) -> ModelBench:
        """Return a bench for these models and engines."""
        data, engines = [data for _, data, _ in choices], [engine for *_, engine in choices]
        run_of = run_exported(data, self.n_classes, engines, self.sure)
        return ModelBench(self.space, self.items, [order for order, *_ in choices], run_of)


def model_timer(
    target: Target,
    space: FeatureSpace,
    items: Sequence[Any],
    trainer: Trainer,
    seed: int,
    size: float,
    sure: bool = False,
) -> ModelTimer:
    """Return the best way to know the times of models on a device.

    `space`: the features of the models. `seed`: the seed of the choice of items. `size`: a typical size. `sure`:
    whether models compute their scores beside the labels.
    """
    if target.worst.model is not None:
        return GivenTimer(target.worst.model)
    if not target.is_here:
        return PlacedTimer(trainer, target.models, target.engines, target.planned[TYPICAL_QUANTILE], size, sure)
    chosen = np.random.default_rng(seed).permutation(len(items))[:N_ITEMS]
    some = [items[i] for i in sorted(chosen.tolist())]
    return InPlaceTimer(space, some, len(trainer.table.classes), trainer.table.rows_of, trainer.memory, sure)


def _time_in_place(
    timer: InPlaceTimer,
    source: str,
    machine: Mapping[str, Any],
    content: str,
    choices: list[ModelChoice],
    seconds: float,
) -> list[float]:
    """Time models hot. The key of the cache is what the times depend on: `source`, `machine`, `content` of choices."""
    with collector_off(), memory_kept():
        hot = timer.bench(choices).hot(seconds, MOST_ROUNDS)
    times: list[float] = model_quantiles(hot, len(choices)).tolist()
    return times


def _time_after_sleep(
    timer: InPlaceTimer,
    source: str,
    machine: Mapping[str, Any],
    choice: ModelChoice,
    regimes: Mapping[Regime, float],
    seconds: float,
) -> dict[Regime, float]:
    """Time a model after sleeps; see `_time_in_place`."""
    with collector_off(), memory_kept():
        bench = timer.bench([choice])
        hot = model_quantiles(bench.hot(seconds, MOST_ROUNDS), 1)
        return {
            regime: added_after_sleep(bench.after_sleep(regime, asleep, seconds, MOST_SLEEPS), hot)
            for regime, asleep in regimes.items()
        }
