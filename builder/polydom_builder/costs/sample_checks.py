"""The checks that samples are of the features of a space, and cover the sizes that are wanted."""

import warnings
from collections.abc import Sequence

from polydom_builder.exceptions import BusyMachineWarning, FitError
from polydom_runtime.bundles.engines import NO_VERSION
from polydom_runtime.device.calibration import LARGE_REFERENCES, NUMPY_REFERENCES, REFERENCES
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.conditions import busy_warning
from polydom_runtime.measuring.cost_samples import CostSamples, units_of
from polydom_runtime.measuring.fingerprint import FINGERPRINT_VERSION, source_fingerprint
from polydom_runtime.measuring.measure import MIN_SIZES

MOST_EXTRAPOLATED = 1.25
"""Costs are extrapolated by at most this factor beyond the measured sizes, since their growth may change there."""


def check_samples(space: FeatureSpace, samples: CostSamples) -> None:
    """Check that samples are of a space and can be fitted.

    Raises `FitError` if they are of other features, the code of the features has changed since, or the reference models
    are missing. Raises `MeasurementError` if their times or sizes are impossible.
    """
    wanted = units_of(space)
    if samples.units != wanted:
        raise FitError(f"The cost samples must be of the units {wanted}. Got {samples.units}. Measure this space.")
    if samples.fingerprint and not samples.fingerprint.startswith(FINGERPRINT_VERSION):
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


def warn_if_busy(samples: CostSamples) -> None:
    """Warn if the machine was busy while it was measured, or a quota stopped the measurement."""
    if text := busy_warning(samples):
        warnings.warn(text, BusyMachineWarning if samples.pauses.is_busy else UserWarning, stacklevel=4)


def check_coverage(samples: CostSamples, item_sizes: Sequence[float], wanted: tuple[float, float]) -> None:
    """Check that the samples are of enough sizes for growth to show, and that these cover the wanted sizes.

    `item_sizes`: the sizes of the items; if these have only few different sizes, fewer measured ones are enough.
    `wanted`: the range of sizes that the bundle is built for.

    Raises `FitError` if they are of too few sizes, or the wanted ones lie too far beyond them.
    """
    needed = min(MIN_SIZES, len(set(item_sizes)))
    if len(samples.sizes) < needed:
        raise FitError(f"Costs must be measured at {needed} sizes or more. Got {len(samples.sizes)}. Measure again.")
    low, high = float(samples.sizes[0]), float(samples.sizes[-1])
    if wanted[0] < low / MOST_EXTRAPOLATED or wanted[1] > high * MOST_EXTRAPOLATED:
        raise FitError(
            f"The measured sizes must cover the item sizes {wanted[0]:g} to {wanted[1]:g}. Got {low:g} to {high:g}. "
            "Measure on items as small and as large, or give a size_range within the measured sizes."
        )
