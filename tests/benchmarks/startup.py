"""A node from process start to first answer, against a bare script that imports the same and runs one session."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.runtime.conftest import make_bundle, write

from .ratios import note

OURS = """
from polydom_runtime import Predictor
import numpy as np
from node_space import space
print(Predictor.load({bundle!r}, space, deadline=10.0).predict_one(np.arange(9.0)).label)
"""
BARE = """
import os
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import numpy as np, onnxruntime as ort, msgpack
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.enable_cpu_mem_arena = False
session = ort.InferenceSession({model!r}, options, providers=["CPUExecutionProvider"])
print(session.run(None, {{"X": np.zeros((1, 6), dtype=np.float32)}})[0])
"""


def run(python: str, script: str) -> tuple[float, int]:
    """Return wall seconds and peak kilobytes of a fresh process."""
    # VmHWM, since ru_maxrss of a child starts at what its parent used.
    probe = script + "\nprint(next(x.split()[1] for x in open('/proc/self/status') if x.startswith('VmHWM')))"
    folder = Path(__file__).parents[1] / "runtime"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", probe], capture_output=True, text=True, check=True, cwd=folder, env=environment
    )
    return time.perf_counter() - start, json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the ratios."""
    python = os.environ.get("POLYDOM_NODE_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as scratch:
        folder = write(Path(scratch) / "small.bundle", *make_bundle())
        scripts = OURS.format(bundle=str(folder)), BARE.format(model=str(folder / "models" / "0002.onnx"))
        runs = [[run(python, script) for script in scripts] for _ in range(12)][2:]
    (ours, our_peak), (bare, bare_peak) = (
        [statistics.median(column) for column in zip(*pairs, strict=True)] for pairs in zip(*runs, strict=True)
    )
    note("process start to first answer, against a bare script", ours / bare, "<= 1.3")
    note("peak memory, against a bare script", our_peak / bare_peak, "<= 1.2")
    print(f"process start to first answer: {ours:.3f} s / {bare:.3f} s = {ours / bare:.2f}   (target <= 1.3)")
    print(
        f"peak memory: {our_peak / 1024:.1f} MB / {bare_peak / 1024:.1f} MB = {our_peak / bare_peak:.2f}"
        "   (target <= 1.2)"
    )
