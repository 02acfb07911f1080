"""Checks, before the training, of the limits of models and of the sizes that are expected."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from polydom_builder.costs.model_limits import bytes_of, check_any_fits, keeps
from polydom_builder.costs.target import Target
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.conversion import converted_models
from polydom_builder.training.families import Family
from polydom_runtime.bundles.shipping import MAX_LIMIT, Limits
from polydom_runtime.causes import shown

from .parameters import check_count


def checked_limits_of_models(search: Any) -> Limits:
    """Return the limits that a search states, without the memory of its device.

    Raises `TrainingError` if one is not valid.
    """
    if search.max_models is not None:
        check_count("max_models", search.max_models)
    max_bytes = 0 if search.max_memory is None else bytes_of(search.max_memory)
    return Limits(min(int(search.max_models or 0), MAX_LIMIT), max_bytes)


def with_memory(limits: Limits, target: Target) -> Limits:
    """Return the limits with the memory of the device."""
    return limits._replace(memory_bytes=min(target.memory_bytes or 0, MAX_LIMIT))


def fitting_families(
    limits: Limits, families: Sequence[Family], target: Target, max_mismatches: int
) -> tuple[Family, ...]:
    """Return the families of which the model of some feature fits all limits, with a warning of others.

    `families`: models that their trainers have converted already are tried first. `max_mismatches`: the number of
    training items on which an exported model may answer otherwise than scikit-learn's.

    Raises `ExportError` if no model fits.
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
            stacklevel=3,
        )
    return fitting


def expected_sizes(given: Any, item_sizes: Sequence[float], size_range: tuple[float, float]) -> list[float]:
    """Return the sizes that items are expected to have: those given, or those of the items.

    Raises `TrainingError` if those given are not numbers within the range of sizes.
    """
    if given is None:
        return [*item_sizes]
    try:
        sizes = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.empty(0)
    low, high = size_range
    wrong = sizes[~((low <= sizes) & (sizes <= high))]
    if sizes.ndim != 1 or not sizes.size or wrong.size:
        raise TrainingError(
            f"sizes must be a list of item sizes from {low:g} to {high:g}, the range that the search is for. "
            f"Got {shown(float(wrong[0]) if wrong.size else given)}. Leave others out, or widen size_range."
        )
    found: list[float] = sizes.tolist()
    return found
