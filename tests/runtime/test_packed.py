"""Packed files: what they keep is what was given, and what they cannot keep is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.packed import read_packed
from polydom_runtime.items.packing import write_packed
from polydom_runtime.items.sources import kept, readable, samples

TWO = [np.ones(2), np.zeros(2)]


def filled_again(count: int = 150) -> Iterator[np.ndarray]:
    """Yield one array again and again, as a driver does that has one buffer."""
    buffer = np.zeros(8)
    for k in range(count):
        buffer[:] = k
        yield buffer


def labelled() -> Iterator[tuple[np.ndarray, int]]:
    return ((item, int(item[0]) % 2) for item in filled_again(20))


def lists() -> Iterator[list[float]]:
    item = [0.0]
    for k in range(20):
        item[0] = k
        yield item


def test_a_generator_may_fill_one_array_again(tmp_path: Path) -> None:
    write_packed(tmp_path / "x.npz", filled_again())

    assert list(range(150)) == [item[0] for item in read_packed(tmp_path / "x.npz").items]


@pytest.mark.parametrize(
    "read",
    [
        lambda: [sample.item[0] for sample in samples("tests.runtime.test_packed:labelled")],
        lambda: [item[0] for item in readable("tests.runtime.test_packed:labelled")],
        lambda: [item[0] for item in readable("tests.runtime.test_packed:lists")],
    ],
    ids=["to build from", "to measure on", "lists"],
)
def test_items_of_a_function_that_fills_one_array_again_are_kept(read: Callable[[], list[float]]) -> None:
    assert list(range(20)) == read()


def test_an_item_that_cannot_change_is_kept_as_it_is() -> None:
    item = b"ab1"

    assert item is kept(item)
    assert kept((item, 1)) == (item, 1)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([np.ones(2, np.int16), np.ones(2, np.float32)], "Item 0 is int16 of 1 dimension, item 1 is float32"),
        ([np.ones(2, np.float32), np.ones(2)], "Item 0 is float32 of 1 dimension, item 1 is float64"),
        ([np.array([2**53 + 1]), np.ones(1)], "Item 0 is int64 of 1 dimension, item 1 is float64"),
        ([np.ones(2), np.ones((2, 2))], "item 1 is float64 of 2 dimensions"),
        ([np.ma.masked_array([1.0, 2.0], [False, True])], "Got MaskedArray as item 0"),
        ([np.ones(2), np.ma.masked_array([1.0, 2.0], [False, True])], "Got MaskedArray as item 1"),
        ([np.array([1, None])], "Got an array of objects as item 0"),
        ([np.ones(2), [1.0, 2.0]], "Got list as item 1"),
        ([memoryview(b"ab")], "Got memoryview as item 0"),
        ([], "at least one item"),
    ],
    ids=["int16 float32", "float64", "int64", "dimensions", "mask", "later mask", "objects", "list", "memory", "none"],
)
def test_items_that_one_array_cannot_keep_are_refused(items: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ItemError, match=message):
        write_packed(tmp_path / "x.npz", items)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["labels", "groups", "weights"])
@pytest.mark.parametrize(
    ("values", "which"),
    [
        ([2**53 + 1, 0.5], str(2**53 + 1)),
        ([2**64, 1], str(2**64)),
        ([2**63 + 1, -1], str(2**63 + 1)),
        (["a", "a\0"], r"'a\\x00'"),
        ([np.nan, 1.0], "nan"),
    ],
    ids=["one more than 2**53", "2**64", "above 2**63", "a zero at the end", "NaN"],
)
def test_values_that_become_others_in_an_array_are_refused(
    name: str, values: list[Any], which: str, tmp_path: Path
) -> None:
    with pytest.raises(ItemError, match=f"Each {name[:-1]} must stay the same in one array of all. {which} does not"):
        write_packed(tmp_path / "x.npz", TWO, **{name: values})


@pytest.mark.parametrize(
    "values", [[2**63, 2**64 - 1], [-(2**63), 2**63 - 1], [0.1, 1], ["", "ä"], [True, False]], ids=str
)
def test_values_that_stay_the_same_come_back(values: list[Any], tmp_path: Path) -> None:
    write_packed(tmp_path / "x.npz", TWO, values, values, values)

    assert [values] * 3 == list(read_packed(tmp_path / "x.npz")[1:])


def test_rows_keep_their_shape(tmp_path: Path) -> None:
    write_packed(tmp_path / "x.npz", [np.ones((1, 3)), np.ones((1, 5))])

    assert [item.shape for item in read_packed(tmp_path / "x.npz").items] == [(1, 3), (1, 5)]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("groups", "group"), ("labels", "label"), ("Label", "label"), ("sample_weight", "weight"), ("shapes", "shape")],
)
def test_an_array_of_nearly_a_known_name_is_refused(name: str, meant: str, tmp_path: Path) -> None:
    """Ignored, groups would be divided by folds, and items would have no labels."""
    arrays: dict[str, Any] = {"signal": np.ones(4), "offset": [0, 2, 4], name: [7, 8]}
    np.savez(tmp_path / "x.npz", **arrays)

    with pytest.raises(ItemError, match=f"Got {name}. Rename it to {meant}"):
        read_packed(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["rate", "speaker", "scale", "split", "name", "label_names", "labels", "y"])
def test_other_arrays_beside_the_items_are_left_alone(name: str, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"signal": np.ones(4), "offset": [0, 2, 4], "label": [0, 1], name: [7, 8, 9]}
    np.savez(tmp_path / "x.npz", **arrays)

    assert len(read_packed(tmp_path / "x.npz").items) == 2


def test_labels_of_two_dimensions_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", signal=np.ones(4), offset=[0, 2, 4], label=[[0, 1], [1, 0]])

    with pytest.raises(ItemError, match=r"array label of .* must have 2 entries, .* Got an array of shape \(2, 2\)"):
        read_packed(tmp_path / "x.npz")
