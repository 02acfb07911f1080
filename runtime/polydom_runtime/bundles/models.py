"""Running an exported model: one onnxruntime session bound once to a fixed input and a fixed output."""

import math
import os

# Some onnxruntime wheels write a device identifier at import and start a thread that uploads; a node must do neither.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime as ort

from polydom_runtime.exceptions import BundleFormatError

ONNXRUNTIME_VERSION: str = ort.__version__


class InputRow:
    """The one row of float32 numbers that all models of a predictor read, each a prefix of it, and their output.

    Parameters
    ----------
    width : int
        Of the widest model.
    n_classes : int
        Room for so many probabilities.
    """

    __slots__ = ("label", "number", "scores", "values")

    def __init__(self, width: int, n_classes: int = 0) -> None:
        self.values = np.zeros(max(width, 1), dtype=np.float32)
        self.label = np.zeros(1, dtype=np.int64)
        self.number = np.zeros(1, dtype=np.float32)
        self.scores = np.zeros((1, n_classes), dtype=np.float32)


class ModelRunner:
    """A model that reads the first `width` numbers of an input row: a classifier, or a regressor if `n_classes` is 0.

    Parameters
    ----------
    onnx_bytes : bytes
        Input 0: float32 ``(1, width)``; output 0: int64 ``(1,)``, a regressor's: one float32.
    row : InputRow
        Bound once; it must not be replaced.
    width : int
    n_classes : int
    sure : bool
        Whether its probabilities, output 1, are wanted too.

    Raises
    ------
    BundleFormatError
        If onnxruntime cannot load or run the model on this input, or it returns a class that does not exist or a
        number that is not finite.
    """

    __slots__ = ("_binding", "_output", "_run", "_scores", "_session")

    def __init__(self, onnx_bytes: bytes, row: InputRow, width: int, n_classes: int, sure: bool = False) -> None:
        self._output = row.label if n_classes else row.number
        self._scores = row.scores
        try:
            self._session = ort.InferenceSession(onnx_bytes, _lean_options(), providers=["CPUExecutionProvider"])
            (model_input,) = self._session.get_inputs()
            self._binding = self._session.io_binding()
            self._binding.bind_input(model_input.name, "cpu", 0, np.float32, [1, width], row.values.ctypes.data)
            output, *others = self._session.get_outputs()
            if sure:
                bound = others[0].name, "cpu", 0, np.float32, [1, n_classes], row.scores.ctypes.data
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
        if n_classes and not 0 <= answer < n_classes:
            raise BundleFormatError(f"A model must return a class number below {n_classes}. Got {answer}.")
        if not math.isfinite(answer):
            raise BundleFormatError(f"A model must return a finite number. Got {answer}.")

    def __call__(self) -> int | float:
        """Return the class number, or a regressor's number, for what the row holds now."""
        self._run(self._binding)
        answer: int | float = self._output.item()
        return answer

    def confidence(self) -> float:
        """Return the largest probability of the last run."""
        return float(self._scores.max())


def _lean_options() -> "ort.SessionOptions":
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    # Classifiers of one to three nodes have nothing to optimise; off, a session loads twice as fast.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return options
