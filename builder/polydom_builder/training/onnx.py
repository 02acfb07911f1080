"""Conversion of scikit-learn models to ONNX, and the check that the exported model gives the same answers."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from polydom_builder.exceptions import ExportError
from polydom_runtime.arrays import Bools
from polydom_runtime.device.tiny_models import ML_DOMAIN
from polydom_runtime.kernels.rounding import LEAVES, TERMS, TRIES, has_trees, moved, unexplained

from .class_numbers import number_labels
from .least_cost import LeastCostModel, choose_by_cost

OLDEST_OPSET = 9
"""Classifiers are converted to this opset of ONNX or newer."""

NUMBER_PRECISION = 1e-4
"""The precision of the numbers of a regressor; see `unexplained`."""

REGISTER = (
    "Choose another estimator, or register a converter with skl2onnx.update_registered_converter; docs/estimators.md "
    "shows how, with those of onnxmltools for XGBoost and LightGBM."
)
"""What to do about an estimator that skl2onnx does not know."""

LABEL_OPTIONS: tuple[dict[str, bool], ...] = ({"zipmap": False}, {"output_class_labels": True}, {})
"""Options of skl2onnx: each makes output 0 the label for some kinds of classifiers and is refused by others."""


@dataclass(frozen=True, slots=True)
class OnnxVersions:
    """The versions that exported models declare; onnxruntime releases of several years load the default ones."""

    ir_version: int = 8
    opset: int = 17
    ml_opset: int = 3

    @classmethod
    def newest(cls, device: str, ir_version: int, opset: int, ml_opset: int) -> "OnnxVersions":
        """Return the newest versions that both the converter and the device, named in the message, support."""
        from onnx.defs import onnx_opset_version
        from onnx.helper import find_min_ir_version_for, make_operatorsetid
        from skl2onnx import __max_supported_opset__

        ml = min(ml_opset, cls().ml_opset)
        for candidate in range(min(opset, __max_supported_opset__, onnx_opset_version()), OLDEST_OPSET - 1, -1):
            ids = [make_operatorsetid("", candidate), make_operatorsetid(ML_DOMAIN, max(ml, 1))]
            needed: int = find_min_ir_version_for(ids)
            if needed <= ir_version and ml >= 1:
                return cls(needed, candidate, ml)
        raise ExportError(
            f"{device} must load ONNX opset {OLDEST_OPSET} or newer. It loads IR version {ir_version}, opset {opset}, "
            f"ai.onnx.ml {ml_opset} at most. Install a newer onnxruntime there and measure again."
        )


def to_onnx(
    model: Any, width: int, versions: OnnxVersions | None = None, classes: Sequence[int | str | bool] = ()
) -> bytes:
    """Convert a fitted model to ONNX, with float32 input of shape ``(n_items, width)``.

    Output 0 of a classifier are class numbers, int64 of shape ``(n_items,)``, by the rising `classes` that it was
    trained on if these are no numbers already.
    """
    # Imported here because the import takes seconds and most workers never convert a model.
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    _list_operators_once()
    versions = versions or OnnxVersions()
    chosen = model if isinstance(model, LeastCostModel) else None
    model = model if chosen is None else chosen.model
    _round_thresholds(model)
    arguments: dict[str, Any] = {
        "initial_types": [("X", FloatTensorType([None, width]))],
        "target_opset": {"": versions.opset, ML_DOMAIN: versions.ml_opset},
        "name": "polydom",  # with a random name, the files of equal models would differ
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the way skl2onnx calls protobuf and numpy
            for option in LABEL_OPTIONS:
                try:
                    proto = convert_sklearn(model, options=_options(model, option), **arguments)
                    if proto.ir_version > versions.ir_version:
                        raise ExportError(f"it needs IR version {proto.ir_version}, over {versions.ir_version}")
                    _mend_discriminant(model, proto)
                    _mend_ridge(model, proto)
                    number_labels(proto, classes, versions.ml_opset)
                    if chosen is not None:
                        choose_by_cost(proto, chosen.costs, chosen.sharpness)
                    return bytes(proto.SerializeToString())
                except (NameError, RuntimeError) as e:
                    if not any(name in str(e) for name in ("zipmap", "output_class_labels")):
                        raise
            raise ExportError("its labels and its scores cannot be distinguished")
    except Exception as e:  # skl2onnx raises many kinds of errors
        said = next(iter(str(e).strip().splitlines()), repr(e))
        what = REGISTER if "shape calculator" in said else "Choose another estimator."
        raise ExportError(
            f"The estimator must be one that skl2onnx can convert. For {type(model).__name__} it said: {said} {what}"
        ) from e


def _list_operators_once() -> None:
    """Let skl2onnx list the versions of all operators once, in the class of its containers: a fifth of a build."""
    from skl2onnx.common._container import ModelComponentContainer as Container

    if not hasattr(Container, "_op_versions") and hasattr(Container, "_build_op_version"):
        Container._build_op_version(Container)


def _options(model: Any, labels: Mapping[str, bool]) -> dict[int, dict[str, Any]]:
    """Return the options of a conversion: those for labels, and a quick way to find nearest neighbours.

    Without it, skl2onnx writes a loop over the training items, which takes a hundred times as long; but squares of
    distances are then differences of large numbers, so the loop stays where distances are weights, or are not
    Euclidean.
    """
    options: dict[int, dict[str, Any]] = {id(model): dict(labels)}
    last = _last_step(model)
    if (
        isinstance(last, KNeighborsClassifier | KNeighborsRegressor)
        and last.weights == "uniform"
        and last.effective_metric_ == "euclidean"
    ):
        options.setdefault(id(last), {})["optim"] = "cdist"
    return options


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _round_thresholds(model: Any) -> None:
    """Round the thresholds of histogram gradient boosting down to float32, the type of all features.

    For every float32 x, x <= t holds exactly if x <= t rounded down to float32. The converter would round t to the
    nearest float32, which can move a row that lies on a threshold to the other side.
    """
    for predictors in getattr(_last_step(model), "_predictors", ()):
        for predictor in predictors:
            thresholds = predictor.nodes["num_threshold"]
            nearest = thresholds.astype(np.float32)
            down = np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)
            predictor.nodes["num_threshold"] = np.where(predictor.nodes["is_leaf"], thresholds, down)


def _mend_discriminant(model: Any, proto: Any) -> None:
    """Let a discriminant analysis of two classes be as sure as scikit-learn's: the converter doubles its score."""
    if isinstance(last := _last_step(model), LinearDiscriminantAnalysis) and len(last.classes_) == 2:
        for attribute in (a for node in proto.graph.node for a in node.attribute if a.name == "post_transform"):
            attribute.s = b"LOGISTIC"


def _mend_ridge(model: Any, proto: Any) -> None:
    """Declare the one decision value that a ridge classifier gives for two classes; the converter declares two."""
    last = _last_step(model)
    if isinstance(last, RidgeClassifier | RidgeClassifierCV) and len(last.classes_) == 2:
        proto.graph.output[1].type.tensor_type.shape.dim[1].dim_value = 1


class OnnxModel:
    """An exported model with scikit-learn's interface, run by onnxruntime on many rows."""

    def __init__(self, onnx_bytes: bytes, classifies: bool = True) -> None:
        self._dtype = np.int64 if classifies else np.float32
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = ort.InferenceSession(onnx_bytes, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._outputs = [output.name for output in self._session.get_outputs()]

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return class numbers, or the numbers of a regressor, shape ``(n_items,)``."""
        return np.asarray(self._session.run(self._outputs[:1], {self._input: rows})[0], dtype=self._dtype).reshape(-1)

    def answers(self, rows: NDArray[np.float32], n_classes: int) -> tuple[NDArray[Any], NDArray[np.float32], Bools]:
        """Return class numbers, their scores, and whether they are said, each of shape ``(n_items,)``, as on a node.

        Where the model abstains, the number is that of its most probable class. The columns of a model that has not
        seen all classes are others; then the score is the largest one.
        """
        labels, scores = self._session.run(self._outputs[:2], {self._input: rows})
        labels, scores = np.asarray(labels).reshape(-1), np.asarray(scores)
        said = labels < n_classes
        if scores.shape[1] == 1:
            return labels, np.abs(scores[:, 0]), said
        labels = np.where(said, labels, scores.argmax(axis=1))
        every = scores.shape[1] == n_classes
        return labels, scores[np.arange(len(rows)), labels] if every else scores.max(axis=1), said

    def predict_proba(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return probabilities, shape ``(n_items, n_classes)``."""
        return np.asarray(self._session.run(self._outputs[1:2], {self._input: rows})[0])


def check_parity(
    name: str,
    expected: NDArray[Any],
    onnx_bytes: bytes,
    rows: NDArray[np.float32],
    max_mismatches: int,
    *,
    classifies: bool = True,
    where: str = "training items",
) -> None:
    """Check that an exported model gives the answers `expected` by the one that it was made from, for most rows.

    It need not where rounding decides, see `polydom_runtime.kernels.rounding`. Numbers of a regressor count as equal
    within the precision of float32.
    """
    found, precision = OnnxModel(onnx_bytes, classifies).predict(rows), 0.0 if classifies else NUMBER_PRECISION
    wrong = unexplained(found, expected, lambda some: _answers_around(onnx_bytes, rows[some], classifies), precision)
    if (differ := int(wrong.sum())) > max_mismatches:
        raise ExportError(
            f"The exported model of {name} must give the answers of scikit-learn for all but {max_mismatches} "
            f"{where}. It differs on {differ} of {len(rows)}. Drop a scaler in front of trees, choose another "
            f"estimator, or accept it with max_mismatches={differ}."
        )


def _answers_around(onnx_bytes: bytes, rows: NDArray[np.float32], classifies: bool) -> NDArray[Any]:
    """Return the answers of a model to rows where its numbers differ by rounding, shape ``(n_rows, TRIES)``."""
    import onnx

    proto, rng = onnx.load_from_string(onnx_bytes), np.random.default_rng(0)
    exact, found = has_trees(f"{node.domain}.{node.op_type}" for node in proto.graph.node), []
    for _ in range(TRIES):
        other = onnx.ModelProto()
        other.CopyFrom(proto)
        _move(other.graph, LEAVES if exact else TERMS, rng)
        model = OnnxModel(other.SerializeToString(), classifies)
        found.append(model.predict(rows if exact else moved(rows, rng)))
    return np.array(found).T


def _move(graph: Any, names: frozenset[str], rng: np.random.Generator) -> None:
    """Move the numbers of a graph, and of those inside; see `polydom_runtime.kernels.rounding`."""
    from onnx.numpy_helper import from_array, to_array

    exponents = {node.input[1] for node in graph.node if node.op_type == "Pow"}
    for constant in graph.initializer:
        if constant.name not in exponents and names != LEAVES and to_array(constant).dtype.kind == "f":
            constant.CopyFrom(from_array(moved(to_array(constant), rng), constant.name))
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        if attribute.name in names:
            attribute.floats[:] = moved(np.array(attribute.floats, dtype=np.float32), rng).tolist()
        if attribute.HasField("g"):
            _move(attribute.g, names, rng)
