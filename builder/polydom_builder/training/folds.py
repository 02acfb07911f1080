"""The folds of the cross-validation, and blocks of held-out items, which tell how far chance may move a score."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from polydom_builder.exceptions import TrainingError
from polydom_runtime.arrays import Floats
from polydom_runtime.causes import shown

from .labels import Targets, plain
from .weights import NAME, Weights

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]

MOST_BLOCKS = 40
"""The most blocks of all folds. More would take time for scorers, and hardly make a standard error more certain."""

Blocks = list[NDArray[np.intp]]
"""The block of each held-out item, in an array for each fold; the blocks of a fold are numbered from 0."""


def make_splits(
    cv: Any, targets: Targets, groups: Sequence[Any] | None, random_state: int | None, weights: Weights = None
) -> Splits:
    """Return the folds of the items, each a pair of arrays of train and test positions.

    A number gives folds stratified by class, with each group in one fold, and shuffled if there is a `random_state`.
    Anything else is used as scikit-learn uses `cv`; a splitter sees the positions of the items as their features.
    Items of weight 0 do not count where a fold needs items, or a class.
    """
    groups = checked_groups(groups, len(targets.numbers))
    if isinstance(cv, int | np.integer):
        cv = _splitter(int(cv), targets, groups is not None, random_state)
        groups = None if groups is None else _ranked(groups)
    try:
        splitter = check_cv(cv, targets.numbers, classifier=len(targets.classes) > 0)
        positions = np.arange(len(targets.numbers)).reshape(-1, 1)
        splits = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(positions, targets.numbers, groups)]
    except (ValueError, TypeError) as e:  # also of groups that the user's splitter cannot sort
        raise TrainingError(f"The items must be splittable by cv={cv!r}. {e}") from e
    counting = np.ones(len(positions), dtype=bool) if weights is None else weights > 0.0
    for k, parts in enumerate(splits):
        for what, part in zip(("trained", "scored"), parts, strict=True):
            if weights is not None and not counting[part].any():
                raise TrainingError(
                    f"Each fold must be trained and scored on items of which some have a {NAME} above 0. Those that "
                    f"fold {k} is {what} on all have 0. Choose other folds, or other weights."
                )
    _check_classes(splits, targets, groups is not None, counting)
    return splits


def checked_groups(groups: Iterable[Any] | None, n_items: int) -> list[Any] | None:
    """Return the group of each item as a value of Python; None if there are no groups."""
    try:
        found = None if groups is None else [plain(group) for group in groups]
    except TypeError as e:
        raise TrainingError(f"groups must be a sequence, one group for each item. Got {groups!r}.") from e
    if found is not None and len(found) != n_items:
        raise TrainingError(f"There must be one group for each item. Got {len(found)} for {n_items} items.")
    for k, group in enumerate(found or ()):
        if group is None or not isinstance(group, Hashable) or group != group:  # of NaN, each may be a group or all
            raise TrainingError(
                f"The group of each item must be a number, a text or a tuple, no NaN. Got {shown(group)} for item {k}."
            )
    return found


def _ranked(groups: Sequence[Any]) -> list[int]:
    """Return numbers in place of groups, which scikit-learn could make equal, such as 1 and "1", or not sort."""
    try:
        order = sorted({*groups})
    except TypeError:
        order = [*dict.fromkeys(groups)]
    ranks = {group: rank for rank, group in enumerate(order)}
    return [ranks[group] for group in groups]


def _check_classes(splits: Splits, targets: Targets, grouped: bool, counting: NDArray[np.bool_]) -> None:
    """Check that each class is among the items that a fold is trained on: no model can learn the others."""
    for k, (train, _) in enumerate(splits):
        seen = np.isin(np.arange(len(targets.classes)), targets.numbers[train][counting[train]])
        if not seen.all():
            missing = targets.classes[~seen].tolist()[0]
            hint = "Give groups that each hold several classes, or none" if grouped else "Choose other folds"
            raise TrainingError(
                f"Each fold must be trained on items of every class. Fold {k} has none of class {missing!r} there. "
                f"{hint}; or leave out classes that have too few items."
            )


def _splitter(cv: int, targets: Targets, grouped: bool, random_state: int | None) -> Any:
    classifies = len(targets.classes) > 0
    smallest = int(np.bincount(targets.numbers).min()) if classifies else len(targets.numbers)
    if not 2 <= cv <= smallest:
        among = f"items in the smallest class ({smallest})" if classifies else f"items ({smallest})"
        raise TrainingError(f"cv must be from 2 to the number of {among}. Got {cv}.")
    kinds = ((KFold, GroupKFold), (StratifiedKFold, StratifiedGroupKFold))
    return kinds[classifies][grouped](cv, shuffle=random_state is not None, random_state=random_state)


def make_blocks(splits: Splits, targets: Targets, groups: Sequence[Any] | None) -> Blocks:
    """Divide the held-out items of each fold into blocks of about the same size, each of whole groups.

    A fold without one of its blocks still has every class, so that any scorer can score it; where this cannot be, the
    whole fold is one block.
    """
    names = np.arange(len(targets.numbers)) if groups is None else _numbered(groups)
    most = max(MOST_BLOCKS // len(splits), 1)
    return [_blocks(names[test], targets.numbers[test], most, len(targets.classes)) for _, test in splits]


def _numbered(groups: Sequence[Any]) -> NDArray[np.intp]:
    known: dict[Any, int] = {}
    return np.array([known.setdefault(group, len(known)) for group in groups], dtype=np.intp)


def _blocks(groups: NDArray[np.intp], numbers: NDArray[Any], most: int, n_classes: int) -> NDArray[np.intp]:
    _, places = np.unique(groups, return_inverse=True)
    for count in range(min(most, int(places.max(initial=0)) + 1), 1, -1):
        blocks: NDArray[np.intp] = places % count
        if not n_classes or _keeps_all_classes(blocks, numbers, count):
            return blocks
    return np.zeros_like(places)


def _keeps_all_classes(blocks: NDArray[np.intp], numbers: NDArray[Any], count: int) -> bool:
    table = np.zeros((count, int(numbers.max()) + 1))
    np.add.at(table, (blocks, numbers), 1)
    return bool((table < table.sum(axis=0))[:, table.any(axis=0)].all())


def block_shares(blocks: Blocks, weights: NDArray[np.float64], splits: Splits) -> Floats:
    """Return how much each block of all folds counts in the mean of the folds' scores; they sum to 1."""
    pairs = zip(blocks, splits, strict=True)
    shares = [np.bincount(of, weights[test]) / weights[test].sum() for of, (_, test) in pairs]
    return np.concatenate(shares) / len(splits)
