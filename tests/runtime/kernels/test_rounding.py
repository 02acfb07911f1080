"""Answers may differ where rounding decides, and nowhere else."""

from typing import Any

import numpy as np
import pytest

from polydom_runtime.kernels.rounding import moved, unexplained

TRIED = np.array([[0, 1, 0, 1], [1, 1, 1, 1], [0, 2, 2, 0]])


def wrong(found: Any, expected: Any, tried: Any = TRIED, precision: float = 0.0) -> list[bool]:
    wrong = unexplained(np.array(found), np.array(expected), lambda some: np.asarray(tried)[some], precision)
    return list(map(bool, wrong))


@pytest.mark.parametrize(
    ("expected", "is_wrong"),
    [([0, 1, 0], [False, False, False]), ([1, 0, 2], [False, True, False]), ([2, 2, 1], [True, True, True])],
)
def test_label_is_right_if_the_model_gives_it_with_numbers_that_differ_by_rounding(
    expected: list[int], is_wrong: list[bool]
) -> None:
    assert wrong([0, 1, 0], expected) == is_wrong


def test_number_may_lie_between_those_that_rounding_gives_or_near_them() -> None:
    tried = [[1.0, 2.0], [1.0, 2.0], [5.0, 5.0], [5.0, 5.0]]

    assert wrong([1.0, 1.0, 5.0, 5.0], [2.5, 4.0, 5.0, 5.01], tried, 1e-4) == [False, True, False, True]


def test_what_is_no_number_is_wrong() -> None:
    assert wrong([np.nan, 2.0], [1.0, 2.0], [[1.0, 1.5], [2.0, 2.0]], 1e-4) == [False, False]
    assert wrong([np.nan, 2.0], [1.0, 2.0], [[np.nan, np.nan], [2.0, 2.0]], 1e-4) == [True, False]


def test_numbers_move_by_a_share_of_themselves_and_zeros_by_one_of_their_column() -> None:
    numbers = np.array([[1e6, 0.0], [0.0, 1.0], [1e-6, 4.0]], dtype=np.float32)

    by = np.abs(moved(numbers, np.random.default_rng(0)) - numbers)

    assert (by > 0.0).all()
    assert (by <= 2.0**-17 * np.array([[1e6, 4.0], [1e6, 1.0], [1e-6, 4.0]])).all()
    assert by[2, 0] < 1e-10
