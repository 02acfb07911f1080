"""The costs that sets are made of: features, shared steps, a model run and dispatch."""

from dataclasses import dataclass

import numpy as np

from polydom_runtime.bundle import StepEntry, step_users
from polydom_runtime.costs import CostFunction
from polydom_runtime.features import FeatureSpace
from polydom_runtime.timing import DISPATCH, CostSamples

from .exceptions import FitError
from .fitting import CostFit, fit_cost
from .set_costs import SetCosts


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
        One run of any model; measured on exported models if not given.
    """

    features: tuple[CostFunction, ...]
    steps: tuple[StepEntry, ...]
    dispatch: CostFunction
    model_seconds: float | None = None

    def check_space(self, space: FeatureSpace) -> None:
        """Raise FitError unless these are the costs of this space."""
        steps = tuple((step.name, step.users) for step in self.steps)
        if len(self.features) != len(space) or steps != step_users(space):
            raise FitError(
                f"The costs must be of {len(space)} features and the steps (name, users) {step_users(space)}. "
                f"Got {len(self.features)} features and {steps}."
            )

    def set_costs(self, model_seconds: float) -> SetCosts:
        """Return the cost of any set, each non-empty one with a model run of `model_seconds`."""
        everyone = (1 << len(self.features)) - 1
        shared = [(step.cost, step.users) for step in self.steps]
        return SetCosts(self.features, [*shared, (CostFunction.of(model_seconds), everyone)], self.dispatch)


def fit_units(space: FeatureSpace, samples: CostSamples, quantile: float) -> tuple[UnitCosts, dict[str, CostFit]]:
    """Fit every unit of the space; also return the fits by name of the unit."""
    wanted = (*(s.name for s in space.steps), *space.names, DISPATCH)
    if samples.units != wanted:
        raise FitError(f"The cost samples must be of the units {wanted}. Got {samples.units}. Measure this space.")
    fits = {unit: fit_cost(samples.sizes, samples.of(unit), quantile) for unit in samples.units if unit != DISPATCH}
    steps = tuple(StepEntry(name, users, fits[name].worst) for name, users in step_users(space))
    # Dispatch is the same work at every size, so all its samples are one large sample; its far tail also stands for
    # the short pauses that a machine inserts once per item, wherever they fall.
    dispatch = CostFunction.of(float(np.quantile(samples.of(DISPATCH), 1.0 - (1.0 - quantile) / 10.0)))
    return UnitCosts(tuple(fits[name].worst for name in space.names), steps, dispatch), fits
