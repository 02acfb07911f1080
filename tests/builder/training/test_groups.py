"""Groups of items: what folds keep together is what the user called one group."""

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.folds import make_splits
from polydom_builder.training.labels import targets_of

TARGETS = targets_of([0, 1] * 6, 12)


@pytest.mark.parametrize(
    "groups",
    [
        [1, "1", 2, "2"] * 3,
        [(k // 3, "a") for k in range(12)],
        [f"{k // 3}" for k in range(12)],
        np.arange(12) // 2,
        [0.5, 1, 1.5, 2] * 3,
        memoryview(bytes(k // 2 for k in range(12))),
    ],
    ids=["numbers and texts", "tuples", "texts", "array", "floats", "memoryview"],
)
def test_no_fold_divides_a_group_or_joins_two(groups: Any) -> None:
    names = list(groups)
    splits = make_splits(2, TARGETS, groups, None)

    for train, test in splits:
        assert {names[k] for k in train}.isdisjoint(names[k] for k in test)
    parts = [{names[k] for k in test} for _, test in splits]
    assert set(names) == parts[0] | parts[1]
    assert min(map(len, parts)) == len(set(names)) // 2


def test_a_number_and_its_text_are_two_groups() -> None:
    """scikit-learn would join them: an array of both has texts only."""
    splits = make_splits(4, TARGETS, [1, "1", 2, "2"] * 3, None)

    assert sorted([*{*(test % 4).tolist()}] for _, test in splits) == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("group", "shown"),
    [(np.nan, "nan"), (float("nan"), "nan"), (None, "None"), ([1], r"\[1\]"), (np.ma.masked, "masked")],
    ids=["numpy's NaN", "another NaN", "None", "list", "masked"],
)
def test_what_is_no_group_is_refused_by_item(group: Any, shown: str) -> None:
    """Of NaN, scikit-learn makes one group, and a dictionary one for each."""
    with pytest.raises(TrainingError, match=f"a text or a tuple, no NaN. Got {shown} for item 2"):
        make_splits(3, TARGETS, [0, 1, group, *range(9)], None)


def test_groups_that_a_splitter_of_the_user_cannot_sort_are_an_error() -> None:
    with pytest.raises(TrainingError, match="must be splittable by cv=GroupKFold"):
        make_splits(GroupKFold(2), TARGETS, [*[(1, "a"), "b"] * 6], None)
