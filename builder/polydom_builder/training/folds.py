"""The folds that scores are made on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from polydom_builder.exceptions import TrainingError

from .table import Table

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def make_splits(cv: Any, table: Table, groups: Sequence[Any] | None, random_state: int | None) -> Splits:
    """Return the folds: an int means folds stratified by class and kept by group, else as scikit-learn's `cv`.

    Raises
    ------
    TrainingError
        If the items cannot be split so.
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
