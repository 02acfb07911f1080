"""What float32, in which models get features, loses of them."""

import warnings

import numpy as np

from polydom_runtime.arrays import Floats, distinct
from polydom_runtime.features import FeatureSpace

FLOAT32 = np.finfo(np.float32)

ROUNDING = 1e-12
"""Values that differ by less than this share of them are taken to be equal except for the rounding of float64."""

FINE = 1000
"""The number of different values that is enough, however many there were."""


def warn_of_lost_values(space: FeatureSpace, rows: Floats) -> None:
    """Warn of features of which float32 keeps less than half of the different values, or only a few digits.

    `rows` (shape (n_items, sum of widths)): the features of all items in float64.
    """
    for name, columns in zip(space.names, space.column_slices(), strict=True):
        for exact in rows[:, columns].T:
            largest, kept = np.abs(exact).max(), exact.astype(np.float32)
            if np.ptp(exact) <= ROUNDING * largest:
                continue
            before, after = _n_different(exact), len(distinct(kept))
            is_tiny = largest < FLOAT32.tiny
            if is_tiny or (2 * after <= before and after < FINE):
                warnings.warn(_said(name, exact, before, after, is_tiny), stacklevel=5)
                break


def _n_different(exact: Floats) -> int:
    """Return how many values there are that differ by more than rounding, as 0.1 + 0.2 and 0.3 do not."""
    ranked = np.sort(exact)
    sizes = np.abs(ranked)
    return 1 + int(np.count_nonzero(np.diff(ranked) > ROUNDING * np.maximum(sizes[1:], sizes[:-1])))


def _said(name: str, exact: Floats, before: int, after: int, is_tiny: bool) -> str:
    low, high = exact.min(), exact.max()
    what = (
        f"Multiply it, as by {1 / max(-low, high):.0e}"
        if is_tiny
        else f"Subtract what all items have in common, such as {low:.10g}, or take its logarithm if it spans powers"
    )
    return (
        f"Feature {name!r} must give numbers that float32 tells apart: models get no others. It gives {before} "
        f"different ones from {low:.10g} to {high:.10g}, which are {after} in float32. {what}."
    )
