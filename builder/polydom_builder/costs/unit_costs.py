"""The costs that sets are made of: features, shared steps, a model run and dispatch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polydom_builder.exceptions import FitError
from polydom_runtime.bundles.bundle import StepEntry, step_users
from polydom_runtime.costs import CostFunction, total
from polydom_runtime.device.calibration import REFERENCES
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples, units_of
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.measuring.measure import MIN_SIZES

from .allowance import Allowance, find_allowance
from .combined_costs import Combine, CombinedCosts
from .fitting import CostFit, fit_cost
from .set_costs import SetCosts

UNIT_QUANTILE = 0.9
"""At which each unit is planned; rarer times are the allowance's part."""

TYPICAL_MODEL = "model linear chain"

BEYOND = 1.25
"""Costs are trusted this factor beyond the measured sizes, not more: growth may change there."""


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """Worst-case costs on the target device.

    Parameters
    ----------
    features : tuple of CostFunction
        Each feature without its step, in the order of the feature space.
    steps : tuple of StepEntry
    dispatch : CostFunction
        Selection, timer and answer.
    model_seconds : float, optional
        One run of any model. Without it each model is timed, for which the device's reference models must be known:
        give `CostSamples` rather than `UnitCosts` then.
    """

    features: tuple[CostFunction, ...]
    steps: tuple[StepEntry, ...]
    dispatch: CostFunction
    model_seconds: float | None = None

    def check_space(self, space: FeatureSpace) -> None:
        """Raise FitError unless these are the costs of this space, and of a model."""
        if self.model_seconds is None:
            raise FitError("Given costs must have model_seconds, the time of a model's run there. Got None.")
        steps = tuple((step.name, step.users) for step in self.steps)
        if len(self.features) != len(space) or steps != step_users(space):
            raise FitError(
                f"The costs must be of {len(space)} features and the steps (name, users) {step_users(space)}. "
                f"Got {len(self.features)} features and {steps}."
            )

    def with_allowance(self, allowance: Allowance) -> "UnitCosts":
        """Return these costs with what whole answers need beyond."""
        scale = 1.0 + allowance.share
        return replace(
            self,
            features=tuple(cost * scale for cost in self.features),
            steps=tuple(StepEntry(s.name, s.users, s.cost * scale) for s in self.steps),
            dispatch=self.dispatch * scale + CostFunction.of(allowance.constant),
        )

    def part(self, features: Sequence[int]) -> "UnitCosts":
        """Return the costs of some of the features, in this order, and of the steps that they use."""
        users = [sum(1 << new for new, old in enumerate(features) if s.users >> old & 1) for s in self.steps]
        steps = [StepEntry(s.name, mask, s.cost) for s, mask in zip(self.steps, users, strict=True) if mask]
        steps.sort(key=lambda s: s.users & -s.users)  # as a space has them: by the first feature that uses them
        return replace(self, features=tuple(self.features[i] for i in features), steps=tuple(steps))

    def set_costs(
        self, model_seconds: float, combine: Combine | None = None, names: Sequence[str] = ()
    ) -> SetCosts | CombinedCosts:
        """Return the cost of any set, each non-empty one with a model run of `model_seconds`.

        With `combine` the features' costs, by name, are not added up but given to it; steps, model and dispatch are
        added to what it returns.
        """
        everyone = (1 << len(self.features)) - 1
        model = CostFunction.of(model_seconds)
        if combine is None:
            shared = [(step.cost, step.users) for step in self.steps]
            return SetCosts(self.features, [*shared, (model, everyone)], self.dispatch)
        bit = {name: 1 << i for i, name in enumerate(names)}

        def whole(parts: Mapping[str, CostFunction]) -> CostFunction:
            mask = sum(bit[name] for name in parts)
            steps = [s.cost for s in self.steps if s.users & mask]
            return total([combine(parts), *steps, *([model] if mask else []), self.dispatch])

        return CombinedCosts(self.features, whole, names)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a measurement says of a machine.

    Parameters
    ----------
    units : UnitCosts
        Without the allowance.
    fits : dict of str to CostFit
        By unit.
    models : dict of str to float
        Seconds of the reference models, without the allowance.
    allowance : Allowance
        What whole answers need beyond.
    """

    units: UnitCosts
    fits: dict[str, CostFit]
    models: dict[str, float]
    allowance: Allowance


def fit_units(space: FeatureSpace, samples: CostSamples, quantile: float) -> Fitted:
    """Fit every unit of the space.

    Each unit is planned at a moderate quantile; what a whole answer needs beyond to keep `quantile` is added, see
    `allowance`.

    Raises
    ------
    FitError
        If the samples are of other features, or of these before their code changed, or lack the reference models.
    MeasurementError
        If their times or sizes are impossible.
    """
    wanted = units_of(space)
    if samples.units != wanted:
        raise FitError(f"The cost samples must be of the units {wanted}. Got {samples.units}. Measure this space.")
    if samples.fingerprint not in ("", source_fingerprint(space)):
        raise FitError(
            "The features must have the code that was measured. It has changed since, or differs from the node's copy. "
            "Measure again with this module."
        )
    samples.check()
    if missing := set(REFERENCES) - samples.kernels.keys():
        raise FitError(f"The cost samples must hold the reference models. Missing: {sorted(missing)}. Measure again.")
    fits = {
        unit: fit_cost(samples.sizes, samples.of(unit), min(quantile, UNIT_QUANTILE), samples.typical_of(unit))
        for unit in samples.units
    }
    allowance = _allowance(space, samples, fits, quantile)
    steps = tuple(StepEntry(name, users, fits[name].worst) for name, users in step_users(space))
    units = UnitCosts(tuple(fits[name].worst for name in space.names), steps, fits[DISPATCH].worst)
    models = {name: float(np.quantile(samples.kernels[name], UNIT_QUANTILE)) for name in REFERENCES}
    return Fitted(units, fits, models, allowance)


def _allowance(space: FeatureSpace, samples: CostSamples, fits: Mapping[str, CostFit], quantile: float) -> Allowance:
    """Find what whole answers need beyond, with a model run in each that has features."""
    model = np.broadcast_to(samples.kernels[TYPICAL_MODEL], samples.seconds.shape[1:])
    times = np.concatenate([samples.seconds, model[None]])
    planned = [[fits[unit].worst(n) for n in samples.sizes] for unit in samples.units]
    planned.append([float(np.quantile(model[0], UNIT_QUANTILE))] * len(samples.sizes))
    users = [
        *(mask for _, mask in step_users(space)),
        *(1 << f for f in range(len(space))),
        None,
        (1 << len(space)) - 1,
    ]
    features = [samples.units.index(name) for name in space.names]
    return find_allowance(np.array(planned), times, users, features, quantile)


def check_coverage(samples: CostSamples, item_sizes: Sequence[float], wanted: tuple[float, float]) -> None:
    """Raise FitError unless the samples show how costs grow over the wanted sizes."""
    needed = min(MIN_SIZES, len(set(item_sizes)))
    if len(samples.sizes) < needed:
        raise FitError(f"Costs must be measured at {needed} sizes or more. Got {len(samples.sizes)}. Measure again.")
    low, high = float(samples.sizes[0]), float(samples.sizes[-1])
    if wanted[0] < low / BEYOND or wanted[1] > high * BEYOND:
        raise FitError(
            f"The measured sizes must cover the item sizes {wanted[0]:g} to {wanted[1]:g}. Got {low:g} to {high:g}. "
            "Measure on items as small and as large, or give a size_range within the measured sizes."
        )
