"""A second budget beside time: the energy that an item may take."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.exceptions import EnergyError

MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class EnergyBudget:
    """The energy that an item may take. It holds beside the deadline.

    If the power of the device is known, the energy lasts for a certain time (`seconds`), which limits the deadline. If
    the energy of every unit was measured instead, sets that need more than the budget are excluded.

    Parameters
    ----------
    joules : float
        The energy of one item.
    watts : float, optional
        The power of the device while it computes.
    costs : UnitTimes, optional
        The measured energies, in joules instead of seconds; `model` is the energy of one model run.

    Raises
    ------
    EnergyError
        If the energy or the power is not positive and finite, or unless exactly one of `watts` and `costs` is given.

    Examples
    --------
    >>> EnergyBudget(0.010, watts=4.0).seconds
    0.0025
    """

    joules: float
    watts: float | None = None
    costs: UnitTimes | None = None

    def __post_init__(self) -> None:
        if (self.watts is None) == (self.costs is None):
            raise EnergyError("An energy budget must have a power or measured costs, and not both. Give one of them.")
        for what, value in (("The energy of an item", self.joules), ("The power", self.watts)):
            if value is not None and not 0.0 < value < math.inf:
                raise EnergyError(f"{what} must be a positive, finite number. Got {value!r}.")

    @property
    def seconds(self) -> float:
        """The time that the energy lasts at this power; infinite if the power is not given."""
        return math.inf if self.watts is None else self.joules / self.watts

    @classmethod
    def measured(cls, file: str | Path, joules: float, bundle: Bundle) -> "EnergyBudget":
        """Read a JSON file of measured energies.

        It holds ``{"features": {NAME: weights}, "steps": {NAME: weights}, "dispatch": weights, "model": joules}``.
        The weights are joules for each of the six growth terms of `polydom_runtime.costs.BASIS`, or one number, which
        does not grow with the size.

        Raises
        ------
        EnergyError
            If the file cannot be read, has another form, or lacks a feature or step of the bundle.
        """
        import json  # here: few nodes read such a file, and all others start sooner

        try:
            with open(file, "rb") as stream:
                document = json.loads(stream.read(MAX_FILE_BYTES))
            features, steps = (_costs(document.get(kind, {})) for kind in ("features", "steps"))
            worst = bundle.times.worst
            costs = UnitTimes(
                worst.names,
                worst.users,
                (*(features[name] for name in bundle.names), *(steps[step.name] for step in worst.steps)),
                before=_cost(document.get("dispatch", 0.0)),  # only the sum counts
                model=_cost(document.get("model", 0.0)).weights[0],
            )
        except KeyError as e:
            raise EnergyError(f"{file} must have the energy of every feature and step. {e} is missing.") from e
        except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as e:
            raise EnergyError(f"{file} must be a JSON file of energies, as the documentation shows. {e}") from e
        return cls(joules, costs=costs)


def _costs(entries: Mapping[str, Any]) -> dict[str, CostFunction]:
    return {name: _cost(weights) for name, weights in entries.items()}


def _cost(weights: Any) -> CostFunction:
    if isinstance(weights, int | float):
        weights = (weights, 0, 0, 0, 0, 0)
    a, b, c, d, e, f = map(float, weights)
    if (most := max(a, b, c, d, e, f)) > HUGE:
        raise ValueError(f"An energy must be below {HUGE:.0e} J. Got {most:g}.")
    return CostFunction((a, b, c, d, e, f))
