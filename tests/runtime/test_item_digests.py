"""Digests of items: training items are known again among test items."""

from typing import Any

import numpy as np
import pytest

from polydom_runtime.items.digests import MAX_KEPT, N_BYTES, SeenItems, item_digest, kept_digests

RNG = np.random.default_rng(0)


def counted(training: list[Any], asked: list[Any]) -> SeenItems:
    seen = SeenItems(kept_digests(map(item_digest, training)))
    for item in asked:
        seen.add(item)
    return seen


def items(count: int) -> list[Any]:
    return [RNG.normal(size=8) for _ in range(count)]


@pytest.mark.parametrize(("n_known", "n_new"), [(30, 0), (3, 27), (0, 30)])
def test_few_items_are_counted_exactly(n_known: int, n_new: int) -> None:
    training = items(100)
    seen = counted(training, [*training[:n_known], *items(n_new)])

    assert (30, n_known) == (seen.n_asked, seen.n_seen)
    assert bool(n_known) == ("items that the bundle was built with" in seen.text)


def test_of_many_items_a_part_is_kept_and_the_share_is_about_right() -> None:
    training = items(8 * MAX_KEPT)
    digests = kept_digests(map(item_digest, training))
    assert len(digests) == MAX_KEPT * N_BYTES

    seen = counted(training, [*training[::4], *items(2 * MAX_KEPT)])

    assert 0.4 < seen.share < 0.6


@pytest.mark.parametrize(
    "same",
    [
        [np.arange(5, dtype=np.uint8), [0, 1, 2, 3, 4], np.arange(5.0), (0.0, 1.0, 2.0, 3.0, 4.0)],
        [np.array([0.1, 0.2, 0.3, 0.4], dtype=kind) for kind in (np.float64, np.float32)],
        [np.arange(9).reshape(3, 3).T.copy(), np.arange(9).reshape(3, 3).T],
        ["a text of more than thirty-two bytes", "a text of more than thirty-two bytes"],
    ],
)
def test_the_same_numbers_have_the_same_digest(same: list[Any]) -> None:
    assert len({*map(item_digest, same)} - {None}) == 1
    assert None not in map(item_digest, same)


def test_other_numbers_and_other_shapes_have_other_digests() -> None:
    several = [np.arange(6), np.arange(6).reshape(2, 3), np.arange(6)[::-1], np.arange(7), "x" * 40, "y" * 40]

    assert len(several) == len({*map(item_digest, several)} - {None})


@pytest.mark.parametrize("item", [None, object(), {"a": 1}, "on", 3.5, [1, 2, 3], [[1, 2], [3]], np.zeros(9), []])
def test_items_that_tell_nothing_have_no_digest(item: Any) -> None:
    assert item_digest(item) is None
    assert counted([item], [item]).n_asked == 0


def test_without_digests_nothing_is_known() -> None:
    assert counted([], items(5)).text == ""
