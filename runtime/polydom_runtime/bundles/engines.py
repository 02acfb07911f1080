"""The engines that run models: onnxruntime, and numpy with the kernels of `polydom_runtime.kernels`."""

from collections.abc import Callable
from typing import Literal

from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel

from .models import InputRow, ModelRunner, onnxruntime_version

Engine = Literal["onnxruntime", "numpy"]

ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")


def load_model(
    engine: Engine, onnx_bytes: bytes, row: InputRow, width: int, n_classes: int, sure: bool = False
) -> Callable[[], int | float]:
    """Return what runs a model: by the wanted engine if possible, or else by the other one.

    `onnx_bytes`, `row`, `width`, `n_classes`, `sure`: as for `ModelRunner`.

    Raises `BundleFormatError` if no engine here can run the model, or it is not sound.
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
