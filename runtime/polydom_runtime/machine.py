"""What a measurement says about the machine that it was made on: plain data, kept with the samples."""

import os
import platform
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .board import Board, BoardState
from .clock import Clock, hardware_clock
from .models import ONNXRUNTIME_VERSION
from .probe import Probe
from .timer import reading_ns, timer_tick_ns

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
CLOCK_MOVED, HEATED = 0.05, 10.0
"""A clock that fell by this fraction or a temperature that rose by so many degrees is waited for."""


def describe(board: Board, cpu: int | None = None, clock: Clock = hardware_clock) -> dict[str, Any]:
    """Return what is known before anything is measured."""
    state = board.state()
    return {
        "device": board.device,
        "cpu": board.cpu,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnxruntime": ONNXRUNTIME_VERSION,
        "threads": {name: os.environ.get(name, "") for name in THREAD_VARIABLES},
        "governors": list(board.governors),
        "pinned_cpu": cpu,
        "memory_bytes": board.memory_bytes(),
        "available_bytes": board.memory_bytes("MemAvailable"),
        "timer_tick_ns": timer_tick_ns(clock),
        "timer_reading_ns": reading_ns(clock),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "clock_hz_before": state.clock_hz,
        "celsius_before": state.celsius,
        "throttled_before": state.throttled,
    }


def onnx_limits(found: Probe | str) -> dict[str, Any]:
    """Return the newest ONNX versions that load, or why none could be tried."""
    if isinstance(found, str):
        return {"failed": found}
    return {"ir_version": found.ir_version, "opset": found.opset, "ml_opset": found.ml_opset}


class Conditions:
    """Watches clock, heat and throttling while a measurement goes on."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._first = self._last = board.state()
        self._throttled = self._first.is_throttled
        self.pauses = 0

    def have_moved(self) -> bool:
        """Look again; tell whether the machine is not what it was at the start, so that it should cool down."""
        self._last = now = self._board.state()
        new_flags = (now.throttled or 0) & ~(self._first.throttled or 0)  # also those of a moment nobody looked at
        self._throttled |= now.is_throttled or new_flags != 0
        return now.is_throttled or _fell(self._first, now) or _heated(self._first, now)

    def summary(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is known after all is measured, with a warning for each thing that makes the times doubtful."""
        warnings = []
        if self._throttled:
            warnings.append("the clock was held down (throttled): cool the board or change its power supply")
        if _fell(self._first, self._last):
            warnings.append("the clock fell while measuring: set the governor to performance")
        if before["governors"] not in ([], ["performance"]):
            warnings.append(f"the governor was {', '.join(before['governors'])}: set it to performance")
        if any(value not in ("", "1") for value in before["threads"].values()):
            warnings.append("numpy was allowed several threads: set OPENBLAS_NUM_THREADS=1")
        return {
            "clock_hz_after": self._last.clock_hz,
            "celsius_after": self._last.celsius,
            "throttled_after": self._last.throttled,
            "cool_down_pauses": self.pauses,
            "warnings": warnings,
        }


def _fell(first: BoardState, now: BoardState) -> bool:
    return bool(first.clock_hz and now.clock_hz and now.clock_hz < (1.0 - CLOCK_MOVED) * first.clock_hz)


def _heated(first: BoardState, now: BoardState) -> bool:
    return first.celsius is not None and now.celsius is not None and now.celsius > first.celsius + HEATED
