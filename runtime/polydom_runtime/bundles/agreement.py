"""Which engines give the same answers: numpy runs a model only if it answers as onnxruntime does."""

from collections.abc import Callable

import numpy as np

from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.graph import Graph
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.proto import Array
from polydom_runtime.kernels.rounding import TRIES, Rows, has_trees, moved, moved_graph, unexplained
from polydom_runtime.kernels.tensors import UnknownModel

from .engines import ENGINES, Engine, InputRow, ModelRunner, load_model, onnxruntime_version

MOST_ROWS = 400
"""The number of rows on which engines are compared; the same number again lies between two of them."""

PRECISION = 3e-6
"""The precision of the numbers of a regressor; see `unexplained`."""


def agreeing_engines(onnx_bytes: bytes, rows: Rows, n_classes: int) -> tuple[Engine, ...]:
    """Return the engines here that can run a model: numpy beside onnxruntime only if both give the same answers.

    Where rounding decides, they need not; see `polydom_runtime.kernels.rounding`.

    `rows` (shape (n_rows, width)): inputs on which the answers are compared, and between each two of them.
    `n_classes`: the number of classes, 0 for a regressor.

    Raises `BundleFormatError` if no engine here can run the model.
    """
    row, width = InputRow(rows.shape[1]), rows.shape[1]
    if not onnxruntime_version():
        load_model("numpy", onnx_bytes, row, width, n_classes)
        return ("numpy",)
    runner = ModelRunner(onnx_bytes, row, width, n_classes)
    try:
        kernel = Kernel(onnx_bytes, row, width, n_classes)
    except (UnknownModel, BundleFormatError):  # such as one with a graph inside, which the reader of the node refuses
        return ("onnxruntime",)
    some = rows[:: max(len(rows) // MOST_ROWS, 1)]
    tried = np.concatenate([some, 0.7 * some[1:] + 0.3 * some[:-1]]).astype(np.float32)
    found, expected = (_each(run, row, tried) for run in (kernel, runner))
    precision = 0.0 if n_classes else PRECISION
    try:
        wrong = unexplained(found, expected, lambda some: answers_around(onnx_bytes, tried[some], n_classes), precision)
    except (UnknownModel, BundleFormatError):  # with other numbers it is not sound
        return ("onnxruntime",)
    return ("onnxruntime",) if wrong.any() else ENGINES


def answers_around(onnx_bytes: bytes, rows: Rows, n_classes: int) -> Array:
    """Return the answers of a kernel to rows where its numbers differ by rounding, shape ``(n_rows, TRIES)``."""
    graph, rng, width = Graph.read(onnx_bytes), np.random.default_rng(0), rows.shape[1]
    row, found = InputRow(width), []
    exact = has_trees(node.kind for node in graph.nodes)
    for _ in range(TRIES):
        kernel = Kernel(moved_graph(graph, rng), row, width, n_classes)
        found.append(_each(kernel, row, rows if exact else moved(rows, rng)))
    return np.array(found).T


def _each(run: Callable[[], int | float], row: InputRow, rows: Rows) -> Array:
    """Return the answer of a model to each row."""
    found = []
    for numbers in rows:
        row.values[: len(numbers)] = numbers
        found.append(run())
    return np.array(found)
