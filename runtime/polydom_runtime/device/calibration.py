"""Calibration kernels: small pieces of work, typical of features and models, by whose times machines are compared."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from polydom_runtime.bundles.engines import Engine, InputRow, load_model

from .tiny_models import dense_classifier, kernel_classifier, linear_classifier, linear_pipeline, tree_classifier

IN_CACHE = 4096
"""Numbers that fit the first or second level cache of every core."""

BEYOND_CACHE = 1 << 19
"""Numbers (4 MiB of float64) that fit no cache of a Raspberry Pi."""

KERNELS = {
    "interpreter": "100 turns of a Python loop with a call, an attribute and a sum",
    "numpy_call": "numpy.add of 16 float64 into a given array",
    "streaming": f"numpy.add of 1 to {BEYOND_CACHE} float64 (4 MiB) into a given array",
    "arithmetic": f"numpy.exp of {IN_CACHE} float64 into a given array",
    "sort": f"numpy.sort of {IN_CACHE} random float64",
    "fft": f"numpy.fft.rfft of {IN_CACHE} float64",
    "onnx_linear": "one onnxruntime run, linear classifier, 20 inputs, 3 classes",
    "onnx_trees": "one onnxruntime run, 50 trees of depth 8, 20 inputs, 3 classes",
}
"""The work of one run of each kernel."""

REFERENCES = (
    "model linear chain",
    "model linear",
    "model linear long chain",
    "model linear large",
    "model trees small",
    "model trees",
    "model trees large",
    "model kernel",
    "model dense",
)

REFERENCE_MODEL = REFERENCES[0]
"""Runs right after the features, as the model of an answer does; its quantiles give the ratio of those of any model."""

NUMPY_REFERENCES = ("numpy linear", "numpy dense", "numpy kernel", "numpy trees small", "numpy trees")
"""The references that the kernels of numpy run. They follow other models, never the features."""

LARGE_REFERENCES = ("model kernel", "model dense")
"""References as large as support vector machines, nearest neighbours and networks. Older measurements lack them."""

WIDTH, N_CLASSES, TREES, DEPTH = 20, 3, 50, 8


def kernels() -> dict[str, Callable[[], object]]:
    """Return, for each name in `KERNELS`, a function that does one run of that calibration work."""
    rng = np.random.default_rng(0)
    small, small_out = rng.random(16), np.empty(16)
    large, large_out = np.ones(BEYOND_CACHE), np.zeros(BEYOND_CACHE)
    cached, cached_out = rng.random(IN_CACHE), np.empty(IN_CACHE)
    jobs: tuple[Callable[[], object], ...] = (
        _interpret,
        partial(np.add, small, small, out=small_out),
        partial(np.add, large, 1.0, out=large_out),
        partial(np.exp, cached, out=cached_out),
        partial(np.sort, cached),
        partial(np.fft.rfft, cached),
        _runner(linear_classifier(WIDTH, N_CLASSES)),
        _runner(tree_classifier(WIDTH, N_CLASSES, trees=TREES, depth=DEPTH)),
    )
    return dict(zip(KERNELS, jobs, strict=True))


@cache
def reference_models() -> dict[str, Callable[[], object]]:
    """Return runs of models of the kinds that are exported, small to large: by onnxruntime if there, then by numpy.

    Timed among features on one machine and alone on another, they tell the time of a model among features from its
    time alone. They are made once in a process, in some tenths of a second.
    """
    linear = linear_pipeline(WIDTH, N_CLASSES, scalers=1)
    few, many = (tree_classifier(WIDTH, N_CLASSES, trees=count, depth=d) for count, d in ((5, 4), (TREES, DEPTH)))
    # Long runs over few numbers: they must not take the caches from the features that are timed after them.
    vectors, dense = partial(kernel_classifier, 4, N_CLASSES), dense_classifier(WIDTH, N_CLASSES, hidden=(32,) * 40)
    by_onnxruntime = (
        _runner(linear),
        _runner(linear_classifier(WIDTH, N_CLASSES)),
        _runner(linear_pipeline(WIDTH, N_CLASSES, scalers=13)),
        _runner(linear_classifier(200, 20), 200),
        _runner(few),
        _runner(many),
        _runner(tree_classifier(WIDTH, N_CLASSES, trees=200, depth=8)),
        _runner(vectors(vectors=12_000), 4),
        _runner(dense),
    )
    inputs = ((linear, WIDTH), (dense, WIDTH), (vectors(vectors=3_000), 4), (few, WIDTH), (many, WIDTH))
    by_numpy = (_runner(model, width, "numpy") for model, width in inputs)
    return dict(zip((*REFERENCES, *NUMPY_REFERENCES), (*by_onnxruntime, *by_numpy), strict=True))


class _Counter:
    step = 1

    def add(self, total: int) -> int:
        return total + self.step


def _interpret() -> int:
    counter, total = _Counter(), 0
    for _ in range(100):
        total = counter.add(total)
    return total


def _runner(onnx_bytes: bytes, width: int = WIDTH, engine: Engine = "onnxruntime") -> Callable[[], object]:
    """Return a model bound to a fixed input row, in the way that the predictor binds it; in numpy if it must be."""
    row = InputRow(width)
    row.values[:] = np.linspace(-1.0, 1.0, width)
    return load_model(engine, onnx_bytes, row, width, 20)
