"""The time of a model's run on the target device, estimated from a short timing on this machine.

A short timing here is not enough. A model that is called over and over takes only a fraction of its time on a node:
there, the data of the features push its code out of the caches. And the device may be another machine. So reference
models of two kinds and several sizes are timed on the device, among features
(`polydom_runtime.device.calibration.reference_models`). Here, the model and the references are timed in turns, without
features. The time on the device is interpolated between the references.
"""

import time
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.bundles.models import InputRow, ModelRunner
from polydom_runtime.device.calibration import reference_models

TIMED_RUNS, WARM_UP_RUNS = 150, 20
KINDS = ("model linear", "model trees")


class ModelTimes:
    """Seconds of one run on the device.

    Parameters
    ----------
    device : dict of str to float
        Seconds of the reference models there.
    """

    def __init__(self, device: Mapping[str, float]) -> None:
        self.device = dict(device)

    def __call__(self, onnx_bytes: bytes, rows: NDArray[np.float32], n_classes: int) -> float:
        """Return the seconds of a model on the device.

        Parameters
        ----------
        onnx_bytes : bytes
        rows : float32 array of shape (n_rows, width)
            Inputs, a different one for each run.
        n_classes : int
            0 for a regressor.

        Raises
        ------
        BundleFormatError
            If the model cannot be run.
        """
        kind = KINDS[b"TreeEnsemble" in onnx_bytes]
        here = _time_in_turns(_run_on(rows, onnx_bytes, n_classes), {n: _references()[n] for n in self.device})
        model = here.pop("")
        return place(model, sorted((here[n], self.device[n]) for n in here if n.startswith(kind)))


def place(seconds: float, pairs: list[tuple[float, float]]) -> float:
    """Return the time on the device of a model that takes `seconds` here.

    It is interpolated between the references, given as pairs (time here, time there) by rising time here. Below the
    first reference it is the time of the first one; above the last one it grows in proportion.

    >>> [place(t, [(1.0, 10.0), (3.0, 20.0)]) for t in (0.5, 2.0, 6.0)]
    [10.0, 15.0, 40.0]
    """
    here, there = np.array(pairs).T
    there = np.maximum.accumulate(there)
    return float(np.interp(seconds, here, there) * max(seconds / here[-1], 1.0))


@cache
def _references() -> dict[str, Callable[[], object]]:
    return reference_models()


def _run_on(rows: NDArray[np.float32], onnx_bytes: bytes, n_classes: int) -> Callable[[], object]:
    row, width = InputRow(rows.shape[1]), rows.shape[1]
    runner, turn = ModelRunner(onnx_bytes, row, width, n_classes), iter(range(WARM_UP_RUNS + TIMED_RUNS))

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
