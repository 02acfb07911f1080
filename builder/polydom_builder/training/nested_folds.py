"""Trainers of the items that folds are trained on, to search without the held-out items of a fold."""

from dataclasses import replace
from typing import Any

import numpy as np

from polydom_builder.exceptions import TrainingError

from .folds import make_splits
from .labels import Targets
from .table import Table
from .trainer import Trainer


def nested_trainers(trainer: Trainer, cv: Any, random_state: int | None) -> list[Trainer]:
    """Return for each fold a trainer of the items that it is trained on, with folds of their own.

    `cv`: as in `make_splits`, for the folds in each fold.

    Raises `TrainingError` if `cv` only splits all items, or the items of a fold cannot be split again.
    """
    if not (isinstance(cv, int | np.integer) or hasattr(cv, "split")):
        raise TrainingError(
            "With correction='nested' cv must be a number or a splitter, which splits a part of the items again. Got "
            "splits of all items. Give one of these, or correction='resampling'."
        )
    table, found = trainer.table, []
    for train, _ in trainer.splits:
        targets = Targets(table.classes, table.targets[train])
        groups = None if trainer.groups is None else [trainer.groups[k] for k in train.tolist()]
        weights = None if trainer.weights is None else trainer.weights[train]
        splits = make_splits(cv, targets, groups, random_state, weights)
        part = Table(table.rows[train], *targets, table.columns)
        found.append(replace(trainer, table=part, splits=splits, weights=weights, groups=groups))
    return found
