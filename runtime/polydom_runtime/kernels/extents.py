"""How large the results of operators are, for one row, without running them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .attributes import OfNode
from .graph import Node
from .tensor_proto import DTYPES, MAX_DIMENSIONS, Array
from .tensors import axis_of
from .wire import unsound

Shape = tuple[int, ...]

NUMBER, TEXT = 8, 64
"""The bytes that a number or a text takes at most, besides the characters of a text."""

MAX_VALUES = 64
"""Of the numbers in an array, which may be a shape, as many are looked at."""


class Extent(NamedTuple):
    """What is known of an array before anything runs."""

    shape: Shape
    item: int = NUMBER
    """The bytes of one number or text, at most."""
    values: list[int] | None = None
    """Its numbers, if they are few integers that do not depend on the item."""
    real: bool = True
    """Whether it holds numbers with a fraction, for sure."""

    @classmethod
    def of(cls, array: Array) -> "Extent":
        """Return what is known of a constant."""
        if array.dtype.kind == "O":
            return cls(array.shape, TEXT + 4 * max(map(len, array.reshape(-1).tolist()), default=0), real=False)
        is_list = array.dtype.kind == "i" and array.size <= MAX_VALUES
        return cls(array.shape, NUMBER, array.reshape(-1).tolist() if is_list else None, array.dtype.kind == "f")


class Case(OfNode):
    """An operator with what it reads.

    `inputs`: None for those that are left out. `work`: 0 at first; rules add the multiplications of products.
    """

    __slots__ = ("inputs", "node", "work")

    def __init__(self, node: Node, inputs: Sequence[Extent | None]) -> None:
        self.node: Node = node
        self.inputs: Sequence[Extent | None] = inputs
        self.work = 0

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
        """Return the numbers of an input that says a shape.

        Raises `BundleFormatError` if they are not known.
        """
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


def same(case: Case) -> list[Shape]:
    """Return the shape of the first input."""
    return [case.shape()]


def _broadcast(case: Case) -> list[Shape]:
    return [together(e.shape for e in case.inputs if e is not None)]


def _all_broadcast(case: Case) -> list[Shape]:
    return [together(case.shape(k) for k in range(len(case.inputs)))]  # onnxruntime crashes where one has no name


def together(shapes: Iterable[Shape]) -> Shape:
    """Return the shape to which arrays are spread before they are added, for example.

    Raises `BundleFormatError` if they do not fit each other.
    """
    different = list(dict.fromkeys(shapes))
    if len(different) == 1:
        return different[0]
    try:
        return np.broadcast_shapes(*different)
    except ValueError as e:
        raise unsound("inputs of like shapes", str(different)[:80]) from e


def _cast(case: Case) -> list[Shape]:
    if case.integer("to", 0) not in DTYPES:
        raise unsound("Cast to a known type", str(case.integer("to", 0)))
    return same(case)


def _reduced(shape: Shape, axes: Iterable[int], keep: int) -> list[Shape]:
    gone = {axis_of(axis, len(shape)) for axis in axes}
    return [tuple(1 if k in gone else n for k, n in enumerate(shape) if keep or k not in gone)]


def _reduce(case: Case) -> list[Shape]:
    axes = case.values_or_attribute(1, "axes")
    if not axes and case.integer("noop_with_empty_axes", 0):
        return same(case)
    return _reduced(case.shape(), axes or range(len(case.shape())), case.integer("keepdims", 1))


def _arg(case: Case) -> list[Shape]:
    return _reduced(case.shape(), [case.integer("axis", 0)], case.integer("keepdims", 1))


def _product(case: Case) -> list[Shape]:
    a, b = case.shape(0), case.shape(1)
    if not a or not b or a[-1] != b[-2:][0]:
        raise unsound("matrices that can be multiplied", f"{a} and {b}")
    shape = (*together([a[:-2], b[:-2]]), *a[-2:-1], *b[-2:][1:])  # a vector gives no axis
    case.work += math.prod(shape) * a[-1]
    return [shape]


def _gemm(case: Case) -> list[Shape]:
    turned = [case.shape(k)[::-1] if case.integer(f"trans{'AB'[k]}", 0) else case.shape(k) for k in (0, 1)]
    if [len(shape) for shape in turned] != [2, 2] or turned[0][1] != turned[1][0]:
        raise unsound("matrices that can be multiplied", str(turned))
    shape = turned[0][0], turned[1][1]
    if case.given(2) and together([shape, case.shape(2)]) != shape:
        raise unsound(f"something to add of shape {shape}", str(case.shape(2)))
    case.work += math.prod(shape) * turned[0][1]
    return [shape]


def _distances(case: Case) -> list[Shape]:
    a, b = case.shape(0), case.shape(1)
    if len(a) != 2 or len(b) != 2 or a[1] != b[1]:
        raise unsound("rows of the same length", f"shapes {a} and {b}")
    case.work += a[0] * b[0] * a[1]
    return [(a[0], b[0])]


def _top(case: Case) -> list[Shape]:
    wanted = case.values(1) if case.given(1) else [case.integer("k", 0)]
    axis, shape = case.axis(-1), case.shape()
    if len(wanted) != 1 or not 0 < wanted[0] <= shape[axis]:
        raise unsound(f"at most {shape[axis]} of the values", str(wanted[:1]))
    return [(*shape[:axis], wanted[0], *shape[axis + 1 :])] * 2


ELEMENTWISE = [
    *("Abs", "Add", "And", "Ceil", "Clip", "Div", "Equal", "Erf", "Exp", "Floor", "Greater", "GreaterOrEqual"),
    *("HardSigmoid", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min"),
    *("Mul", "Neg", "Not", "Or", "Pow", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Softmax"),
    *("LogSoftmax", "Softplus", "Sqrt", "Sub", "Sum", "Tanh", "Where", "Xor"),
]
REDUCING = [
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare"),
]

COMPUTING: Mapping[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, _broadcast),
    **dict.fromkeys(["Max", "Mean", "Min", "Sum"], _all_broadcast),
    **dict.fromkeys(REDUCING, _reduce),
    **dict.fromkeys(["CastLike", "CumSum", "LpNormalization"], same),
    "ArgMax": _arg,
    "ArgMin": _arg,
    "Cast": _cast,
    "Gemm": _gemm,
    "MatMul": _product,
    "TopK": _top,
    "com.microsoft.CDist": _distances,
}
"""The operators that compute or compare numbers."""


def limited(shape: Iterable[int], kind: str) -> Shape:
    """Return the shape of a result.

    Raises `BundleFormatError` if it has an axis of negative length, or too many of them.
    """
    found = tuple(shape)
    if len(found) > MAX_DIMENSIONS or min(found, default=0) < 0:
        raise unsound(f"at most {MAX_DIMENSIONS} axes in {kind}", str(found[: MAX_DIMENSIONS + 1]))
    return found
