"""How large the results of operators are that compute or compare numbers."""

import math
from collections.abc import Iterable, Mapping

from .extents import Case, Rule, Shape, together
from .proto import DTYPES
from .tensors import axis_of
from .wire import unsound


def _same(case: Case) -> list[Shape]:
    return [case.shape()]


def _all_broadcast(case: Case) -> list[Shape]:
    return [together(case.shape(k) for k in range(len(case.inputs)))]  # onnxruntime crashes where one has no name


def _cast(case: Case) -> list[Shape]:
    if case.integer("to", 0) not in DTYPES:
        raise unsound("Cast to a known type", str(case.integer("to", 0)))
    return _same(case)


def _reduced(shape: Shape, axes: Iterable[int], keep: int) -> list[Shape]:
    gone = {axis_of(axis, len(shape)) for axis in axes}
    return [tuple(1 if k in gone else n for k, n in enumerate(shape) if keep or k not in gone)]


def _reduce(case: Case) -> list[Shape]:
    axes = case.values_or_attribute(1, "axes")
    if not axes and case.integer("noop_with_empty_axes", 0):
        return _same(case)
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
    **dict.fromkeys(ELEMENTWISE, lambda case: [together(e.shape for e in case.inputs if e is not None)]),
    **dict.fromkeys(["Max", "Mean", "Min", "Sum"], _all_broadcast),
    **dict.fromkeys(REDUCING, _reduce),
    **dict.fromkeys(["CastLike", "CumSum", "LpNormalization"], _same),
    "ArgMax": _arg,
    "ArgMin": _arg,
    "Cast": _cast,
    "Gemm": _gemm,
    "MatMul": _product,
    "TopK": _top,
    "com.microsoft.CDist": _distances,
}
