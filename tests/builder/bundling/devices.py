"""Made-up devices: bundles of four features, with a target and samples of every item, in any regime."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.costs.fitted_times import PLANNING_QUANTILES
from polydom_builder.costs.target import RegimeTarget, Target
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin, Regime
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import ZERO, CostFunction
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.measuring.cost_samples import AFTER, AROUND, BEFORE, CostSamples, ItemSamples, Pauses
from tests.runtime.lattice_world import US, lattice_bundle, microseconds

NAMES = ("a", "b", "c", "d")
UNITS = (*NAMES, *AROUND)
TYPICAL = np.array([10.0, 15.0, 20.0, 30.0, 2.0, 1e-5, 2.0]) * US
MODEL = 5.0 * US
GAINS = (0.25, 0.02, 0.04, 0.08)
ACCURACIES = [0.5 + sum(gain for i, gain in enumerate(GAINS) if mask >> i & 1) for mask in range(16)]
"""The score of each set; the first feature is worth most, and quick."""

Times = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]
"""Takes a generator and a shape, whose first axis is the units and then the model; returns factors of typical times."""


def jittery(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Everything takes up to a tenth longer."""
    return rng.uniform(1.0, 1.1, shape)


def rarely_slow(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """In sixteen answers of a thousand the first feature takes five times as long."""
    factors = jittery(rng, shape)
    factors[0] *= np.where(rng.random(shape[1:]) < 0.016, 5.0, 1.0)
    return factors


class Device:
    """A device whose units take random times.

    Parameters
    ----------
    times : callable
    cold : float
        The seconds that each feature and model takes longer in the regime cold, and waking; a tenth if rehearsed.
    quantile : float
        The promised share of answers in time.
    """

    def __init__(self, times: Times = jittery, cold: float = 0.0, quantile: float = 0.99) -> None:
        self._times, self._quantile = times, quantile
        self._added: dict[Regime, float] = {"hot": 0.0, "rehearsed": 0.1 * cold, "cold": cold}
        self._names: tuple[Regime, ...] = ("hot", "rehearsed", "cold") if cold else ("hot",)

    def items(self, regime: Regime, n_items: int = 200, n_rounds: int = 10, seed: int = 0) -> ItemSamples:
        """Return times of items that come in one regime."""
        rng = np.random.default_rng(seed)
        factors = self._times(rng, (len(UNITS) + 1, n_items, n_rounds))
        seconds = factors * np.append(TYPICAL, MODEL)[:, None, None]
        seconds[[unit not in (BEFORE, AFTER) for unit in (*UNITS, "model")]] += self._added[regime]
        asleep = 0.0 if regime == "hot" else 0.02
        return ItemSamples(rng.uniform(1.0, 100.0, n_items), seconds[:-1], {REFERENCE_MODEL: seconds[-1]}, asleep)

    def samples(self, seed: int = 0, pauses: Pauses | None = None, n_rounds: int = 10) -> CostSamples:
        """Return samples of items in every regime."""
        items = {regime: self.items(regime, n_rounds=n_rounds, seed=seed) for regime in self._names}
        hot = items["hot"]
        seconds, models = hot.seconds[:, :2], hot.models[REFERENCE_MODEL][0]
        return CostSamples(
            UNITS,
            np.array([1.0, 100.0]),
            seconds,
            np.ones(seconds.shape[:2], dtype=np.int64),
            np.full(seconds.shape, np.nan),
            {REFERENCE_MODEL: models},
            items=items,
            pauses=pauses or Pauses(),
        )

    def target(self) -> Target:
        """Return the device as a fit of very many samples would give it."""
        there = {regime: self._target(regime) for regime in self._names}
        hot = there.pop("hot")
        return Target(
            hot.worst,
            origin=CostOrigin("a made-up device"),
            planned=hot.planned,
            guarded=hot.guarded,
            reference_seconds=hot.reference_seconds,
            regimes=there,
        )

    def _target(self, regime: Regime) -> RegimeTarget:
        items = self.items(regime, 1000, 20, seed=99)
        reference = float(np.quantile(items.models[REFERENCE_MODEL], 0.9))
        cells = np.vstack([items.seconds.reshape(len(UNITS), -1), items.models[REFERENCE_MODEL].reshape(1, -1)])

        def at(quantile: float) -> UnitTimes:
            costs = (CostFunction.of(t) for t in np.quantile(cells, quantile, axis=1).tolist())
            *features, before, waking, after, model = costs
            ratio = model(1) / reference
            return UnitTimes(NAMES, (), tuple(features), before, after, waking, model_ratio=ratio, quantile=quantile)

        planned = {q: at(q) for q in PLANNING_QUANTILES}
        worst = replace(at(0.999), model_ratio=1.0, quantile=0.0)
        asleep, added = items.asleep, self._added[regime]
        return RegimeTarget(worst, planned, at(self._quantile), reference, added, asleep)

    def bundle(self, low: float = 50 * US, high: float = 200 * US) -> Bundle:
        """Return a bundle for the device, with worst cases only."""
        target = self.target()
        worst, model = target.worst, target.reference_seconds
        around: dict[str, Any] = {"before": worst.before, "after": worst.after, "waking": worst.waking}
        others: dict[str, Any] = {"budgets": (low, high), "origin": target.origin}
        return lattice_bundle(ACCURACIES, worst.features, models=model, dispatch=ZERO, **around, **others)


def slow(times: Times, factor: float) -> Times:
    """Return the times of a machine that is slower."""
    return lambda rng, shape: times(rng, shape) * factor


__all__ = ["ACCURACIES", "MODEL", "NAMES", "TYPICAL", "US", "Device", "jittery", "microseconds", "rarely_slow", "slow"]
