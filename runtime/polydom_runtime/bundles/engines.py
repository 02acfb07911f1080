"""The engines that run models: onnxruntime, and numpy with the kernels of `polydom_runtime.kernels`."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel

from .models import InputRow, ModelRunner, onnxruntime_version

Engine = Literal["onnxruntime", "numpy"]

ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")

MOST_ROWS = 400
"""Of the rows on which engines are compared; as many rows again lie between two of them."""

PRECISION = 1e-5
"""Numbers of a regressor may differ by this share of the largest one."""


def load_model(
    engine: Engine, onnx_bytes: bytes, row: InputRow, width: int, n_classes: int, sure: bool = False
) -> Callable[[], int | float]:
    """Return what runs a model: by the wanted engine if possible, or else by the other one.

    Parameters
    ----------
    engine : {"onnxruntime", "numpy"}
    onnx_bytes, row, width, n_classes, sure
        As for `ModelRunner`.

    Raises
    ------
    BundleFormatError
        If no engine here can run the model, or it is not sound.
    """
    if engine == "onnxruntime" and onnxruntime_version():
        return ModelRunner(onnx_bytes, row, width, n_classes, sure)
    try:
        return Kernel(onnx_bytes, row, width, n_classes, sure)
    except UnknownModel as e:
        if onnxruntime_version():
            return ModelRunner(onnx_bytes, row, width, n_classes, sure)
        raise BundleFormatError(
            f"A model must be one that numpy can run where onnxruntime is missing. This one has {e}. Install "
            "onnxruntime, or build with another estimator."
        ) from e


def agreeing_engines(onnx_bytes: bytes, rows: NDArray[np.float32], n_classes: int) -> tuple[Engine, ...]:
    """Return the engines here that can run a model: numpy beside onnxruntime only if both give the same answers.

    Parameters
    ----------
    onnx_bytes : bytes
    rows : float32 array of shape (n_rows, width)
        Inputs on which the answers are compared, and between each two of them.
    n_classes : int
        0 for a regressor.

    Raises
    ------
    BundleFormatError
        If no engine here can run the model.
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
    # Not halfway: such a row is as near to both, and nearest neighbours may take either.
    tried = np.concatenate([some, 0.7 * some[1:] + 0.3 * some[:-1]]).astype(np.float32)
    answers = np.empty((len(tried), 2))
    for k, numbers in enumerate(tried):
        row.values[:width] = numbers
        answers[k] = runner(), kernel()
    limit = 0.0 if n_classes else PRECISION * float(np.abs(answers[:, 0]).max(initial=0.0))
    return ENGINES if (np.abs(np.diff(answers)) <= limit).all() else ("onnxruntime",)
