"""Places outside of an array: each engine reads something else there, or nothing."""

import pytest

from polydom_runtime.bundles.engines import InputRow
from polydom_runtime.device import tiny_models as tiny
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.kernels.gate import check_model
from polydom_runtime.kernels.kernel import Kernel
from polydom_runtime.kernels.tensors import UnknownModel
from tests.runtime.kernels.test_gate import made, op

WIDTH, N_CLASSES = 3, 3


def looked_up(table: int, *places: bytes, at: str = "best", kind: str = "ArrayFeatureExtractor") -> bytes:
    """Return a model that looks up something in a table, by places that other nodes write."""
    domain = tiny.ML_DOMAIN if kind == "ArrayFeatureExtractor" else ""
    node = tiny._node(kind, ["table", at], ["found"], {}, domain=domain)
    return made(*places, node, table=[0, 1, 2, 1][:table], minus=[-1], four=[0, 4], shape=[-1])


BEST = op("ArgMax", "X", out="best", axis=1, keepdims=0)
MOVED = op("Reshape", "best", "shape", out="moved")
NUMBERS = op("Cast", "X", out="numbers", to=7)


@pytest.mark.parametrize("kind", ["ArrayFeatureExtractor", "Gather", "GatherElements"])
@pytest.mark.parametrize("at", ["best", "moved"])
def test_the_place_of_the_best_must_be_in_the_array(kind: str, at: str) -> None:
    check_model(looked_up(WIDTH, BEST, MOVED, at=at, kind=kind), WIDTH, N_CLASSES)
    with pytest.raises(BundleFormatError, match=r"places from .* to 1 for"):
        check_model(looked_up(WIDTH - 1, BEST, MOVED, at=at, kind=kind), WIDTH, N_CLASSES)


@pytest.mark.parametrize(
    ("kind", "at", "said"),
    [
        ("ArrayFeatureExtractor", "minus", "places from 0"),
        ("ArrayFeatureExtractor", "four", "places from 0"),
        ("Gather", "minus", None),
        ("Gather", "four", "places from -3"),
        ("GatherElements", "four", "places from -3"),
    ],
)
def test_constant_places_must_be_in_the_array(kind: str, at: str, said: str | None) -> None:
    data = looked_up(3, at=at, kind=kind)
    if said is None:
        check_model(data, WIDTH, N_CLASSES)
        return
    with pytest.raises(BundleFormatError, match=said):
        check_model(data, WIDTH, N_CLASSES)


def test_places_that_an_item_gives_are_left_to_onnxruntime() -> None:
    """It gives no answer to items with places outside; numpy would take the nearest place."""
    data = looked_up(3, NUMBERS, at="numbers")

    check_model(data, WIDTH, N_CLASSES)
    with pytest.raises(UnknownModel, match="outside of an array"):
        Kernel(data, InputRow(WIDTH), WIDTH, N_CLASSES)


@pytest.mark.parametrize("name", ["X", "table"])
def test_outputs_that_no_node_writes_are_refused(name: str) -> None:
    """Where onnxruntime is bound to an array for them, it leaves this array as it is."""
    data = made(table=[1, 2], outputs=("label", name))

    with pytest.raises(BundleFormatError, match="outputs that a node writes"):
        check_model(data, WIDTH, N_CLASSES)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (op("Log", "X"), "variable input 0"),
        (op("Sqrt", "X"), "variable input 0"),
        (op("Div", "X", "X"), "may be 0"),
    ],
)
def test_what_makes_no_numbers_of_ordinary_ones_is_left_to_onnxruntime(node: bytes, said: str) -> None:
    """Among scores that are no numbers, each engine chooses another label."""
    with pytest.raises(UnknownModel, match=said):
        Kernel(made_of(node), InputRow(WIDTH), WIDTH, N_CLASSES)


def made_of(node: bytes) -> bytes:
    return tiny.model([node, op("ArgMax", "a", out="label", axis=1, keepdims=0), op("Abs", "X", out="scores")], WIDTH)
