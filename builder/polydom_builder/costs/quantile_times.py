"""What each unit takes at any one quantile: to plan with, and to guard single features by."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from polydom_runtime.costs import CostFunction
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples
from polydom_runtime.unit_times import UnitTimes

from .fitting import fit_quantile
from .unit_costs import TYPICAL_MODEL

QUANTILES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Among which the one to plan with is looked for; an answer spends what a feature did not need on the next."""


def times_at(space: FeatureSpace, samples: CostSamples, quantile: float, reference_seconds: float) -> UnitTimes:
    """Return the times of a space's units at one quantile, each alone.

    Parameters
    ----------
    space : FeatureSpace
    samples : CostSamples
    quantile : float
    reference_seconds : float
        What bundles state as the worst case of the reference model: a model's time is relative to it.
    """

    def cost(unit: str) -> CostFunction:
        return fit_quantile(samples.sizes, samples.of(unit), quantile)

    return UnitTimes(
        tuple(cost(name) for name in space.names),
        tuple(cost(step.name) for step in space.steps),
        cost(DISPATCH),
        float(np.quantile(samples.kernels[TYPICAL_MODEL], quantile)) / reference_seconds,
    )


def plannable(space: FeatureSpace, samples: CostSamples, reference_seconds: float) -> dict[float, UnitTimes]:
    """Return the times at each quantile that may be planned with."""
    return {q: times_at(space, samples, q, reference_seconds) for q in QUANTILES}


def carried(times: UnitTimes, carry: Callable[[CostFunction], CostFunction]) -> UnitTimes:
    """Return the times on another device."""
    return replace(
        times,
        features=tuple(map(carry, times.features)),
        steps=tuple(map(carry, times.steps)),
        dispatch=carry(times.dispatch),
    )
