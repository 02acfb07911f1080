"""Trying onnxruntime in a child process, since a wheel for another processor may kill the process that imports it."""

import importlib
import json
import os
import signal
import struct
import subprocess
import sys
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path

IR_VERSIONS, OPSETS, ML_OPSETS = range(3, 40), range(7, 60), range(1, 20)


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of trying onnxruntime in a fresh process."""

    bits: int
    numpy: str
    onnxruntime: str
    """`numpy`, `onnxruntime`: their versions; empty if onnxruntime is not installed."""
    threads: int
    """The threads of a process that has imported both; more than one means a pool of numpy's linear algebra."""
    ir_version: int
    opset: int
    ml_opset: int
    """`ir_version`, `opset`, `ml_opset`: the newest version of each that loads and runs."""


def probe(python: str = sys.executable, timeout: float = 120.0) -> Probe | str:
    """Return the result of a child process of this Python, or the reason why it gave none in `timeout` seconds."""
    command = [python, "-m", "polydom_runtime.device.probe"]
    environment = environment_of_child(ORT_DISABLE_TELEMETRY="1")
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"a child process could not run: {e}"
    if done.returncode < 0:
        return f"a child process that imports it was killed by {_name(-done.returncode)}"
    try:
        seen = json.loads(done.stdout)
        return Probe(**{f.name: seen[f.name] for f in fields(Probe)})
    except (ValueError, KeyError, TypeError):
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return f"a child process that imports it failed: {last[0]}"


def environment_of_child(**defaults: str) -> dict[str, str]:
    """Return the environment of a child process that imports this package, with defaults for what is not set here."""
    package = str(Path(__file__).parents[2])
    path = os.pathsep.join(p for p in (package, os.getenv("PYTHONPATH")) if p)
    return {**defaults, **os.environ, "PYTHONPATH": path}


def look() -> Probe:
    """Import onnxruntime in this process and try it. If it is not installed, its versions are empty and 0."""
    import numpy as np

    from polydom_runtime.bundles.engines import InputRow, ModelRunner, onnxruntime_version

    if find_spec("onnxruntime"):
        importlib.import_module("onnxruntime")  # its error tells why it does not work

    from .tiny_models import IR_VERSION, ML_OPSET, OPSET, trial_model

    def loads(ir_version: int = IR_VERSION, opset: int = OPSET, ml_opset: int = ML_OPSET) -> bool:
        try:
            ModelRunner(trial_model(ir_version, opset, ml_opset), InputRow(2), 2, 2)
        except ValueError:
            return False
        return True

    return Probe(
        bits=8 * struct.calcsize("P"),
        numpy=np.__version__,
        onnxruntime=onnxruntime_version(),
        threads=_threads(),
        ir_version=max((v for v in IR_VERSIONS if loads(ir_version=v)), default=0),
        opset=max((v for v in OPSETS if loads(opset=v)), default=0),
        ml_opset=max((v for v in ML_OPSETS if loads(ml_opset=v)), default=0),
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f"signal {number}"


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


if __name__ == "__main__":
    print(json.dumps(asdict(look())))
