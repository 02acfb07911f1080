"""Costs of the task as if measured on a board, where everything jitters by a tenth."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime.device.calibration import KERNELS, REFERENCES
from polydom_runtime.measuring import journal
from polydom_runtime.measuring.cost_samples import MIN_SECONDS, CostSamples, ItemSamples, units_of
from polydom_runtime.measuring.fingerprint import source_fingerprint
from tests.builder import task

SIZES = np.geomspace(8, 2000, 12)
LINEAR_SECONDS, TREE_SECONDS = 50e-6, 80e-6


def samples(**changes: Any) -> CostSamples:
    """Return samples of the task's costs on a board where everything jitters by a tenth."""
    rng = np.random.default_rng(0)
    step_costs = [s.cost for s in task.costs.steps]
    costs = [*step_costs, *task.costs.features, *task.costs.around]
    exact = np.maximum([[c(n) for n in SIZES] for c in costs], MIN_SECONDS)
    seconds = exact[:, :, None] * rng.uniform(1.0, 1.1, (*exact.shape, 100))
    kernels = {name: rng.uniform(1e-5, 1.1e-5, 100) for name in KERNELS}
    kernels |= {
        name: rng.uniform(1.0, 1.1, 100) * (TREE_SECONDS if "trees" in name else LINEAR_SECONDS) for name in REFERENCES
    }
    machine = {
        "device": "a board",
        "numpy": "2.0",
        "onnxruntime": "1.28.0",
        "memory_bytes": 1 << 30,
        "onnx": {"ir_version": 9, "opset": 19, "ml_opset": 3},
    }
    loops = np.ones(exact.shape, dtype=np.int64)
    made = CostSamples(
        units_of(task.space),
        SIZES,
        seconds,
        loops,
        np.full(seconds.shape, np.nan),
        kernels,
        machine,
        source_fingerprint(task.space),
        "enough",
    )
    return replace(made, **changes)


def drawn(sizes: np.ndarray, rounds: int = 5, *, added: float = 0.0, seed: int = 1) -> ItemSamples:
    """Return times of items of these sizes on the board, with a constant added to every unit and model."""
    rng = np.random.default_rng(seed)
    units = [*(s.cost for s in task.costs.steps), *task.costs.features, *task.costs.around]
    exact = np.maximum([[c(n) for n in sizes] for c in units], MIN_SECONDS)
    seconds = exact[:, :, None] * rng.uniform(1.0, 1.1, (*exact.shape, rounds)) + added
    models = {name: LINEAR_SECONDS * rng.uniform(1.0, 1.1, (len(sizes), rounds)) + added for name in REFERENCES}
    return ItemSamples(np.asarray(sizes, dtype=np.float64), seconds, models, 0.02 if added else 0.0)


def write_costs(file: Path) -> Path:
    """Write the samples as the file that a measurement leaves."""
    journal.write_costs(file, samples())
    return file
