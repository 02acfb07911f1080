"""Whether both engines answer alike: labels, numbers and scores of a model on ordinary rows, but for rounding."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from polydom_runtime.bundles.engines import InputRow, ModelRunner, _lean_options
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.gate import check_model
from polydom_runtime.kernels.graph import Graph
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.rounding import TRIES, Rows, has_trees, moved, moved_graph, unexplained
from polydom_runtime.kernels.tensors import UnknownModel

PRECISION = 1e-4
"""How far numbers and scores may be off; see `unexplained`."""

REFUSALS = ("is NaN", "out of data bounds", "out of range", "Out of range")
"""What onnxruntime says of rows that a model cannot take: they lead to no numbers, or to places outside of an array."""

TINY = 1e-6
"""Nor do scores differ that differ by less."""

CLEAR = 1e-5
"""A label is clear if its score is larger than the others by this share of the largest absolute one."""


class Answers(NamedTuple):
    """What an engine answers to some rows, arrays of shape ``(n_rows,)``."""

    labels: NDArray[Any]
    """Labels, or the numbers of a regressor."""
    scores: NDArray[np.float64]
    """Those of the labels; not a number if the engine gives none."""
    clear: NDArray[np.bool_]
    """Whether the scores tell one label from the others."""
    refused: NDArray[np.bool_]
    """Whether the engine gives no answer to a row, since it may not be what the model takes; then a node gives another
    model's."""


def ordinary_rows(width: int) -> Rows:
    """Return rows as features give them: of any numbers, round ones, none, and larger ones."""
    rng = np.random.default_rng(width)
    some = 2.0 * rng.normal(size=(10, width))
    return np.concatenate([some, np.round(some[:5]) / 2.0, np.zeros((1, width)), 100.0 * some[:2]]).astype(np.float32)


def use_typed(data: bytes, folder: Path) -> None:
    """Answer rows by both engines; `BundleFormatError` if one of them refuses the model, or the gate does."""
    if said := differences(data):
        raise AssertionError(said)


def differences(data: bytes) -> str:
    """Return what is different in the answers of both engines, with an example; empty if nothing is.

    `data`: the number of classes, the width of the input, one byte each, and a model. Raises `BundleFormatError` if one
    of the engines does not run the model.
    """
    n_classes, width, model = data[0], data[1], data[2:]
    check_model(model, width, n_classes)
    rows = ordinary_rows(width)
    theirs, ours = (_opened(engine, model, rows, n_classes) for engine in (ModelRunner, Kernel))
    if (other := theirs.refused != ours.refused).any():
        return f"refusals: one engine answers {rows[other][0].tolist()}, the other one does not"
    clear = theirs.clear & ours.clear & ~theirs.refused
    for name, precision in (("labels", 0.0 if n_classes else PRECISION), ("scores", PRECISION)):
        found, expected = getattr(ours, name), getattr(theirs, name)
        kept = clear & np.isfinite(found) & np.isfinite(expected)
        if kept.any():
            around = partial(_around, model, rows[kept], n_classes, name)
            wrong = unexplained(found[kept], expected[kept], around, precision)
            for k in wrong.nonzero()[0]:
                here, there, row = found[kept][k], expected[kept][k], rows[kept][k]
                if (name == "labels" or abs(here - there) > TINY) and _stays_finite(model, row):
                    return f"{name}: numpy {here:g}, onnxruntime {there:g} for {row.tolist()}"
    return ""


def _stays_finite(model: bytes, row: NDArray[np.float32]) -> bool:
    """Tell whether no number overflows on the way, in onnxruntime: what comes of infinite ones is nobody's answer."""
    proto = onnx.load_from_string(model)
    written = {output.name for output in proto.graph.output}
    for name in (name for node in proto.graph.node for name in node.output if name not in written):
        proto.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    for attribute in (a for node in proto.graph.node for a in node.attribute if a.name == "post_transform"):
        attribute.s = b"NONE"  # others hide infinite scores
    session = onnxruntime.InferenceSession(proto.SerializeToString(), _lean_options(onnxruntime))
    results = session.run(None, {proto.graph.input[0].name: row[None]})
    return all(np.isfinite(result).all() for result in results if result.dtype.kind == "f")


def _opened(engine: Callable[..., Any], model: bytes, rows: Rows, n_classes: int) -> Answers:
    """Return the answers of an engine, with scores if there are any."""
    row = InputRow(rows.shape[1])
    try:
        return _answers(engine(model, row, rows.shape[1], n_classes, n_classes > 0), row, rows, n_classes)
    except (BundleFormatError, UnknownModel):
        try:
            return _answers(engine(model, row, rows.shape[1], n_classes), row, rows, 0)
        except UnknownModel as e:
            raise BundleFormatError(f"no kernel: {e}") from e


def _answers(run: Any, row: InputRow, rows: Rows, n_scores: int) -> Answers:
    labels, scores, clear, refused = [], [], [], []
    for numbers in rows:
        row.values[:] = numbers
        try:
            label, is_refused = run(), False
        except Exception as e:  # of onnxruntime's own kind
            if not any(words in str(e) for words in REFUSALS):
                raise
            label, is_refused = 0, True
        labels.append(label)
        refused.append(is_refused)
        scores.append(run.confidence() if n_scores else np.nan)
        clear.append(not n_scores or _is_clear(np.array(run._scores, dtype=np.float64).reshape(-1)))
    return Answers(*map(np.array, (labels, scores, clear, refused)))


def _is_clear(scores: NDArray[np.float64]) -> bool:
    if not np.isfinite(scores).all():
        return False
    second, first = np.sort([*scores, -scores[0]] if len(scores) == 1 else scores)[-2:]
    return bool(first - second > CLEAR * np.abs(scores).max())


def _around(model: bytes, rows: Rows, n_classes: int, name: str, wrong: NDArray[np.bool_]) -> NDArray[Any]:
    """Return labels or scores of a kernel whose numbers differ by rounding, shape ``(n_rows, TRIES)``."""
    graph, rng, some, width = Graph.read(model), np.random.default_rng(0), rows[wrong], rows.shape[1]
    exact = any(has_trees(iter([node.kind])) and node.inputs[0] == graph.input for node in graph.nodes)
    row, found = InputRow(width), []
    for _ in range(TRIES):
        kernel = Kernel(moved_graph(graph, rng), row, width, n_classes, name == "scores")
        tried = some if exact else moved(some, rng)
        found.append(getattr(_answers(kernel, row, tried, n_classes * (name == "scores")), name))
    return np.array(found).T
