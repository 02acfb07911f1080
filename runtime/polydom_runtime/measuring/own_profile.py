"""The profile of a device, from a measurement made on the device itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.device.calibration import KERNELS
from polydom_runtime.device.device_profile import (
    Calibrated,
    DeviceProfile,
    OnnxLimits,
    Quantity,
    System,
    T,
    UncertainQuantity,
)
from polydom_runtime.exceptions import ProfileError

from .cost_samples import CostSamples, ItemSamples
from .tails import relative_error

MIN_UNCERTAINTY = 1.1
"""Two boards of one kind differ by about this factor, and so does one board from day to day."""

LEAST_COLD = 1e-8
"""Cold adds at least this number of seconds: less cannot be told from nothing."""

MOST_UNITS = 0.9
"""The share of the units for which the uncertainty holds, on each side."""


def own_profile(samples: CostSamples) -> DeviceProfile:
    """Return the profile that follows from a measurement, without power draw; `ProfileError` if facts are missing."""
    machine = samples.machine
    if missing := {"device", "cpu", "cores", "began", "kernel", "memory_bytes", "timer_tick_ns"} - machine.keys():
        raise ProfileError(f"A profile needs a full stamp of the machine. Missing: {sorted(missing)}. Measure again.")
    source = f"{source_of(machine)}, {samples.n_rounds} rounds"
    limits = machine.get("onnx", {})
    if "opset" not in limits or machine["memory_bytes"] is None or not KERNELS.keys() <= samples.kernels.keys():
        raise ProfileError(
            "A profile needs the calibration kernels, the memory and the ONNX limits of the device. "
            f"Got limits {limits}, memory {machine['memory_bytes']}. Run `polydom-node doctor` and measure again."
        )
    calibration = {name: _calibrated(samples.kernels[name], source) for name in KERNELS}
    return measured_profile(machine, limits, source, calibration, cold_seconds(samples, source))


def source_of(machine: Mapping[str, Any]) -> str:
    """Return the machine, the day and the versions of a measurement, in words."""
    return (
        f"{machine['device']}, {machine['began'][:10]}, Python {machine['python']}, numpy {machine['numpy']}, "
        f"onnxruntime {machine['onnxruntime']}"
    )


def measured_profile(
    machine: Mapping[str, Any],
    limits: Mapping[str, int],
    source: str,
    calibration: Mapping[str, Calibrated],
    cold: UncertainQuantity[float] | None,
) -> DeviceProfile:
    """Return a profile of facts about a machine, as those of `machine_facts`, of ONNX limits and of times."""

    def measured(value: T) -> Quantity[T]:
        return Quantity(value, "measured", source)

    clock = machine["clock_hz_before"]
    return DeviceProfile(
        machine["device"],
        System(
            soc=measured(machine["device"]),
            core=measured(machine["cpu"]),
            cores=measured(machine["cores"]),
            clock_hz=None if clock is None else measured(clock),
            memory_bytes=measured(machine["memory_bytes"]),
            os=measured(f"Linux {machine['kernel']}"),
            timer_tick_seconds=measured(machine["timer_tick_ns"] * 1e-9),
            idle_watts=None,
            busy_watts=None,
        ),
        calibration,
        OnnxLimits(**{name: measured(limits[name]) for name in ("ir_version", "opset", "ml_opset")}),
        cold,
    )


def cold_seconds(samples: CostSamples, source: str) -> UncertainQuantity[float] | None:
    """Return the time that cold adds to a unit in the median, and the factor by which units differ; None if unknown."""
    if not {"hot", "cold"} <= samples.items.keys():
        return None
    hot, cold = samples.items["hot"], samples.items["cold"]
    both = slice(min(len(hot.sizes), len(cold.sizes)))  # cold answers begin with the same items
    added = np.maximum(np.median(_medians(cold.part(both)) - _medians(hot.part(both)), axis=1), LEAST_COLD)
    typical = float(np.median(added))
    uncertainty = max(
        np.quantile(added, MOST_UNITS) / typical, typical / np.quantile(added, 1.0 - MOST_UNITS), MIN_UNCERTAINTY
    )
    slept = f"{source}; the median of {len(added)} units and models, {1e3 * cold.asleep:g} ms asleep"
    return UncertainQuantity(typical, "measured", slept, min(float(uncertainty), 1000.0))


def _medians(answers: ItemSamples) -> Floats:
    """Return the median time of each unit and model on each item, shape ``(n_units + n_models, n_items)``."""
    times = np.concatenate([answers.seconds, *(seconds[None] for seconds in answers.models.values())])
    medians: Floats = np.median(times, axis=2)
    return medians


def _calibrated(times: np.ndarray[tuple[int], np.dtype[np.float64]], source: str) -> Calibrated:
    uncertainty = 1.0 + relative_error(times.reshape(1, -1), 0.5)[0]
    return Calibrated(float(np.median(times)), max(min(uncertainty, 1000.0), MIN_UNCERTAINTY), "measured", source)
