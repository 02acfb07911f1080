"""Which results are numbers with a fraction: some quotients of integers end the whole process."""

from .extents import Case, Extent
from .moved_extents import constant_of
from .tensor_proto import DTYPES
from .wire import unsound

INTEGERS = ("ArgMax", "ArgMin", "Shape", "Size")

CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")

SOURCES = {"Where": 1, "CastLike": 1}
"""The input that an output has the type of; the first one in other operators."""


def are_real(case: Case) -> tuple[bool, bool]:
    """Return whether the first output of an operator holds numbers with a fraction, for sure, and the other ones."""
    kind = case.kind.removeprefix("ai.onnx.ml.")
    if kind in CLASSIFIERS:
        return False, True
    if kind in ("Constant", "ConstantOfShape"):
        return constant_of(case).dtype.kind == "f", False
    if kind == "Cast":
        return DTYPES[case.integer("to", 0)].kind == "f", False
    if kind in INTEGERS:
        return False, False
    source = case.extent(SOURCES.get(kind, 0)).real
    return source, source and kind != "TopK"


def check_divisor(divisor: Extent) -> None:
    """Check that a quotient is of numbers with a fraction, or by constants that suit all integers.

    The processor stops a process that divides by 0, or the lowest integer by -1.

    Raises `BundleFormatError` if it is not.
    """
    if not divisor.real and (divisor.values is None or not {0, -1}.isdisjoint(divisor.values)):
        raise unsound("integers to be divided by constants other than 0 and -1", f"{divisor.values or 'others'}"[:80])
