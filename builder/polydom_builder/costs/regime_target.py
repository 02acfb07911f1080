"""The times of a device after a sleep: those of the regime ``hot``, and a constant for each unit.

What is cold is code and small tables, not the item: a unit takes longer by nearly a constant, whatever the size. So few
samples after a sleep are enough.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from polydom_runtime.bundles.regimes import REGIMES, Regime
from polydom_runtime.costs import CostFunction
from polydom_runtime.device.device_profile import UncertainQuantity
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples, ItemSamples
from polydom_runtime.unit_times import UnitTimes

from .allowance import allowance_of
from .fit_times import (
    PLANNING_QUANTILES,
    REFERENCE_MODEL,
    UNIT_QUANTILE,
    costs_at,
    over_items,
    reference_runs,
    reference_time,
)

USUAL_SLEEP = 0.02
"""The seconds of sleep of which a profile states the effect."""


class RegimeTarget(NamedTuple):
    """The times of a device in one regime; see `Target` for the first four."""

    worst: UnitTimes
    planned: Mapping[float, UnitTimes]
    guarded: UnitTimes
    reference_seconds: float
    model_added: float
    """How much longer than in the regime ``hot`` the run of a model takes, in seconds."""
    asleep: float
    """The seconds of sleep before each answer."""

    def part(self, features: tuple[int, ...]) -> "RegimeTarget":
        """Return the times of some of the features, in this order."""
        planned = {q: times.part(features) for q, times in self.planned.items()}
        return self._replace(worst=self.worst.part(features), planned=planned, guarded=self.guarded.part(features))

    def with_model_added(self, seconds: float) -> "RegimeTarget":
        """Return the times with another constant for models, such as one that was measured with models of the task."""
        stated = self.reference_seconds - self.model_added + seconds
        return self._replace(model_added=seconds, reference_seconds=stated)


def measured_regimes(
    space: FeatureSpace,
    samples: CostSamples,
    hot: Mapping[float, UnitTimes],
    quantile: float,
    reference_seconds: float,
) -> dict[Regime, RegimeTarget]:
    """Return the times of every regime that was measured beside ``hot``.

    `hot`: the hot times at the planning quantiles and the promised one, each with the time of the reference model.
    `quantile`: the promised share of answers in time, from 0 to 1. `reference_seconds`: the time that the reference
    model states in the regime ``hot``.
    """
    return {
        regime: _measured(space, samples, regime, hot, quantile, reference_seconds)
        for regime in REGIMES
        if regime != "hot" and regime in samples.items
    }


def _measured(
    space: FeatureSpace,
    samples: CostSamples,
    regime: Regime,
    hot: Mapping[float, UnitTimes],
    quantile: float,
    reference_seconds: float,
) -> RegimeTarget:
    items = samples.items[regime]
    times = {q: _after_sleep(samples, items, at, q) for q, at in hot.items()}
    units = times[min(quantile, UNIT_QUANTILE)]
    added = _model_added(samples, items, UNIT_QUANTILE)
    stated = replace(units, model=reference_seconds + added)
    allowance = allowance_of(space, samples, stated, quantile, regime)
    return RegimeTarget(
        allowance.added_to(replace(units, model=None, quantile=0.0)),
        {q: times[q].relative_to(reference_seconds + added) for q in PLANNING_QUANTILES},
        times[quantile].relative_to(reference_seconds + added),
        reference_seconds + added,
        added,
        items.asleep,
    )


def estimated_cold(
    hot: Mapping[float, UnitTimes],
    feared: UnitTimes,
    guarded: UnitTimes,
    reference_seconds: float,
    added: UncertainQuantity[float],
) -> RegimeTarget:
    """Return the times after a sleep on a device of which one constant is known for every unit and model.

    `hot`: the hot times at the planning quantiles, each with the ratio of the model's time. `feared`: the hot times
    whose sums are worst cases. `guarded`: the hot times at the promised quantile. `reference_seconds`: the time that
    the reference model states in the regime ``hot``. `added`: the constant, in seconds. Careful times take it at its
    worst.
    """
    worst = added.value * added.uncertainty

    def longer(times: UnitTimes, by: float) -> UnitTimes:
        return times.mapped(lambda cost: cost + CostFunction.of(by))

    planned = {q: longer(times, added.value) for q, times in hot.items()}
    return RegimeTarget(
        longer(feared, worst), planned, longer(guarded, worst), reference_seconds + worst, worst, USUAL_SLEEP
    )


def _after_sleep(samples: CostSamples, items: ItemSamples, hot: UnitTimes, quantile: float) -> UnitTimes:
    """Return hot times at a quantile, each unit longer by the constant that it needs after a sleep."""

    def longer(unit: str, cost: CostFunction) -> CostFunction:
        beyond = items.seconds[samples.units.index(unit)] - costs_at(cost, items.sizes)[:, None]
        return cost + CostFunction.of(max(0.0, over_items(beyond, quantile)))

    assert hot.model is not None
    return replace(
        hot,
        terms=tuple(map(longer, hot.names, hot.terms)),
        dispatch=longer(DISPATCH, hot.dispatch),
        model=hot.model + _model_added(samples, items, quantile),
    )


def _model_added(samples: CostSamples, items: ItemSamples, quantile: float) -> float:
    """Return how much longer than hot the reference model takes, at a quantile."""
    beyond = reference_runs(items) - reference_time(samples, REFERENCE_MODEL, quantile)
    return max(0.0, float(np.quantile(beyond, quantile)))
