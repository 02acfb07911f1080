"""The device that a bundle is planned for: its costs, where they come from, and its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from polydom_builder.exceptions import ExportError
from polydom_builder.training.onnx import OnnxVersions
from polydom_runtime.bundles.bundle import CostOrigin
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.device.memory import memory_need
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.unit_times import UnitTimes

from .allowance import Allowance
from .carry_over import carried_cost, carried_fits, carried_models, carried_units, ratios
from .fitting import CostFit
from .quantile_times import carried, plannable, times_at
from .unit_costs import TYPICAL_MODEL, UnitCosts, fit_units


@dataclass(frozen=True)
class Target:
    """A device as the build needs it.

    Parameters
    ----------
    units : UnitCosts
    fits : dict of str to CostFit
        By unit; empty if the costs were given.
    models : dict of str to float, optional
        Seconds of the reference models there; not needed if `units` has `model_seconds`.
    origin : CostOrigin
    versions : OnnxVersions
        The newest ONNX versions to export.
    memory_bytes : int, optional
        What a process may use there.
    expected : dict of float to UnitTimes
        What units take there at each quantile that may be planned with; empty if the costs were given.
    alone : UnitTimes, optional
        The worst case of each unit alone.
    reference_seconds : float
        The stated worst case of the reference model there; 0 if the costs were given.
    """

    units: UnitCosts
    fits: Mapping[str, CostFit] = field(default_factory=dict)
    models: Mapping[str, float] = field(default_factory=dict)
    origin: CostOrigin = field(default_factory=CostOrigin)
    versions: OnnxVersions = field(default_factory=OnnxVersions)
    memory_bytes: int | None = None
    expected: Mapping[float, UnitTimes] = field(default_factory=dict)
    alone: UnitTimes | None = None
    reference_seconds: float = 0.0

    @classmethod
    def measured(cls, space: FeatureSpace, samples: CostSamples, quantile: float) -> "Target":
        """Return the device that the samples were measured on.

        Raises
        ------
        FitError, MeasurementError
            If the samples are not of this space or impossible.
        ExportError
            If the device loads no ONNX version that can be exported.
        """
        fitted = fit_units(space, samples, quantile)
        machine = samples.machine
        versions = {name: machine[name] for name in ("numpy", "onnxruntime") if name in machine}
        origin = CostOrigin(machine.get("device", ""), False, samples.warnings, versions)
        limits = machine.get("onnx", {})
        models = {name: seconds * (1.0 + fitted.allowance.share) for name, seconds in fitted.models.items()}
        reference = models[TYPICAL_MODEL]
        return cls(
            fitted.units.with_allowance(fitted.allowance),
            fitted.fits,
            models,
            origin,
            _versions(origin.device, limits),
            machine.get("memory_bytes"),
            plannable(space, samples, reference),
            times_at(space, samples, quantile, reference),
            reference,
        )

    @classmethod
    def estimated(cls, space: FeatureSpace, samples: CostSamples, profile: DeviceProfile, quantile: float) -> "Target":
        """Return the device of a profile, its costs carried over from samples of this machine."""
        fitted = fit_units(space, samples, quantile)
        by_kernel = ratios(profile, samples.kernels)
        onnx = profile.onnx
        limits = {"ir_version": onnx.ir_version, "opset": onnx.opset, "ml_opset": onnx.ml_opset}
        models = carried_models(fitted.models, by_kernel)
        reference = fitted.models[TYPICAL_MODEL]
        likely, feared = (partial(carried_cost, by_kernel=by_kernel, worst=worst) for worst in (False, True))
        return cls(
            # A pause is what a system does, not work that a slower processor does more slowly; slow spells are this
            # machine's own.
            carried_units(fitted.units, by_kernel).with_allowance(Allowance(fitted.allowance.constant, 0.0)),
            carried_fits(fitted.fits, by_kernel),
            models,
            CostOrigin(profile.name, True, samples.warnings),
            _versions(profile.name, {name: quantity.value for name, quantity in limits.items()}),
            profile.system.memory_bytes.value,
            {q: carried(times, likely) for q, times in plannable(space, samples, reference).items()},
            carried(times_at(space, samples, quantile, reference), feared),
            models[TYPICAL_MODEL],
        )

    def part(self, features: Sequence[int]) -> "Target":
        """Return the device for some of the features, in this order."""
        units = self.units.part(features)
        steps = [[step.name for step in self.units.steps].index(step.name) for step in units.steps]
        return replace(
            self,
            units=units,
            expected={q: times.part(features, steps) for q, times in self.expected.items()},
            alone=None if self.alone is None else self.alone.part(features, steps),
        )

    def check_memory(self, names: Sequence[str], sizes: Sequence[int]) -> None:
        """Raise ExportError, naming the largest, if models of so many bytes do not fit the device's memory."""
        needed = memory_need(sizes)
        if self.memory_bytes is not None and needed > self.memory_bytes:
            largest = max(range(len(sizes)), key=sizes.__getitem__)
            raise ExportError(
                f"The models must fit the memory of {self.origin.device}, {self.memory_bytes >> 20} MiB. All "
                f"{len(sizes)} need about {needed >> 20} MiB; the largest is {names[largest]} with a file of "
                f"{sizes[largest] / 2**20:.1f} MiB. Choose a smaller estimator, or a larger alpha for fewer models."
            )


def _versions(device: str, limits: Mapping[str, Any]) -> OnnxVersions:
    if not {"ir_version", "opset", "ml_opset"} <= limits.keys():
        return OnnxVersions()  # onnxruntime could not be tried there, or nobody asked
    return OnnxVersions.newest(device, limits["ir_version"], limits["opset"], limits["ml_opset"])
