"""The limits of models, and the estimators of which a model fits them."""

import warnings
from collections.abc import Sequence

from polydom_builder.costs.model_limits import bytes_of, check_any_fits, keeps
from polydom_builder.costs.target import Target
from polydom_builder.training.conversion import converted_models
from polydom_builder.training.families import Family
from polydom_runtime.bundles.promise import MAX_LIMIT, Limits

from .settings import SearchLimits


def limits_of_models(limits: SearchLimits, target: Target) -> Limits:
    """Return the limits of the models of a bundle, with the memory of the device."""
    most = min(int(limits.max_models or 0), MAX_LIMIT)
    return Limits(
        most, 0 if limits.max_memory is None else bytes_of(limits.max_memory), min(target.memory_bytes or 0, MAX_LIMIT)
    )


def fitting_families(
    limits: Limits, families: Sequence[Family], target: Target, max_mismatches: int
) -> tuple[Family, ...]:
    """Return the families of which the model of some feature fits all limits; `ExportError` if there is none.

    There is a warning of others. Models that their trainers have converted already are tried first. `max_mismatches`:
    see `SearchLimits`.
    """
    sizes: dict[str, list[int]] = {}
    for family in families:
        sizes[family.name] = [*map(len, family.trainer.converted.values())]
        if not any(keeps(limits, [size]) for size in sizes[family.name]):
            orders = [(feature,) for feature in range(len(family.trainer.table.columns))]
            models = converted_models(family.trainer, orders, target.versions, max_mismatches)
            sizes[family.name] = [*map(len, models)]
    check_any_fits(limits, [size for each in sizes.values() for size in each])
    fitting = tuple(f for f in families if any(keeps(limits, [size]) for size in sizes[f.name]))
    if others := [family.name for family in families if family not in fitting]:
        warnings.warn(
            f"No model of {', '.join(others)} fits {limits}, so it takes no part in the search. Allow more, or choose "
            "a smaller estimator.",
            stacklevel=4,
        )
    return fitting
