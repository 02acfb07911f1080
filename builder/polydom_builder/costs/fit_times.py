"""From time samples to the times of all units, at any quantiles."""

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.models import NO_VERSION
from polydom_runtime.costs import CostFunction
from polydom_runtime.device.calibration import LARGE_REFERENCES, NUMPY_REFERENCES, REFERENCES
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples, ItemSamples, units_of
from polydom_runtime.measuring.fingerprint import VERSION, source_fingerprint
from polydom_runtime.measuring.tails import tail_quantile
from polydom_runtime.unit_times import UnitTimes, step_users

from .fitting import Basis, choose_basis, cover

UNIT_QUANTILE = 0.9
"""The quantile of single units from which worst cases are made. The allowance covers rarer times."""

PLANNING_QUANTILES = (0.5, 0.6, 0.7, 0.8, UNIT_QUANTILE, 0.95, 0.99)
"""The quantiles among which those of planned times are chosen. Low ones are possible, since a node plans again after
each feature."""

REFERENCE_MODEL = REFERENCES[0]
"""The reference model that runs right after the features, as the model of an answer does. The times of any model at
different quantiles are in the ratio of its times."""


LEAST_SHARE = 0.75
"""A model takes at least this share of the time that it states, the 0.9 quantile of its times."""

ENOUGH_ANSWERS = 200
"""With this number of answers to items as they come, times need not be those at the measured sizes: there, each call is
timed after others at random, and finds colder caches than in an answer."""

MAX_BANDS, FEW_BANDS, BAND_ANSWERS = 12, 4, 50
"""Cost functions are fitted to bands of items of like size, and judged in fewer, larger ones, where a quantile is known
better. Each band has at least this number of answers."""


def fit_times(space: FeatureSpace, samples: CostSamples, quantiles: Iterable[float]) -> dict[float, UnitTimes]:
    """Fit the times of every unit at each quantile; `model` is the time of the reference model.

    The growth terms of a unit are chosen once, by its typical times. Times depend on more than the size: on its prime
    factors, on the content, and on what ran before. So the quantile is one over items and rounds, among small and among
    large items, if many items were answered as they come. If their answers are few, they can only raise the times.

    `samples`: samples of the units of this space; see `check_samples`. `quantiles`: quantiles of single calls, above 0
    and at most 1.

    The result: the times at each quantile: for each unit the tightest cost function that is at least the quantile of
    its samples at every measured size, or in every band of items of like size.

    Raises `FitError` if the solver finds no such cost function.
    """
    steps = dict(step_users(space))
    names = (*space.names, *steps)
    bases = {unit: basis_of(samples, unit) for unit in (*names, DISPATCH)}
    items = samples.items.get("hot")

    def fitted(unit: str, quantile: float) -> CostFunction:
        cost = cover(samples.sizes, tail_quantile(samples.of(unit), quantile), bases[unit])
        if items is None:
            return cost
        times = items.seconds[samples.units.index(unit)]
        if not are_enough(items):
            return cost * max(1.0, _needed(cost, items, times, quantile))
        cost = _by_band(cost, items, times, bases[unit], quantile)
        return cost * _needed(cost, items, times, quantile)

    return {
        quantile: UnitTimes(
            names,
            tuple(steps.values()),
            tuple(fitted(name, quantile) for name in names),
            fitted(DISPATCH, quantile),
            model=reference_time(samples, REFERENCE_MODEL, quantile),
            quantile=quantile,
        )
        for quantile in quantiles
    }


def basis_of(samples: CostSamples, unit: str) -> Basis:
    """Return the growth terms of a unit, chosen by its typical times."""
    return choose_basis(samples.sizes, np.median(samples.typical_of(unit), axis=1))


def costs_at(cost: CostFunction, sizes: Floats) -> Floats:
    """Return a cost function at some sizes, in seconds."""
    return np.array([cost(n) for n in sizes.tolist()])


def are_enough(items: ItemSamples) -> bool:
    """Tell whether answers to items are so many that they alone can tell the times of units."""
    return int(items.seconds[0].size) >= ENOUGH_ANSWERS


def _by_band(cost: CostFunction, items: ItemSamples, times: Floats, basis: Basis, quantile: float) -> CostFunction:
    """Return the tightest cost function that is at least the quantile in each band; `cost` tells growth inside one."""
    parts = _bands(items, MAX_BANDS)
    if len(parts) < FEW_BANDS:
        return cost
    sizes = np.array([np.median(items.sizes[band]) for band in parts])
    relative = times / costs_at(cost, items.sizes)[:, None]
    targets = np.array([over_items(relative[band], quantile) for band in parts]) * costs_at(cost, sizes)
    return cover(sizes, targets, basis)


def _needed(cost: CostFunction, items: ItemSamples, times: Floats, quantile: float) -> float:
    """Return the factor with which a cost function is at least the quantile in each of few bands."""
    relative = times / costs_at(cost, items.sizes)[:, None]
    return max(over_items(relative[band], quantile) for band in _bands(items, FEW_BANDS))


def _bands(items: ItemSamples, most: int) -> list[NDArray[np.intp]]:
    """Return the positions of items of like size, about equally many in each band."""
    rising = np.argsort(items.sizes, kind="stable")
    return np.array_split(rising, max(1, min(most, items.seconds[0].size // BAND_ANSWERS)))


def over_items(values: Floats, quantile: float) -> float:
    """Return a quantile of all values, shape ``(n_items, n_rounds)``, or of their tail if that is higher."""
    return float(tail_quantile(values.reshape(1, -1), quantile)[0])


def reference_times(samples: CostSamples) -> dict[str, float]:
    """Return the seconds of the reference models at `UNIT_QUANTILE`."""
    known = (name for name in (*REFERENCES, *NUMPY_REFERENCES) if name in samples.kernels)
    return {name: reference_time(samples, name, UNIT_QUANTILE) for name in known}


def reference_time(samples: CostSamples, name: str, quantile: float) -> float:
    """Return the seconds of a reference model at a quantile: after whole answers if these were measured."""
    items = samples.items.get("hot")
    times = samples.kernels[name] if items is None or name not in items.models else items.models[name]
    if items is not None and name == REFERENCE_MODEL:
        times = reference_runs(items)
    return float(np.quantile(times, quantile))


def reference_runs(items: ItemSamples) -> Floats:
    """Return the seconds of the reference model in each answer, shape ``(n_items, n_rounds)``, without its quick runs.

    It runs after all features, which leave the caches in very different states: its median can be a third of its 0.9
    quantile. A model of an answer runs after few features, and takes nearly the time that it states.
    """
    times = items.models[REFERENCE_MODEL]
    return np.maximum(times, LEAST_SHARE * np.quantile(times, UNIT_QUANTILE))


def check_samples(space: FeatureSpace, samples: CostSamples) -> None:
    """Check that samples are of a space and can be fitted.

    Raises `FitError` if they are of other features, the code of the features has changed since, or the reference models
    are missing. Raises `MeasurementError` if their times or sizes are impossible.
    """
    wanted = units_of(space)
    if samples.units != wanted:
        raise FitError(f"The cost samples must be of the units {wanted}. Got {samples.units}. Measure this space.")
    if samples.fingerprint and not samples.fingerprint.startswith(VERSION):
        warnings.warn(
            "The costs were measured with an older version, which does not tell whether the code of the features has "
            "changed since. Measure again to be sure.",
            stacklevel=2,
        )
    elif samples.fingerprint not in ("", source_fingerprint(space)):
        raise FitError(
            "The features must have the code that was measured. It has changed since, or differs from the node's copy. "
            "Measure again with this module."
        )
    samples.check()
    needed = set(REFERENCES) - set(LARGE_REFERENCES)
    if samples.machine.get("onnxruntime") == NO_VERSION:
        needed |= set(NUMPY_REFERENCES)
    if missing := needed - samples.kernels.keys():
        raise FitError(f"The cost samples must hold the reference models. Missing: {sorted(missing)}. Measure again.")
