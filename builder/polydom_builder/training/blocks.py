"""Blocks of held-out items: what a score would be without each of them tells how far chance may move it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats

from .folds import Splits
from .labels import Targets

MOST_BLOCKS = 40
"""Of all folds together. More would take time for scorers, and hardly make a standard error more certain."""

Blocks = list[NDArray[np.intp]]
"""For each fold the block of each of its held-out items; the blocks of a fold are numbered from 0."""


def make_blocks(splits: Splits, targets: Targets, groups: Sequence[Any] | None) -> Blocks:
    """Divide the held-out items of each fold into blocks of about the same size, each of whole groups.

    A fold without one of its blocks still has every class, so that any scorer can score it. Where there is no other
    way, the whole fold is one block.

    `groups` (shape (n_items,)): items of one group are not independent of each other.
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
    """Return how much each block of all folds counts in the mean of the folds' scores; they sum to 1.

    `weights` (shape (n_items,)): how much each item counts in its fold.
    """
    pairs = zip(blocks, splits, strict=True)
    shares = [np.bincount(of, weights[test]) / weights[test].sum() for of, (_, test) in pairs]
    return np.concatenate(shares) / len(splits)
