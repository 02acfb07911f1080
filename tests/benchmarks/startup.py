"""A node from process start to first answer, against a bare script that imports the same and runs one session."""

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from polydom_runtime.bundles.bundle import StoredIndex
from polydom_runtime.device.tiny_models import linear_classifier
from tests.bundle_parts import with_regimes
from tests.runtime.conftest import make_bundle, write
from tests.runtime.lattice_world import US, lattice_bundle, microseconds

from .ratios import note

PROBE = """
import time
print(time.perf_counter())  # of one clock for all processes
print(next(x.split()[1] for x in open('/proc/self/status') if x.startswith('VmHWM')))
"""
"""Not ru_maxrss: that of a child starts at what its parent used."""
NAMES, N_CLASSES, ROUNDS = tuple("abcdefg"), 128, 10

OURS = """
from polydom_runtime import Predictor, Seams
import numpy as np
from node_space import space
predictor = Predictor.load({bundle!r}, space, deadline=10.0, seams=Seams(engine={engine!r}))
print(predictor.predict_one(np.arange(9.0)).label)
"""
MANY = f"""
from time import perf_counter_ns
from polydom_runtime import Feature, FeatureSpace, Predictor
space = FeatureSpace([Feature(name, len) for name in {NAMES}], size=len)
predictor = Predictor.load({{bundle!r}}, space, deadline=10.0)
times = [perf_counter_ns()]
for n in range(100):
    predictor.predict_one([0.0] * 9)
    times.append(perf_counter_ns())
taken = [b - a for a, b in zip(times, times[1:])]
print(taken[0] / sorted(taken[1:])[50])
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


def many_models(folder: Path) -> Path:
    """Write a bundle of seven features with a model for each set, times of three regimes, and no need of onnxruntime.

    Its predictor has 128 states in each regime.
    """
    costs = [microseconds(10.0 * (k + 1), 0.1) for k in range(len(NAMES))]
    accuracies = [0.5 + 0.05 * mask.bit_count() for mask in range(1 << len(NAMES))]
    bundle = lattice_bundle(accuracies, costs, names=NAMES, widths=(1,) * len(NAMES), sizes=(1.0, 1000.0))
    data = [linear_classifier(len(model.order), N_CLASSES) for model in bundle.models]
    models = tuple(
        model._replace(size_bytes=len(d), sha256=hashlib.sha256(d).digest(), engine="numpy")
        for model, d in zip(bundle.models, data, strict=True)
    )
    bundle = replace(bundle, models=models, stored=StoredIndex())  # the index has none: it plans with models
    return write(folder, with_regimes(bundle, rehearsed=10 * US, cold=40 * US), data)


class Run(NamedTuple):
    """Wall seconds, peak memory in MB, and the last line that a fresh process printed."""

    seconds: float
    peak: float
    said: str


def run(python: str, script: str, bytecode: Path) -> Run:
    """Run a script in a fresh process, with bytecode of an earlier run: an installed package has it too."""
    probe = script + PROBE
    folder = Path(__file__).parents[1] / "runtime"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(bytecode)}
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", probe], capture_output=True, text=True, check=True, cwd=folder, env=environment
    )
    *_, said, end, peak = done.stdout.splitlines()
    return Run(float(end) - start, int(peak) / 1024, said)


def main() -> None:
    """Print the ratios."""
    python = os.environ.get("POLYDOM_NODE_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(write(Path(scratch) / "small.bundle", *make_bundle()))
        scripts = {
            "bare script": BARE.format(model=f"{folder}/models/0002.onnx"),
            "3 models, onnxruntime": OURS.format(bundle=folder, engine="onnxruntime"),
            "3 models, numpy": OURS.format(bundle=folder, engine="numpy"),
            "127 models, numpy": MANY.format(bundle=str(many_models(Path(scratch) / "many.bundle"))),
        }
        bytecode = Path(scratch)
        rounds = range(ROUNDS + 2)
        runs = [{name: run(python, script, bytecode) for name, script in scripts.items()} for _ in rounds][2:]
    seconds = {name: statistics.median(some[name].seconds for some in runs) for name in scripts}
    peaks = {name: statistics.median(some[name].peak for some in runs) for name in scripts}
    bare, bare_peak = seconds["bare script"], peaks["bare script"]
    targets = {"3 models, onnxruntime": "<= 1.3", "3 models, numpy": "<= 0.9", "127 models, numpy": "<= 1.2"}
    for name, target in targets.items():
        took, peak = seconds[name], peaks[name]
        note(f"{name}: process start to first answer, against a bare script", took / bare, target)
        note(f"{name}: peak memory, against a bare script", peak / bare_peak, "<= 1.2")
        print(f"{name}: start to first answer {took:.3f} s / {bare:.3f} s = {took / bare:.2f}   (target {target});")
        print(f"  peak memory {peak:.1f} MB / {bare_peak:.1f} MB = {peak / bare_peak:.2f}")
    first = statistics.median(float(some["127 models, numpy"].said) for some in runs)
    note("first answer without a warm-up, against later ones", first, "<= 3")
    print(f"first answer without a warm-up, against later ones: {first:.1f}   (target <= 3)")
