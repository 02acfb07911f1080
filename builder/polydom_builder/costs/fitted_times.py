"""The times of all units of a machine, from samples of them: at any quantile, hot and after a sleep."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.unit_times import UnitTimes, step_users
from polydom_runtime.costs import ZERO, CostFunction
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.device.device_profile import UncertainQuantity
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import AROUND, MODEL_QUANTILE, WAKING, CostSamples, ItemSamples
from polydom_runtime.measuring.tails import pooled_quantile, tail_quantile

from .allowance import Allowance, find_allowance
from .cost_fit import Basis, CostFit, choose_basis, cover, fit_cost

UNIT_QUANTILE = 0.9
"""The quantile of single units from which worst cases are made. The allowance covers rarer times."""

TYPICAL_QUANTILE = 0.5
PLANNING_QUANTILES = (TYPICAL_QUANTILE, 0.6, 0.7, 0.8, UNIT_QUANTILE, 0.95, 0.99)
"""The quantiles among which those of planned times are chosen. Low ones are possible, since a node plans again after
each feature."""

USUAL_SLEEP = 0.02
"""The seconds of sleep of which a profile states the effect."""

MAX_BANDS, FEW_BANDS = 12, 4
"""Cost functions are fitted to `MAX_BANDS` bands of items of like size at most, and judged in `FEW_BANDS` larger ones,
where a quantile is known better."""


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

    def part(self, features: Sequence[int]) -> "RegimeTarget":
        """Return the times of some of the features, in this order."""
        planned = {q: times.part(features) for q, times in self.planned.items()}
        return self._replace(worst=self.worst.part(features), planned=planned, guarded=self.guarded.part(features))

    def with_model_added(self, seconds: float) -> "RegimeTarget":
        """Return the times with another constant for models, such as one that was measured with models of the task."""
        stated = self.reference_seconds - self.model_added + seconds
        return self._replace(model_added=seconds, reference_seconds=stated)

    def estimated_cold(self, added: UncertainQuantity[float]) -> "RegimeTarget":
        """Return the times after a sleep on a device of which these are the hot ones.

        `added`: the seconds that every unit and model takes longer. Careful times take them at their worst.
        """
        worst = added.value * added.uncertainty

        def longer(times: UnitTimes, by: float) -> UnitTimes:
            return times.mapped(lambda cost: cost + CostFunction.of(by))

        return RegimeTarget(
            longer(self.worst, worst),
            {q: longer(times, added.value) for q, times in self.planned.items()},
            longer(self.guarded, worst),
            self.reference_seconds + worst,
            worst,
            USUAL_SLEEP,
        )


class FittedTimes:
    """The times of the units of a space, fitted to samples of them; see `check_samples`.

    The growth terms of a unit are chosen once, by its typical times. Times depend on more than the size: on its prime
    factors, on the content, and on what ran before. So a quantile is one over items and rounds, among small and among
    large items, if many items were answered as they come. If their answers are few, they can only raise the times.

    After a sleep, code and small tables are cold, and not the item: a unit takes longer by nearly a constant, whatever
    the size. So few samples are enough there. Waking takes time only then.
    """

    def __init__(self, space: FeatureSpace, samples: CostSamples) -> None:
        steps = dict(step_users(space))
        self._space, self._samples = space, samples
        self._names, self._users = (*space.names, *steps), tuple(steps.values())
        self._bases: dict[str, Basis] = {}
        self._known: dict[tuple[float, Regime], UnitTimes] = {}
        self.references = samples.reference_times

    def at(self, quantile: float, regime: Regime = "hot") -> UnitTimes:
        """Return the times at a quantile, above 0 and at most 1; `model` is the time of the reference model.

        The hot time of a unit is the tightest cost function that is at least the quantile of its samples at every
        measured size, or in every band of items of like size.

        Raises `FitError` if the solver finds no such cost function.
        """
        if (quantile, regime) not in self._known:
            before, waking, after = (self._cost(unit, quantile, regime) for unit in AROUND)
            self._known[quantile, regime] = UnitTimes(
                self._names,
                self._users,
                tuple(self._cost(name, quantile, regime) for name in self._names),
                before,
                after,
                waking,
                self._samples.reference_time(REFERENCE_MODEL, quantile) + self._model_added(quantile, regime),
                quantile=quantile,
            )
        return self._known[quantile, regime]

    def of_units(self, promised: float, regime: Regime = "hot") -> UnitTimes:
        """Return the times of single units from which worst cases are made, for a promised share of answers in time."""
        return self.at(min(promised, UNIT_QUANTILE), regime)

    def allowance(self, promised: float, regime: Regime = "hot") -> Allowance:
        """Return the allowance for whole answers, each with a run of the reference model if it has features.

        It is enough for answers of each kind; see `CostSamples.answers`.
        """
        times, n_features = self.of_units(promised, regime), len(self._space)
        stated = CostFunction.of(self._stated(regime))
        costs = [*times.terms, *times.around, stated]
        units = [self._samples.units.index(name) for name in (*self._names, *AROUND)]
        everyone = (1 << n_features) - 1
        users = [*(1 << f for f in range(n_features)), *self._users, None, everyone, None, everyone]
        found = []
        for answers in self._samples.answers(regime):
            taken = np.stack([*answers.seconds[units], answers.models[REFERENCE_MODEL]])
            planned = np.array([answers.costs_at(cost)[:, 0] for cost in costs])
            found.append(find_allowance(planned, taken, users, range(n_features), promised, n_stated=1))
        return Allowance(max(a.constant for a in found), max(a.share for a in found))

    def in_regime(self, regime: Regime, promised: float) -> RegimeTarget:
        """Return all times of a regime that was measured, for a promised share of answers in time, from 0 to 1."""
        stated = self._stated(regime)
        return RegimeTarget(
            self.allowance(promised, regime).worst_cases(self.of_units(promised, regime)),
            {q: self.at(q, regime).relative_to(stated) for q in PLANNING_QUANTILES},
            self.at(promised, regime).relative_to(stated),
            stated,
            self._model_added(MODEL_QUANTILE, regime),
            0.0 if regime == "hot" else self._samples.items[regime].asleep,
        )

    def fits(self, promised: float) -> dict[str, CostFit]:
        """Return the fits of each unit at the measured sizes; waking takes no time there."""
        samples, quantile = self._samples, min(promised, UNIT_QUANTILE)
        units = (unit for unit in samples.units if unit != WAKING)
        return {u: fit_cost(samples.sizes, samples.of(u), quantile, samples.typical_of(u)) for u in units}

    def _cost(self, unit: str, quantile: float, regime: Regime) -> CostFunction:
        if regime == "hot":
            return ZERO if unit == WAKING else self._hot_cost(unit, quantile)
        hot = self.at(quantile)
        cost = dict(zip((*hot.names, *AROUND), (*hot.terms, *hot.around), strict=True))[unit]
        beyond = self._samples.in_answers(unit, regime) - self._samples.items[regime].costs_at(cost)
        return cost + CostFunction.of(max(0.0, pooled_quantile(beyond, quantile)))

    def _hot_cost(self, unit: str, quantile: float) -> CostFunction:
        samples, items = self._samples, self._samples.items.get("hot")
        if unit not in self._bases:
            self._bases[unit] = choose_basis(samples.sizes, np.median(samples.typical_of(unit), axis=1))
        basis = self._bases[unit]
        cost = cover(samples.sizes, tail_quantile(samples.of(unit), quantile), basis)
        if items is None:
            return cost
        times = samples.in_answers(unit)
        if not items.are_enough:
            return cost * max(1.0, _needed(cost, items, times, quantile))
        cost = _by_band(cost, items, times, basis, quantile)
        return cost * _needed(cost, items, times, quantile)

    def _stated(self, regime: Regime) -> float:
        """Return the seconds that the reference model states."""
        return self.references[REFERENCE_MODEL] + self._model_added(MODEL_QUANTILE, regime)

    def _model_added(self, quantile: float, regime: Regime) -> float:
        """Return the seconds, at a quantile, by which a run of the reference model is longer than hot."""
        if regime == "hot":
            return 0.0
        hot = self._samples.reference_time(REFERENCE_MODEL, quantile)
        return max(0.0, float(np.quantile(self._samples.items[regime].reference_runs - hot, quantile)))


def _by_band(cost: CostFunction, items: ItemSamples, times: Floats, basis: Basis, quantile: float) -> CostFunction:
    """Return the tightest cost function that is at least the quantile in each band; `cost` tells growth inside one."""
    bands = items.bands(MAX_BANDS)
    if len(bands) < FEW_BANDS:
        return cost
    relative = times / items.costs_at(cost)
    sizes = np.array([np.median(items.sizes[band]) for band in bands])
    targets = [pooled_quantile(relative[band], quantile) * cost(n) for band, n in zip(bands, sizes, strict=True)]
    return cover(sizes, np.array(targets), basis)


def _needed(cost: CostFunction, items: ItemSamples, times: Floats, quantile: float) -> float:
    """Return the factor with which a cost function is at least the quantile in each of few bands."""
    relative = times / items.costs_at(cost)
    return max(pooled_quantile(relative[band], quantile) for band in items.bands(FEW_BANDS))
