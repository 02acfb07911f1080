"""The check that measured sizes cover the wanted ones, so that the growth of costs is known there."""

from collections.abc import Sequence

from polydom_builder.exceptions import FitError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.measure import MIN_SIZES

BEYOND = 1.25
"""Costs are extrapolated by at most this factor beyond the measured sizes, since their growth may change there."""


def check_coverage(samples: CostSamples, item_sizes: Sequence[float], wanted: tuple[float, float]) -> None:
    """Check that the samples are of enough sizes, and that these cover the wanted sizes.

    `item_sizes`: the sizes of the items; if these have only few different sizes, fewer measured ones are enough.
    `wanted`: the range of sizes that the bundle is built for.

    Raises `FitError` if they are of too few sizes, or the wanted ones lie too far beyond them.
    """
    needed = min(MIN_SIZES, len(set(item_sizes)))
    if len(samples.sizes) < needed:
        raise FitError(f"Costs must be measured at {needed} sizes or more. Got {len(samples.sizes)}. Measure again.")
    low, high = float(samples.sizes[0]), float(samples.sizes[-1])
    if wanted[0] < low / BEYOND or wanted[1] > high * BEYOND:
        raise FitError(
            f"The measured sizes must cover the item sizes {wanted[0]:g} to {wanted[1]:g}. Got {low:g} to {high:g}. "
            "Measure on items as small and as large, or give a size_range within the measured sizes."
        )
