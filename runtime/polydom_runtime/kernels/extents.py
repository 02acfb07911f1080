"""How large the results of operators are, for one row, without running them; here those of whole models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .graph import OfNode, Operation
from .proto import MAX_DIMENSIONS, Array
from .tensors import axis_of
from .wire import unsound

Shape = tuple[int, ...]
Range = tuple[int, int]

NUMBER, TEXT = 8, 64
"""The bytes that a number or a text takes at most, besides the characters of a text."""

MAX_VALUES = 64
"""The values of an integer array, which may be a shape, are kept only if there are at most this many."""


class Extent(NamedTuple):
    """What is known of an array before anything runs."""

    shape: Shape
    item: int = NUMBER
    """The bytes of one number or text, at most."""
    values: list[int] | None = None
    """Its numbers, if they are few integers that do not depend on the item."""
    real: bool = True
    """Whether it holds numbers with a fraction, for sure."""
    within: Range | None = None
    """The least and the largest of its integers, if these are known: places in an array must be in it."""

    @classmethod
    def of(cls, array: Array) -> "Extent":
        """Return the extent of a constant."""
        if array.dtype.kind == "O":
            return cls(array.shape, TEXT + 4 * max(map(len, array.reshape(-1).tolist()), default=0), real=False)
        if array.dtype.kind != "i" or not array.size:
            return cls(array.shape, NUMBER, [] if array.dtype.kind == "i" else None, array.dtype.kind == "f")
        values = array.reshape(-1).tolist() if array.size <= MAX_VALUES else None
        return cls(array.shape, NUMBER, values, False, (int(array.min()), int(array.max())))


class Case(OfNode):
    """An operator with what it reads (None if left out).

    Rules add the multiplications of products to `work`; `sure` is false where an item may give places outside of an
    array.
    """

    __slots__ = ("inputs", "node", "sure", "work")

    def __init__(self, node: Operation, inputs: Sequence[Extent | None]) -> None:
        self.node: Operation = node
        self.inputs: Sequence[Extent | None] = inputs
        self.work = 0
        self.sure = True

    def given(self, position: int) -> bool:
        """Return whether the node has an input."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def extent(self, position: int = 0) -> Extent:
        """Return an input; BundleFormatError if the node does not have it."""
        found: Extent = self.input(position)
        return found

    def shape(self, position: int = 0) -> Shape:
        """Return the shape of an input."""
        return self.extent(position).shape

    def item(self) -> int:
        """Return the bytes that a number or text of its outputs takes at most."""
        labels = self.attributes.get("classlabels_strings") or [""]
        own = TEXT + 4 * max(map(len, labels)) if labels != [""] else NUMBER
        return max([own, *(extent.item for extent in self.inputs if extent is not None)])

    def axis(self, default: int) -> int:
        """Return the axis that an attribute names."""
        return axis_of(self.integer("axis", default), len(self.shape()))

    def values(self, position: int) -> list[int]:
        """Return the numbers of an input that says a shape; BundleFormatError if they are not known."""
        found = self.extent(position).values
        if found is None:
            raise unsound(f"a constant shape in {self.kind}", "one that depends on the item")
        return found

    def values_or_attribute(self, position: int, name: str) -> list[int] | None:
        """Return the numbers of an input, or the attribute that older versions have instead; or None."""
        if self.given(position):
            return self.values(position)
        return self.integers(name) if name in self.attributes else None


Rule = Callable[[Case], list[Shape]]
"""Returns the shapes of the outputs of an operator."""


def together(shapes: Iterable[Shape]) -> Shape:
    """Return the shape to which arrays are spread before they are added, for example."""
    different = list(dict.fromkeys(shapes))
    if len(different) == 1:
        return different[0]
    try:
        return np.broadcast_shapes(*different)
    except ValueError as e:
        raise unsound("inputs of like shapes", str(different)[:80]) from e


def limited(shape: Iterable[int], kind: str) -> Shape:
    """Return the shape of a result; BundleFormatError if it has an axis of negative length, or too many of them."""
    found = tuple(shape)
    if len(found) > MAX_DIMENSIONS or min(found, default=0) < 0:
        raise unsound(f"at most {MAX_DIMENSIONS} axes in {kind}", str(found[: MAX_DIMENSIONS + 1]))
    return found


def _rows(case: Case) -> tuple[int, int]:
    """Return the number of rows that a model reads, and their width."""
    shape = case.shape()
    if len(shape) not in (1, 2):
        raise unsound(f"rows of numbers for {case.kind}", f"shape {shape}")
    return (shape[0] if len(shape) == 2 else 1), shape[-1]


def _same_rows(case: Case) -> list[Shape]:
    _rows(case)
    return [case.shape()]


def _labels(case: Case, integers: str) -> int:
    """Return the number of classes."""
    texts = case.attributes.get("classlabels_strings") or []
    numbers = case.integers(integers)
    if bool(texts) == bool(numbers):
        raise unsound(f"labels of {case.kind} of one type", f"{len(numbers)} numbers and {len(texts)} texts")
    return max(len(texts), len(numbers))


def _one_each(*names: str) -> Rule:
    """Return the rule that each attribute in `names` holds one number, or one per column; the shape stays the same."""

    def rule(case: Case) -> list[Shape]:
        width = (1, *case.shape())[-1]
        for name in names:
            if (count := len(case.reals(name))) not in (1, width) or count != len(case.reals(names[0])):
                raise unsound(f"one {name} or {width}, as many as {names[0]}", f"{count}")
        return [case.shape()]

    return rule


def _encoded(case: Case) -> list[Shape]:
    return [(*case.shape(), max(len(case.integers("cats_int64s")), len(case.attributes.get("cats_strings") or [])))]


def _coefficients(case: Case, width: int, count: int) -> None:
    """Check that there are weights for some outputs, and an intercept for each."""
    weights, bias = len(case.reals("coefficients")), len(case.reals("intercepts"))
    if count < 1 or weights != width * count or bias not in (0, count):
        raise unsound(f"{width * count} coefficients", f"{weights}, and {bias} intercepts")


def _linear_classifier(case: Case) -> list[Shape]:
    (rows, width), labels = _rows(case), _labels(case, "classlabels_ints")
    shares = labels == 2 and len(case.reals("coefficients")) == width
    count = 1 if shares else labels
    _coefficients(case, width, count)
    case.work += rows * width * count
    if len(case.reals("intercepts")) != count:  # onnxruntime counts the classes by them
        raise unsound(f"{count} intercepts", "none")
    return [(rows,), (rows, labels)]


def _linear_regressor(case: Case) -> list[Shape]:
    (rows, width), targets = _rows(case), case.integer("targets", 1)
    _coefficients(case, width, targets)
    case.work += rows * width * targets
    return [(rows, targets)]


def _vectors(case: Case, count: int, of_each: int) -> tuple[int, int]:
    """Check support vectors, with some coefficients each; return the number of rows and of vectors."""
    rows, width = _rows(case)
    vectors, coefficients = (len(case.reals(name)) for name in ("support_vectors", "coefficients"))
    if count < 1 or vectors != count * width or coefficients != of_each * count:
        raise unsound(f"{count} support_vectors of {width} numbers, {of_each} coefficients each", f"{vectors} numbers")
    if len(case.reals("kernel_params")) != 3 or case.option("kernel_type", "LINEAR") not in KERNELS:
        raise unsound("a kernel that ONNX has, with three kernel_params", "another")
    case.work += rows * (vectors + coefficients)
    return rows, count


KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _vector_regressor(case: Case) -> list[Shape]:
    rows, _ = _vectors(case, case.integer("n_supports", 0), 1)
    if len(case.reals("rho")) != 1:
        raise unsound("one rho", f"{len(case.reals('rho'))}")
    return [(rows, 1)]


def _vector_classifier(case: Case) -> list[Shape]:
    labels, sizes = _labels(case, "classlabels_ints"), case.integers("vectors_per_class")
    if labels < 2 or len(sizes) != labels or min(sizes) < 0:
        raise unsound("numbers of support vectors for two classes or more", str(sizes)[:80])
    rows, count = _vectors(case, sum(sizes), labels - 1)
    pairs, probabilities = labels * (labels - 1) // 2, len(case.reals("prob_a"))
    if len(case.reals("rho")) != pairs or probabilities not in (0, pairs) or len(case.reals("prob_b")) != probabilities:
        raise unsound(f"{pairs} rho, and as many prob_a and prob_b or none", "others")
    case.work += rows * count * pairs
    return [(rows,), (rows, max(pairs, 2) if not probabilities else labels)]


def _nodes_of_trees(case: Case, kind: str, results: int, width: int) -> int:
    from .tree_nodes import check_trees  # only here, since most models have none

    return check_trees(case, kind, results, width)


def _tree_classifier(case: Case) -> list[Shape]:
    (rows, width), labels = _rows(case), _labels(case, "classlabels_int64s")
    case.work += rows * _nodes_of_trees(case, "class", labels, width)
    return [(rows,), (rows, labels)]


def _tree_regressor(case: Case) -> list[Shape]:
    (rows, width), targets = _rows(case), case.integer("n_targets", 1)
    case.work += rows * _nodes_of_trees(case, "target", targets, width)
    return [(rows, targets)]


MODELS: Mapping[str, Rule] = {
    "ai.onnx.ml.Binarizer": lambda case: [case.shape()],
    "ai.onnx.ml.Imputer": _one_each("imputed_value_floats"),
    "ai.onnx.ml.LinearClassifier": _linear_classifier,
    "ai.onnx.ml.LinearRegressor": _linear_regressor,
    "ai.onnx.ml.Normalizer": _same_rows,
    "ai.onnx.ml.OneHotEncoder": _encoded,
    "ai.onnx.ml.SVMClassifier": _vector_classifier,
    "ai.onnx.ml.SVMRegressor": _vector_regressor,
    "ai.onnx.ml.Scaler": _one_each("offset", "scale"),
    "ai.onnx.ml.TreeEnsembleClassifier": _tree_classifier,
    "ai.onnx.ml.TreeEnsembleRegressor": _tree_regressor,
}
"""The operators of ai.onnx.ml, without those that only move numbers."""
