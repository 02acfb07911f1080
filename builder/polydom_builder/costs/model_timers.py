"""The stated time of a run of each model: as given, as timed here in real answers, or as carried over to the device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Memory
from numpy.typing import NDArray

from polydom_builder.training.trainer import Trainer
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.measuring.model_bench import ModelBench, Order, added, model_quantiles, run_exported
from polydom_runtime.pauses import collector_off, memory_kept
from polydom_runtime.unit_times import UnitTimes

from . import measuring
from .model_times import ModelTimes
from .target import Target

N_ITEMS, MOST_ROUNDS, MOST_SLEEPS = 100, 100, 40
SHARE_OF_MEASUREMENT, SHARE_AFTER_SLEEP = 0.5, 0.05
"""How long all models are timed, and one model in each regime after a sleep: shares of the time of a measurement."""

TYPICAL_QUANTILE = 0.5

TimedModel = tuple[Order, bytes]
"""An exported model: its features, in the order of its input columns, and its ONNX bytes."""


class ModelTimer(Protocol):
    """Knows how long models run on the device."""

    def __call__(self, models: Sequence[TimedModel]) -> list[float]:
        """Return the seconds that each model states."""

    def after_sleep(self, model: TimedModel, regimes: Mapping[Regime, float]) -> dict[Regime, float]:
        """Return how much longer than hot a model runs in other regimes; empty if that cannot be timed here.

        Parameters
        ----------
        model : (tuple of int, bytes)
        regimes : dict of str to float
            The seconds of sleep in each regime.
        """


@dataclass(frozen=True)
class GivenTimer:
    """Every model takes the time that the user gave, in seconds."""

    seconds: float

    def __call__(self, models: Sequence[TimedModel]) -> list[float]:
        """Return the given time for each model."""
        return [self.seconds] * len(models)

    def after_sleep(self, model: TimedModel, regimes: Mapping[Regime, float]) -> dict[Regime, float]:
        """Return nothing."""
        return {}


@dataclass(frozen=True)
class PlacedTimer:
    """Models are timed alone, here, and their times carried over to the device by those of reference models.

    Parameters
    ----------
    trainer : Trainer
        Its table has the inputs of the models.
    device : dict of str to float
        Seconds of the reference models on the device.
    typical : UnitTimes
        The typical times of features on the device.
    size : float
        The size of an item at which the times of sets are compared.
    """

    trainer: Trainer
    device: Mapping[str, float]
    typical: UnitTimes
    size: float

    def __call__(self, models: Sequence[TimedModel]) -> list[float]:
        """Return the seconds of each model on the device."""
        table, times, here = self.trainer.table, ModelTimes(self.device), identity()
        timed = self.trainer.memory.cache(_place, ignore=["times", "rows"])
        seconds = []
        for order, data in models:
            rows = table.rows_of(order)
            some = rows[:: max(len(rows) // 256, 1)]
            seconds.append(timed(times, times.device, here, data, some, len(table.classes), self._share(order)))
        return seconds

    def _share(self, order: Order) -> float:
        """Return the time of some features as a share of that of all of them."""
        some, everything = (
            self.typical.of_set(mask)(self.size)
            for mask in (sum(1 << f for f in order), (1 << self.typical.n_features) - 1)
        )
        return some / everything

    def after_sleep(self, model: TimedModel, regimes: Mapping[Regime, float]) -> dict[Regime, float]:
        """Return nothing: the reference models were timed in these regimes on the device."""
        return {}


@dataclass(frozen=True)
class InPlaceTimer:
    """Models are timed here, in real answers to items: the time right after the features of each.

    Parameters
    ----------
    space : FeatureSpace
    items : list
        Some of the items, as they come.
    n_classes : int
        0 for regressors.
    memory : Memory
        The cache.
    """

    space: FeatureSpace
    items: list[Any]
    n_classes: int
    memory: Memory

    def __call__(self, models: Sequence[TimedModel]) -> list[float]:
        """Return the 0.9 quantile of the seconds of each model; the models are timed in turns."""
        if not models:
            return []
        timed = self.memory.cache(_time_in_place, ignore=["timer", "seconds"])
        limit = SHARE_OF_MEASUREMENT * measuring.SECONDS
        times: list[float] = timed(self, *self._key, list(models), limit)
        return times

    def after_sleep(self, model: TimedModel, regimes: Mapping[Regime, float]) -> dict[Regime, float]:
        """Return how much longer than hot the model runs after sleeps."""
        if not regimes:
            return {}
        timed = self.memory.cache(_time_after_sleep, ignore=["timer", "seconds"])
        constants: dict[Regime, float] = timed(
            self, *self._key, model, dict(regimes), SHARE_AFTER_SLEEP * measuring.SECONDS
        )
        return constants

    @property
    def _key(self) -> tuple[str, dict[str, Any]]:
        return source_fingerprint(self.space), identity()

    def bench(self, models: Sequence[TimedModel]) -> ModelBench:
        """Return what answers the items with these models."""
        run_of = run_exported([data for _, data in models], self.n_classes)
        return ModelBench(self.space, self.items, [order for order, _ in models], run_of)


def model_timer(
    target: Target, space: FeatureSpace, items: Sequence[Any], trainer: Trainer, seed: int, size: float
) -> ModelTimer:
    """Return the best way to know the times of models on a device.

    Parameters
    ----------
    target : Target
        The device.
    space : FeatureSpace
        The features of the models.
    items : sequence
    trainer : Trainer
    seed : int
        The seed of the choice of items.
    size : float
        A typical size.
    """
    if target.worst.model is not None:
        return GivenTimer(target.worst.model)
    if not target.is_here:
        return PlacedTimer(trainer, target.models, target.planned[TYPICAL_QUANTILE], size)
    chosen = np.random.default_rng(seed).permutation(len(items))[:N_ITEMS]
    some = [items[i] for i in sorted(chosen.tolist())]
    return InPlaceTimer(space, some, len(trainer.table.classes), trainer.memory)


def _place(
    times: ModelTimes,
    device: Mapping[str, float],
    machine: Mapping[str, Any],
    onnx_bytes: bytes,
    rows: NDArray[np.float32],
    n_classes: int,
    share: float,
) -> float:
    """Time a model. The time also depends on `device` and `machine`, so they are part of the key of the cache."""
    return times(onnx_bytes, rows, n_classes, share)


def _time_in_place(
    timer: InPlaceTimer, source: str, machine: Mapping[str, Any], models: list[TimedModel], seconds: float
) -> list[float]:
    """Time models hot. The times also depend on `source` and `machine`, so they are part of the key of the cache."""
    with collector_off(), memory_kept():
        hot = timer.bench(models).hot(seconds, MOST_ROUNDS)
    times: list[float] = model_quantiles(hot, len(models)).tolist()
    return times


def _time_after_sleep(
    timer: InPlaceTimer,
    source: str,
    machine: Mapping[str, Any],
    model: TimedModel,
    regimes: Mapping[Regime, float],
    seconds: float,
) -> dict[Regime, float]:
    """Time a model after sleeps; see `_time_in_place`."""
    with collector_off(), memory_kept():
        bench = timer.bench([model])
        hot = model_quantiles(bench.hot(seconds, MOST_ROUNDS), 1)
        return {
            regime: added(bench.after_sleep(regime, asleep, seconds, MOST_SLEEPS), hot)
            for regime, asleep in regimes.items()
        }
