"""The engines that run models: onnxruntime, and numpy with the kernels of `polydom_runtime.kernels`."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from polydom_runtime.exceptions import BundleFormatError

Engine = Literal["onnxruntime", "numpy"]

ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")


NO_VERSION = "none"
"""Stands for the version of onnxruntime where there is none, in files."""


def onnxruntime() -> Any:
    """Return the module onnxruntime. It is imported only when a model needs it: some nodes do not have it.

    Raises `BundleFormatError` if it is not installed, or cannot be imported.
    """
    # Some of its wheels write a device identifier and start an upload thread at import; a node must do neither.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as e:
        raise BundleFormatError(f"onnxruntime must be installed for this. It cannot be imported: {e}.") from e
    return onnxruntime


@cache
def onnxruntime_version() -> str:
    """Return the version of onnxruntime; an empty text if there is none."""
    try:
        return str(onnxruntime().__version__)
    except BundleFormatError:
        return ""


class InputRow:
    """The input row of float32 numbers that models read, each its first columns, and the arrays of their answer.

    `width`: the number of input columns of the widest model.
    """

    __slots__ = ("label", "number", "values")

    def __init__(self, width: int) -> None:
        self.values = np.zeros(max(width, 1), dtype=np.float32)
        self.label = np.zeros(1, dtype=np.int64)
        self.number = np.zeros(1, dtype=np.float32)


class ModelRunner:
    """A model that reads the first `width` numbers of an input row: a classifier, or a regressor if `n_classes` is 0.

    `onnx_bytes`: input 0 is float32 of shape ``(1, width)``. Output 0 is int64 of shape ``(1,)``, or one float32 if it
    is a regressor. `row`: the session is bound to its arrays once, so they must not be replaced. `sure`: whether its
    scores, output 1, are read too, for `confidence`: a probability or a decision value of each class, or one decision
    value for two classes.

    Raises `BundleFormatError` if it is not let in (see `check_model`), onnxruntime cannot load or run it on this input,
    or it returns a class that does not exist or a number that is not finite.
    """

    __slots__ = ("_binding", "_output", "_run", "_score_of", "_scores", "_session")

    def __init__(self, onnx_bytes: bytes, row: InputRow, width: int, n_classes: int, sure: bool = False) -> None:
        from polydom_runtime.kernels.gate import check_answer, check_model, score_of  # only when a model is opened

        self._output, self._score_of = row.label if n_classes else row.number, score_of
        check_model(onnx_bytes, width, n_classes, sure)
        ort = onnxruntime()
        try:
            self._session = ort.InferenceSession(onnx_bytes, _lean_options(ort), providers=["CPUExecutionProvider"])
            (model_input,) = self._session.get_inputs()
            self._binding = self._session.io_binding()
            self._binding.bind_input(model_input.name, "cpu", 0, np.float32, [1, width], row.values.ctypes.data)
            output, *others = self._session.get_outputs()
            if sure:
                scores, inputs = others[0].name, {model_input.name: row.values[None, :width]}
                self._scores = self._session.run([scores], inputs)[0]  # its shape is not always the declared one
                bound = scores, "cpu", 0, np.float32, self._scores.shape, self._scores.ctypes.data
                self._binding.bind_output(*bound)
            shape = [1] * len(output.shape)  # regressors give (1, 1) or (1,)
            self._binding.bind_output(output.name, "cpu", 0, self._output.dtype, shape, self._output.ctypes.data)
            self._run = self._session.run_with_iobinding
            answer = self()  # the first run also allocates what later runs reuse
        except Exception as e:  # onnxruntime's own exceptions derive from Exception only
            raise BundleFormatError(
                f"A model must take float32 (1, {width}) and give one {self._output.dtype}. onnxruntime said: {e}. "
                "Export the bundle again, for this version of onnxruntime."
            ) from e
        check_answer(answer, n_classes)

    def __call__(self) -> int | float:
        """Return the class number, or a regressor's number, for what the row holds now."""
        self._run(self._binding)
        answer: int | float = self._output.item()
        return answer

    def confidence(self) -> float:
        """Return the score of the label that the last run gave."""
        score: float = self._score_of(self._scores, int(self._output.item()))
        return score


def _lean_options(ort: Any) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    # A classifier of one to three nodes has nothing to optimise; without optimisation, a session loads twice as fast.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Only what ends the process: errors are raised, and its log has the names of nodes as they are.
    options.log_severity_level = 4
    return options


def engine_of(run: Callable[[], int | float]) -> Engine:
    """Return the engine of a model that `load_model` gave."""
    return "onnxruntime" if isinstance(run, ModelRunner) else "numpy"


def load_model(
    engine: Engine, onnx_bytes: bytes, row: InputRow, width: int, n_classes: int, sure: bool = False
) -> Callable[[], int | float]:
    """Return a function that runs a model: by the wanted engine if possible, or else by the other one.

    Other parameters are those of `ModelRunner`.

    Raises `BundleFormatError` if no engine here can run the model, or it is not sound.
    """
    if engine == "onnxruntime" and onnxruntime_version():
        return ModelRunner(onnx_bytes, row, width, n_classes, sure)
    from polydom_runtime.kernels.kernel import Kernel  # only here: many nodes have onnxruntime alone
    from polydom_runtime.kernels.tensors import UnknownModel

    try:
        return Kernel(onnx_bytes, row, width, n_classes, sure)
    except UnknownModel as e:
        if onnxruntime_version():
            return ModelRunner(onnx_bytes, row, width, n_classes, sure)
        raise BundleFormatError(
            f"A model must be one that numpy can run where onnxruntime is missing. This one has {e}. Install "
            "onnxruntime, or build with another estimator."
        ) from e
