"""The time of a model's run on the target device, estimated from a short timing on this machine.

A short timing here is not enough. A model that is called over and over takes only a fraction of its time on a node:
there, the data of the features push its code out of the caches. And the device may be another machine. So reference
models of two kinds and several sizes are timed on the device, among features
(`polydom_runtime.device.calibration.reference_models`). Here, the model and the references are timed in turns, without
features. The time on the device follows from those of the references: from most of them that of a model that finds the
code of onnxruntime warm, and from the first one, which runs right after the features, how much longer it takes there.
Where this machine is the device, models are timed after their features instead: see `InPlaceTimer`.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.engines import Engine, InputRow, load_model
from polydom_runtime.device.calibration import NUMPY_REFERENCES, REFERENCE_MODEL, REFERENCES, reference_models

TIMED_RUNS, WARM_UP_RUNS = 150, 20

MARGIN = 1.3
"""The time on the device is multiplied by this: larger models leave more of themselves outside of the caches."""

LEAST_SHARE_ADDED = 0.35
"""After very short features a model takes longer by this share of what it does after all of them: other models have run
since its last answer. Measured on a virtual machine with features of 21 to 1,171 µs: .37 to 1."""


def placed_seconds(
    onnx_bytes: bytes,
    rows: NDArray[np.float32],
    n_classes: int,
    device: Mapping[str, float],
    engine: Engine = "onnxruntime",
    sure: bool = False,
    share: float = 1.0,
    machine: Mapping[str, Any] | None = None,
) -> float:
    """Return the seconds of one run of a model on the device.

    `rows` (shape (n_rows, width)): inputs, a different one for each run. `n_classes`: 0 for a regressor. `device`:
    seconds of the reference models there. `engine`: runs the model there, and some of the reference models. `sure`:
    whether models compute their scores beside the labels. `share`: the time of the features before the model, as a
    share of that of all features. They were all computed before the first reference; after fewer of them, a model finds
    more of its code warm. `machine`: facts about this machine, for a cache of results.

    Raises `BundleFormatError` if the model cannot be run.
    """
    references = reference_models()
    names = [name for name in (NUMPY_REFERENCES if engine == "numpy" else REFERENCES) if name in device]
    here = _time_in_turns(
        _run_on(rows, onnx_bytes, n_classes, engine, sure), {name: references[name] for name in names}
    )
    model, first = here.pop(""), here.pop(REFERENCE_MODEL, None)
    trees, others = (
        [(here[name], device[name]) for name in here if ("trees" in name) == is_tree] for is_tree in (True, False)
    )
    placed = place(model, trees if b"TreeEnsemble" in onnx_bytes else others)
    if first is None:  # features run in numpy, too, so that its code is warm after them
        return MARGIN * placed
    added = device[REFERENCE_MODEL] - place(first, others)
    return MARGIN * (placed + max(added, 0.0) * (LEAST_SHARE_ADDED + (1.0 - LEAST_SHARE_ADDED) * share))


def place(seconds: float, pairs: list[tuple[float, float]]) -> float:
    """Return the time on the device of a model that takes `seconds` here.

    What running among features adds to a model is nearly a constant. So the time there is a constant and a multiple of
    the time here, both found from references, given as pairs (time here, time there): the line with the least relative
    errors. Neither the constant nor the factor is negative, so that a longer model never takes less.

    >>> [round(place(t, [(1.0, 31.0), (2.0, 32.0), (50.0, 80.0)]), 6) for t in (1.0, 10.0, 200.0)]
    [31.0, 40.0, 230.0]
    """
    here, there = np.array(pairs).T
    constant, factor = _line(here, there)
    return constant + factor * seconds


def _line(here: Floats, there: Floats) -> tuple[float, float]:
    scale = here.max()  # nnls needs columns of like size
    rows = np.stack([np.ones_like(here), here / scale], axis=1) / there[:, None]
    (constant, factor), _ = nnls(rows, np.ones(len(here)))
    return float(constant), float(factor / scale)


def _run_on(
    rows: NDArray[np.float32], onnx_bytes: bytes, n_classes: int, engine: Engine, sure: bool
) -> Callable[[], object]:
    row, width = InputRow(rows.shape[1]), rows.shape[1]
    runner, turn = load_model(engine, onnx_bytes, row, width, n_classes, sure), iter(range(WARM_UP_RUNS + TIMED_RUNS))

    def run() -> None:
        row.values[:width] = rows[next(turn) % len(rows)]
        runner()

    return run


def _time_in_turns(model: Callable[[], object], references: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median seconds of each. They are timed in turns, since processors change their speed."""
    jobs = {"": model, **references}
    samples: dict[str, list[int]] = {name: [] for name in jobs}
    for _ in range(WARM_UP_RUNS + TIMED_RUNS):
        for name, job in jobs.items():
            start = time.perf_counter_ns()
            job()
            samples[name].append(time.perf_counter_ns() - start)
    return {name: float(np.median(times[WARM_UP_RUNS:])) * 1e-9 for name, times in samples.items()}
