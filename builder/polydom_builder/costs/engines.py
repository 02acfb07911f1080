"""Which engines can run a model here: onnxruntime always, and numpy if its kernel gives the same answers."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder.training.onnx import OnnxModel
from polydom_runtime.bundles.engines import ENGINES, Engine
from polydom_runtime.bundles.models import InputRow
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel

MOST_ROWS = 400
"""Of the training items; as many rows again lie between two of them."""

PRECISION = 1e-5
"""Numbers of a regressor may differ by this share of the largest one."""


def engines_of(onnx_bytes: bytes, rows: NDArray[np.float32], n_classes: int) -> tuple[Engine, ...]:
    """Return the engines that give the same answers on some rows and between them.

    Parameters
    ----------
    onnx_bytes : bytes
    rows : float32 array of shape (n_rows, width)
    n_classes : int
        0 for a regressor.
    """
    row = InputRow(rows.shape[1], n_classes)
    try:
        kernel = Kernel(onnx_bytes, row, rows.shape[1], n_classes)
    except (UnknownModel, BundleFormatError):  # such as one with a graph inside, which the reader of the node refuses
        return ("onnxruntime",)
    some = rows[:: max(len(rows) // MOST_ROWS, 1)]
    # Not halfway: such a row is as near to both, and nearest neighbours may take either.
    tried = np.concatenate([some, 0.7 * some[1:] + 0.3 * some[:-1]]).astype(np.float32)
    theirs, ours = OnnxModel(onnx_bytes, n_classes > 0).predict(tried), np.empty(len(tried))
    for k, numbers in enumerate(tried):
        row.values[: len(numbers)] = numbers
        ours[k] = kernel()
    limit = 0.0 if n_classes else PRECISION * float(np.abs(theirs).max())
    return ENGINES if (np.abs(ours - theirs) <= limit).all() else ("onnxruntime",)
