"""The conditions of a measurement: facts about the machine and its state, kept as plain data with the samples."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polydom_runtime.bundles.engines import NO_VERSION, onnxruntime_version
from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.board import Board, BoardState
from polydom_runtime.device.jitter import reading_ns, timer_tick_ns
from polydom_runtime.device.probe import Probe

from .cost_samples import CostSamples
from .stopwatch import BUSY_WARNINGS, Disturbances

IDENTITY = ("device", "cpu", "python", "numpy", "onnxruntime", "threads", "governors")
"""The facts that must be equal for times to be comparable."""

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
CLOCK_MOVED, HEATED = 0.05, 10.0
"""A fall of the clock (a fraction) or a rise of the temperature (°C) that makes a measurement pause to cool down."""


def machine_facts(board: Board, cpu: int | None = None, clock: Clock = hardware_clock) -> dict[str, Any]:
    """Return the facts that are known before the measurement begins; `cpu` is the processor that it stays on."""
    state = board.state()
    return {
        "device": board.device,
        "cpu": board.cpu,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnxruntime": onnxruntime_version() or NO_VERSION,
        "threads": {name: os.environ.get(name, "") for name in THREAD_VARIABLES},
        "governors": list(board.governors),
        "pinned_cpu": cpu,
        "memory_bytes": board.total_bytes,
        "available_bytes": board.available_bytes,
        "timer_tick_ns": timer_tick_ns(clock),
        "timer_reading_ns": reading_ns(clock),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "clock_hz_before": state.clock_hz,
        "celsius_before": state.celsius,
        "throttled_before": state.throttled,
    }


def onnx_limits(found: Probe | str) -> dict[str, Any]:
    """Return the newest ONNX versions that load, or the reason why none could be tried."""
    if isinstance(found, str) or not found.onnxruntime:
        return {"failed": found if isinstance(found, str) else "onnxruntime is not installed"}
    return {"ir_version": found.ir_version, "opset": found.opset, "ml_opset": found.ml_opset}


def identity() -> dict[str, Any]:
    """Return the facts about this machine that must be equal for times to be comparable."""
    stamp = machine_facts(Board())
    return {name: stamp[name] for name in IDENTITY}


def busy_warning(samples: CostSamples) -> str:
    """Return the warning that the machine was busy meanwhile, or that a quota stopped it; empty if neither is so."""
    said = next((warning for warning in samples.warnings if warning.startswith(BUSY_WARNINGS)), "")
    return said or Disturbances(samples.pauses).warning or ""


class Conditions:
    """Watches clock, heat and throttling of a measurement; `earlier` are the warnings of an earlier run of it."""

    def __init__(self, board: Board, machine: Mapping[str, Any], earlier: Sequence[str] = ()) -> None:
        self._board = board
        self._first = self._last = board.state()
        self._stolen, self._throttled = board.stolen_seconds(), board.groups.throttled()
        kept = [warning for warning in earlier if not warning.startswith(BUSY_WARNINGS)]  # its figure changes
        self._warnings = dict.fromkeys([*kept, *_lasting_warnings(machine)])
        self.seen = Disturbances()
        self.pauses = 0
        self._warn(self._first)

    def have_moved(self) -> bool:
        """Read the state again; tell whether the machine is slower or hotter than at the start and should cool down."""
        first, self._last = self._first, (now := self._board.state())
        self._warn(now)
        heated = first.celsius is not None and now.celsius is not None and now.celsius > first.celsius + HEATED
        return now.is_throttled or _fell(first, now) or heated

    def with_losses(self, chunk: Disturbances) -> Disturbances:
        """Return the disturbances of a chunk, with the losses to a hypervisor and a quota since the last call."""
        stolen, self._stolen = self._stolen, self._board.stolen_seconds()
        throttled, self._throttled = self._throttled, self._board.groups.throttled()
        return replace(chunk, stolen=max(self._stolen - stolen, 0.0), throttled=max(self._throttled - throttled, 0))

    def warn(self, warning: str) -> None:
        """Add a reason why the times may be wrong."""
        self._warnings[warning] = None

    @property
    def warnings(self) -> list[str]:
        """The reasons found so far why the times may be wrong."""
        return [*self._warnings, *filter(None, [self.seen.warning])]

    def summary(self) -> dict[str, Any]:
        """Return the facts that are known at the end of the measurement."""
        seen = self.seen
        disturbances = {
            "processor_share": seen.pauses.processor_share,
            "involuntary_switches": seen.switches,
            "stolen_seconds": seen.stolen,
            "throttled_periods": seen.throttled,
        }
        return {
            "clock_hz_after": self._last.clock_hz,
            "celsius_after": self._last.celsius,
            "throttled_after": self._last.throttled,
            "cool_down_pauses": self.pauses,
            "warnings": self.warnings,
            **(disturbances if seen.pauses.watched else {}),
        }

    def _warn(self, now: BoardState) -> None:
        new_flags = (now.throttled or 0) & ~(self._first.throttled or 0)  # also flags set between two readings
        if now.is_throttled or new_flags:
            self._warnings["the clock was lowered (throttled): cool the board or change its power supply"] = None
        if _fell(self._first, now):
            self._warnings["the clock fell while measuring: set the governor to performance"] = None


def _lasting_warnings(machine: Mapping[str, Any]) -> list[str]:
    warnings = []
    if machine["governors"] not in ([], ["performance"]):
        warnings.append(f"the governor was {', '.join(machine['governors'])}: set it to performance")
    if any(value not in ("", "1") for value in machine["threads"].values()):
        warnings.append("numpy was allowed several threads: set OPENBLAS_NUM_THREADS=1")
    return warnings


def _fell(first: BoardState, now: BoardState) -> bool:
    return bool(first.clock_hz and now.clock_hz and now.clock_hz < (1.0 - CLOCK_MOVED) * first.clock_hz)
