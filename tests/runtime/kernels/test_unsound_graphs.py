"""A graph that is not sound is refused, and takes no memory for what it only states."""

import struct
import tracemalloc
from collections.abc import Sequence

import pytest

from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.tensors import UnknownModel
from tests.runtime.kernels.loading import WIDTH, kernel


def tensor(shape: Sequence[int], *more: bytes, kind: int = 1) -> bytes:
    return b"".join(tiny._number(1, n) for n in shape) + tiny._number(2, kind) + tiny._field(8, b"w") + b"".join(more)


SIX = tiny._field(9, struct.pack("<6f", *range(6)))
MINUS_ONE = b"\xff" * 9 + b"\x01"


def with_constant(constant: bytes, *, extra: bytes = b"", tag: int = 5) -> bytes:
    """Return a model of a product with one constant, written into its graph as it is."""
    nodes = [
        tiny._node("MatMul", ["X", "w"], ["scores"], {}, domain=""),
        tiny._node("ArgMax", ["scores"], ["label"], {"axis": 1, "keepdims": 0}, domain=""),
    ]
    graph = b"".join(tiny._field(1, n) for n in nodes) + tiny._field(tag, constant) + extra
    graph += tiny._field(11, tiny._value("X", 1, (None, WIDTH)))
    graph += tiny._field(12, tiny._value("label", 7, (None,))) + tiny._field(12, tiny._value("scores", 1, (None, 2)))
    return tiny._number(1, 8) + tiny._field(7, graph) + tiny._field(8, tiny._number(2, 17))


def test_a_product_with_a_constant_is_sound() -> None:
    assert kernel(with_constant(tensor((3, 2), SIX)))() == 0


@pytest.mark.parametrize(
    "constant",
    [
        tensor((2, 3), SIX),
        tensor((6,), SIX),
        tensor((3, 2, 1), SIX),
        tensor((3, 3), SIX),
        tensor((1 << 29, 1), SIX),
        tensor((1 << 62, 1 << 62), SIX),
        tensor((0, 1 << 40), b""),
        b"\x08" + MINUS_ONE + b"\x08" + MINUS_ONE + tensor((6,), SIX),
        tensor((2,) * 3000, SIX),
        tensor((3, 2), tiny._field(9, b"\x00" * 23)),
        tensor((3, 2), tiny._field(4, struct.pack("<5f", *range(5)))),
        tensor((3, 2), tiny._field(9, struct.pack("<6f", 1, 2, 3, 4, 5, float("nan")))),
        tensor((3, 2), tiny._field(9, struct.pack("<6d", *range(6))), kind=11),
        tensor((3, 2), SIX, kind=8),
        tensor((3, 2), SIX, kind=99),
        tensor((3, 2), tiny._number(9, 7)),
        tensor((3, 2), tiny._field(6, b"text")),
        tensor((3, 2), tiny._number(14, 1), tiny._field(13, tiny._field(1, b"location") + tiny._field(2, b"/etc/x"))),
    ],
    ids=[
        *("other width", "one axis", "three axes", "few numbers", "2 GB", "more than there is", "nothing", "negative"),
        *("3000 axes", "part of a number", "five numbers", "NaN", "double", "texts", "unknown type"),
        *("number for bytes", "strings", "external"),
    ],
)
def test_constants_that_do_not_fit_are_refused(constant: bytes) -> None:
    with pytest.raises(BundleFormatError):
        kernel(with_constant(constant))


@pytest.mark.parametrize(
    "data",
    [
        with_constant(tensor((3, 2), SIX), extra=tiny._field(15, b"")),
        with_constant(tensor((3, 2), SIX), extra=tiny._field(11, tiny._value("Z", 1, (None, 1)))),
        with_constant(tensor((3, 2), SIX), extra=tiny._field(12, tiny._value("other", 1, (None, 1)))),
        with_constant(tensor((3, 2), SIX), tag=15),
        with_constant(tensor((3, 2), SIX), tag=16),
        with_constant(tensor((3, 2), SIX), extra=tiny._field(1, tiny._node("Add", ["y", "w"], ["z"], {}, domain=""))),
        with_constant(tensor((3, 2), SIX), extra=tiny._field(1, tiny._node("Neg", ["X"], ["label"], {}, domain=""))),
    ],
    ids=["sparse", "inputs", "output", "sparse only", "no constant", "unknown input", "written twice"],
)
def test_graphs_that_are_not_whole_are_refused(data: bytes) -> None:
    with pytest.raises(BundleFormatError):
        kernel(data)


def test_graph_inside_a_node_is_refused() -> None:
    then = tiny._field(1, b"then") + tiny._field(6, b"") + tiny._number(20, 5)
    data = with_constant(tensor((3, 2), SIX), extra=tiny._field(1, tiny._field(4, b"If") + tiny._field(5, then)))

    with pytest.raises(BundleFormatError, match="a graph in If"):
        kernel(data)


def chain(kinds: Sequence[tuple[str, Sequence[str], str]], **constants: Sequence[int]) -> bytes:
    """Return a model of nodes of the usual domain with integer constants of these shapes, all ones."""
    graph = b"".join(tiny._field(1, tiny._node(kind, a, [b], {}, domain="")) for kind, a, b in kinds)
    for name, values in constants.items():
        numbers = struct.pack(f"<{len(values)}q", *values)
        graph += tiny._field(
            5,
            tiny._number(1, len(values)) + tiny._number(2, 7) + tiny._field(8, name.encode()) + tiny._field(9, numbers),
        )
    graph += tiny._field(11, tiny._value("X", 1, (None, WIDTH))) + tiny._field(12, tiny._value("label", 7, (None,)))
    return tiny._number(1, 8) + tiny._field(7, graph) + tiny._field(8, tiny._number(2, 17))


HUGE = {
    "stated 2 GB": chain([("ConstantOfShape", ["n"], "big"), ("ArgMax", ["big"], "label")], n=[1 << 29]),
    "stated more than there is": chain(
        [("ConstantOfShape", ["n"], "big"), ("ArgMax", ["big"], "label")], n=[1 << 62, 1 << 62]
    ),
    "many axes": chain([("ConstantOfShape", ["n"], "big"), ("ArgMax", ["big"], "label")], n=[1] * 100),
    "spread": chain(
        [
            ("ConstantOfShape", ["n"], "a"),
            ("ConstantOfShape", ["m"], "b"),
            ("Add", ["a", "b"], "big"),
            ("ArgMax", ["big"], "label"),
        ],
        n=[1, 1 << 20],
        m=[1 << 20, 1],
    ),
    "product": chain(
        [
            ("ConstantOfShape", ["n"], "a"),
            ("ConstantOfShape", ["m"], "b"),
            ("MatMul", ["a", "b"], "big"),
            ("ArgMax", ["big"], "label"),
        ],
        n=[2000, 1000],
        m=[1000, 2000],
    ),
    "many of the largest": chain(
        [*[("ConstantOfShape", ["n"], f"a{k}") for k in range(100)], ("Sum", [f"a{k}" for k in range(100)], "label")],
        n=[1 << 22],
    ),
    "joined": chain(
        [("ConstantOfShape", ["n"], "a"), ("Concat", ["a"] * 4000, "big"), ("ArgMax", ["big"], "label")], n=[1 << 21]
    ),
}


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE)
def test_memory_is_not_taken_for_what_is_only_stated(data: bytes) -> None:
    """Of each file less than 100 MB, as numpy tells it to tracemalloc."""
    tracemalloc.start()
    try:
        with pytest.raises((BundleFormatError, UnknownModel)):
            kernel(data)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_a_model_without_probabilities_is_not_asked_for_them() -> None:
    data = chain([("Transpose", ["X"], "column"), ("ArgMax", ["column"], "label")])

    with pytest.raises(BundleFormatError, match="scores"):
        kernel(data, sure=True)
