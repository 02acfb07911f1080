"""Costs of a device that is not here, estimated from costs measured on this machine and the calibration of both.

Each growth term is multiplied by the ratio of two kernels that grow alike: constant terms by that of the interpreter
and of small numpy calls, linear ones by streaming and arithmetic, n log n by sorting and Fourier transforms. It is not
known which of the two kernels a feature resembles. So the typical cost takes the geometric mean of the two ratios, and
the worst case takes the larger one, with its uncertainty.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import BASIS, CostFunction
from polydom_runtime.device.calibration import KERNELS, NUMPY_REFERENCES
from polydom_runtime.device.device_profile import DeviceProfile

from .cost_fit import CostFit

CALL_KERNELS = ("interpreter", "numpy_call")
PASS_KERNELS = ("streaming", "arithmetic")
KERNELS_OF_TERM = {
    "1": CALL_KERNELS,
    "log n": CALL_KERNELS,
    "n": PASS_KERNELS,
    "n log n": ("sort", "fft"),
    "n^2": PASS_KERNELS,
    "n^3": PASS_KERNELS,
}


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer some work takes there than here: the best guess, and an upper bound."""

    typical: float
    worst: float


def ratios(profile: DeviceProfile, here: Mapping[str, Floats]) -> dict[str, Ratio]:
    """Return the ratio of each kernel, from its samples on this machine and its time in the profile.

    Raises `FitError` if the samples lack a kernel.
    """
    if missing := KERNELS.keys() - here.keys():
        raise FitError(f"The cost samples must hold all calibration kernels. Missing: {sorted(missing)}.")
    times = {name: profile.calibration[name].seconds / float(np.median(here[name])) for name in KERNELS}
    return {name: Ratio(r, r * profile.calibration[name].uncertainty) for name, r in times.items()}


def of_term(term: str, by_kernel: Mapping[str, Ratio]) -> Ratio:
    """Return the ratio of a growth term."""
    pair = [by_kernel[name] for name in KERNELS_OF_TERM[term]]
    return Ratio(math.prod(r.typical for r in pair) ** 0.5, max(r.worst for r in pair))


def carried_cost(cost: CostFunction, by_kernel: Mapping[str, Ratio], *, worst: bool) -> CostFunction:
    """Return a cost function with each term converted to the other device, at its worst or at its typical ratio."""
    factors = [of_term(term, by_kernel) for term in BASIS]
    a, b, c, d, e, f = (w * (r.worst if worst else r.typical) for w, r in zip(cost.weights, factors, strict=True))
    return CostFunction((a, b, c, d, e, f))


def carried_fits(fits: Mapping[str, CostFit], by_kernel: Mapping[str, Ratio]) -> dict[str, CostFit]:
    """Return the fits with both costs converted to the other device; the slack stays that of the measurement here."""
    return {
        unit: replace(
            fit,
            typical=carried_cost(fit.typical, by_kernel, worst=False),
            worst=carried_cost(fit.worst, by_kernel, worst=True),
        )
        for unit, fit in fits.items()
    }


def carried_models(models: Mapping[str, float], by_kernel: Mapping[str, Ratio]) -> dict[str, float]:
    """Return the seconds of the reference models on the other device, at the worst ratio."""

    def ratio(name: str) -> float:
        kernel = "numpy_call" if name in NUMPY_REFERENCES else "onnx_trees" if "trees" in name else "onnx_linear"
        return by_kernel[kernel].worst

    return {name: seconds * ratio(name) for name, seconds in models.items()}
