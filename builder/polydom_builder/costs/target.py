"""The device that a bundle is built for: its costs, their origin, and the limits of the device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polydom_builder.exceptions import ExportError, FitError
from polydom_builder.training.onnx import OnnxVersions
from polydom_runtime.bundles.bundle_times import REGIMES, CostOrigin, Regime
from polydom_runtime.bundles.engines import ENGINES, NO_VERSION, Engine
from polydom_runtime.bundles.unit_times import UnitTimes, step_users
from polydom_runtime.device.board import memory_need
from polydom_runtime.device.calibration import NUMPY_REFERENCES, REFERENCE_MODEL
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.cost_samples import CostSamples

from .allowance import Allowance
from .carry_over import carried_cost, carried_fits, carried_models, ratios
from .cost_fit import CostFit
from .fitted_times import PLANNING_QUANTILES, FittedTimes, RegimeTarget
from .sample_checks import check_samples

__all__ = ["RegimeTarget", "Target"]


@dataclass(frozen=True)
class Target:
    """The device that a bundle is built for. Make it with `given`, `measured` or `estimated`."""

    worst: UnitTimes
    """The sums of these are the worst cases of whole sets, allowance included."""
    planned: Mapping[float, UnitTimes] = field(default_factory=dict)
    """The times at each quantile that a plan may use; empty if the costs were given."""
    guarded: UnitTimes | None = None
    """The times of single units at the promised quantile; None if the costs were given."""
    reference_seconds: float = 0.0
    """The time that the reference model states on the device; 0 if the costs were given."""
    fits: Mapping[str, CostFit] = field(default_factory=dict)
    """The fits of each unit; empty if the costs were given."""
    models: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the reference models on the device; not needed if `worst` has the time of a model."""
    origin: CostOrigin = field(default_factory=CostOrigin)
    versions: OnnxVersions = field(default_factory=OnnxVersions)
    """The newest ONNX versions that the device loads."""
    memory_bytes: int | None = None
    """The memory that a process may use on the device."""
    regimes: Mapping[Regime, RegimeTarget] = field(default_factory=dict)
    """The times of the regimes ``rehearsed`` and ``cold``; the other times are those of ``hot``. Empty if they were
    never measured."""
    is_here: bool = False
    """Whether it is this machine, or one just like it, so that models can be timed here."""
    engines: tuple[Engine, ...] = ("onnxruntime",)
    """The engines that can run models there and whose times are known."""

    @classmethod
    def given(cls, space: FeatureSpace, worst: UnitTimes) -> "Target":
        """Return a device of which only the worst cases are known.

        Raises `FitError` if they are of other features or steps, or have no time of a model.
        """
        if worst.model is None:
            raise FitError("Given costs must have the time of a model run. Got None. Give it as model=seconds.")
        steps = step_users(space)
        names, users = (*space.names, *(name for name, _ in steps)), tuple(mask for _, mask in steps)
        if worst.names != names or worst.users != users:
            raise FitError(
                f"The costs must be of the features and steps {names}, the steps used by {users}. "
                f"Got {worst.names} and {worst.users}."
            )
        return cls(worst)

    @classmethod
    def measured(cls, space: FeatureSpace, samples: CostSamples, quantile: float) -> "Target":
        """Return the device on which the samples were measured.

        `quantile`: the promised share of answers in time, from 0 to 1.

        Raises `FitError`, `MeasurementError` if the samples are not of this space, or are impossible. Raises
        `ExportError` if the device loads no ONNX version that can be exported.
        """
        check_samples(space, samples)
        machine = samples.machine
        versions = {name: machine[name] for name in ("numpy", "onnxruntime") if name in machine}
        origin = CostOrigin(machine.get("device", ""), False, samples.warnings, versions)
        times = FittedTimes(space, samples)
        regimes = {regime: times.in_regime(regime, quantile) for regime in REGIMES[1:] if regime in samples.items}
        return cls(
            *times.in_regime("hot", quantile)[:4],
            times.fits(quantile),
            times.references,
            origin,
            _versions(origin.device, machine.get("onnx", {})),
            machine.get("memory_bytes"),
            regimes,
            is_here(machine),
            _engines(times.references, machine.get("onnxruntime") != NO_VERSION),
        )

    @classmethod
    def estimated(cls, space: FeatureSpace, samples: CostSamples, profile: DeviceProfile, quantile: float) -> "Target":
        """Return the device of a profile, with costs converted from samples of this machine.

        `samples`: samples from this machine, calibration kernels included. `quantile`: the promised share of answers in
        time, from 0 to 1.

        Raises `FitError`, `MeasurementError` if the samples are not of this space, lack a calibration kernel, or are
        impossible. Raises `ExportError` if the device loads no ONNX version that can be exported.
        """
        check_samples(space, samples)
        times, by_kernel = FittedTimes(space, samples), ratios(profile, samples.kernels)
        onnx, reference = profile.onnx, times.references[REFERENCE_MODEL]
        limits = {"ir_version": onnx.ir_version, "opset": onnx.opset, "ml_opset": onnx.ml_opset}
        models = carried_models(times.references, by_kernel)

        def there(units: UnitTimes, worst: bool) -> UnitTimes:
            return units.mapped(lambda cost: carried_cost(cost, by_kernel, worst=worst))

        # A pause is not work that takes a slower processor longer, so the constant is not converted. The share comes
        # from slow spells of this machine, which say nothing about the other one.
        pauses = Allowance(times.allowance(quantile).constant, 0.0)
        hot = RegimeTarget(
            pauses.worst_cases(there(times.of_units(quantile), worst=True)),
            {q: there(times.at(q), worst=False).relative_to(reference) for q in PLANNING_QUANTILES},
            there(times.at(quantile), worst=True).relative_to(reference),
            models[REFERENCE_MODEL],
            0.0,
            0.0,
        )
        cold = profile.cold_seconds
        return cls(
            *hot[:4],
            carried_fits(times.fits(quantile), by_kernel),
            models,
            CostOrigin(profile.name, True, samples.warnings),
            _versions(profile.name, {name: quantity.value for name, quantity in limits.items()}),
            profile.system.memory_bytes.value,
            {} if cold is None else {"cold": hot.estimated_cold(cold)},
            engines=_engines(times.references),
        )

    def part(self, features: Sequence[int]) -> "Target":
        """Return the device with the times of some of the features, in this order."""
        return replace(
            self,
            worst=self.worst.part(features),
            planned={q: times.part(features) for q, times in self.planned.items()},
            guarded=None if self.guarded is None else self.guarded.part(features),
            regimes={name: regime.part(tuple(features)) for name, regime in self.regimes.items()},
        )

    def check_memory(self, names: Sequence[str], sizes: Sequence[int]) -> None:
        """Check that models fit the memory of the device.

        `names`: a name for each model. `sizes`: the size of each model file in bytes.

        Raises `ExportError` if they do not fit. The message names the largest model.
        """
        needed = memory_need(sizes)
        if self.memory_bytes is not None and needed > self.memory_bytes:
            largest = max(range(len(sizes)), key=sizes.__getitem__)
            raise ExportError(
                f"The models must fit the memory of {self.origin.device}, {self.memory_bytes >> 20} MiB. All "
                f"{len(sizes)} need about {needed >> 20} MiB; the largest is {names[largest]} with a file of "
                f"{sizes[largest] / 2**20:.1f} MiB. Choose a smaller estimator, or a larger alpha for fewer models."
            )


def is_here(machine: Mapping[str, Any]) -> bool:
    """Tell whether the machine that was measured is this one, or one with the same processor, software and settings."""
    here = identity()
    return bool(machine) and all(machine.get(name) == value for name, value in here.items())


def _engines(references: Mapping[str, float], has_onnxruntime: bool = True) -> tuple[Engine, ...]:
    """Return the engines of a device; not numpy if its reference models were never timed, as in older measurements."""
    known = has_onnxruntime, set(NUMPY_REFERENCES) <= references.keys()
    return tuple(engine for engine, is_known in zip(ENGINES, known, strict=True) if is_known)


def _versions(device: str, limits: Mapping[str, Any]) -> OnnxVersions:
    if not {"ir_version", "opset", "ml_opset"} <= limits.keys():
        return OnnxVersions()  # onnxruntime could not be tried there, or nobody asked
    return OnnxVersions.newest(device, limits["ir_version"], limits["opset"], limits["ml_opset"])
