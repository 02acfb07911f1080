"""The folds of the cross-validation that scores come from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from polydom_builder.exceptions import TrainingError

from .table import Table

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def make_splits(cv: Any, table: Table, groups: Sequence[Any] | None, random_state: int | None) -> Splits:
    """Return the folds of the items, each a pair of train and test positions.

    Parameters
    ----------
    cv : int, splitter or iterable
        An int gives that number of folds, stratified by class, and with each group in one fold if there are groups.
        Anything else is used as scikit-learn uses `cv`.
    table : Table
    groups : sequence of shape (n_items,), optional
        Group of each item.
    random_state : int, optional
        Seed for shuffling the items of folds by number; without it they are not shuffled.

    Returns
    -------
    list of (train, test)
        Integer arrays of positions.

    Raises
    ------
    TrainingError
        If `groups` is not one group for each item, or the items cannot be split in this way.
    """
    try:
        groups = None if groups is None else list(groups)
    except TypeError as e:
        raise TrainingError(f"groups must be a sequence, one group for each item. Got {groups!r}.") from e
    if groups is not None and len(groups) != len(table.targets):
        raise TrainingError(f"There must be one group for each item. Got {len(groups)} for {len(table.targets)} items.")
    if isinstance(cv, int | np.integer):
        cv = _splitter(int(cv), table, groups is not None, random_state)
    try:
        splitter = check_cv(cv, table.targets, classifier=len(table.classes) > 0)
        return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(table.rows, table.targets, groups)]
    except ValueError as e:
        raise TrainingError(f"The items must be splittable by cv={cv!r}. {e}") from e


def _splitter(cv: int, table: Table, grouped: bool, random_state: int | None) -> Any:
    classifies = len(table.classes) > 0
    smallest = int(np.bincount(table.targets).min()) if classifies else len(table.targets)
    if not 2 <= cv <= smallest:
        among = f"items in the smallest class ({smallest})" if classifies else f"items ({smallest})"
        raise TrainingError(f"cv must be from 2 to the number of {among}. Got {cv}.")
    kinds = ((KFold, GroupKFold), (StratifiedKFold, StratifiedGroupKFold))
    return kinds[classifies][grouped](cv, shuffle=random_state is not None, random_state=random_state)
