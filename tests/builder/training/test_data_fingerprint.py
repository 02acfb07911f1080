"""The fingerprint of training data: equal for equal data, and different for any other."""

from typing import Any

import numpy as np
import pytest

from polydom_builder.training.fingerprints import data_fingerprint

ITEMS = [np.array([1.0, 2.0]), np.array([3.0])]


def test_equal_data_have_one_fingerprint_in_whatever_container_they_come() -> None:
    rows = np.arange(6.0).reshape(2, 3)

    expected = data_fingerprint(list(rows), [0, 1])

    assert expected == data_fingerprint(rows, np.array([0, 1]))
    assert expected == data_fingerprint(np.asfortranarray(rows), (0, 1))


def test_an_item_counts_by_its_content_not_by_being_the_same_object() -> None:
    assert data_fingerprint([ITEMS[1]] * 2, [0, 1]) == data_fingerprint([ITEMS[1], ITEMS[1].copy()], [0, 1])


@pytest.mark.parametrize("item", [np.array("a", dtype=object), np.array([["a", None]], dtype=object), np.longdouble(1)])
def test_any_array_has_a_fingerprint(item: Any) -> None:
    assert len(data_fingerprint([item], [0])) == 64


def test_the_fingerprint_stays_the_same_between_versions() -> None:
    expected = "9ab9c8dce2495eefd1fc50c550ec9706cc9af34669426d41e922583b78a62085"

    assert expected == data_fingerprint([*ITEMS, "text", [1, {"a": None}], np.zeros((0, 2))], [True, 1, "1", 0.5, b"x"])


@pytest.mark.parametrize(
    ("items", "labels"),
    [
        (ITEMS[::-1], [0, 1]),
        (ITEMS, [1, 0]),
        (ITEMS, ["0", "1"]),
        (ITEMS, [False, True]),
        ([ITEMS[0].astype(np.float32), ITEMS[1]], [0, 1]),
        ([ITEMS[0].reshape(1, 2), ITEMS[1]], [0, 1]),
        ([ITEMS[0] + 1e-12, ITEMS[1]], [0, 1]),
        ([[1.0, 2.0], [3.0]], [0, 1]),
        ([{"a": 1}, {}], [0, 1]),
        ([object, object], [0, 1]),
    ],
    ids=["order", "labels", "text", "bool", "type", "shape", "value", "lists", "maps", "objects"],
)
def test_other_data_have_another_fingerprint(items: Any, labels: Any) -> None:
    assert data_fingerprint(ITEMS, [0, 1]) != data_fingerprint(items, labels)
