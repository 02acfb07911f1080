"""The answers of exported models on items that they were not trained on, with their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.training.onnx import OnnxModel
from polydom_builder.training.trainer import Trainer
from polydom_runtime.arrays import Floats


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The answers of a model on items that it was not trained on; items that weigh nothing are left out."""

    hits: NDArray[np.bool_]
    """Shape (n_answers,). Whether each answer is right; where the model abstains, whether its most probable label
    is."""
    scores: Floats
    """Shape (n_answers,). The probability or the decision value of each answer."""
    weights: Floats
    """Shape (n_answers,). How much each item counts, above 0."""
    items: NDArray[np.intp]
    """Shape (n_answers,). The position of each item."""
    folds: NDArray[np.intp]
    """Shape (n_answers,). The number of the fold in which it was held out."""
    said: NDArray[np.bool_]
    """Shape (n_answers,). Whether the model gives the answer, and does not abstain."""

    @property
    def accuracy(self) -> float:
        """The share of right answers, by weight."""
        return float(np.average(self.hits, weights=self.weights))


def held_out(trainer: Trainer, order: tuple[int, ...], models: Sequence[OnnxModel]) -> list[NDArray[Any]]:
    """Return the arrays of `HeldOut`, from the model of each fold."""
    table = trainer.table
    every = np.ones(len(table.rows)) if trainer.weights is None else trainer.weights
    parts = []
    for fold, ((_, test), model) in enumerate(zip(trainer.splits, models, strict=True)):
        items = test[every[test] > 0.0]
        labels, scores, said = model.answers(table.rows_of(order, items), len(table.classes))
        hits, folds = labels == table.targets[items], np.full(len(items), fold)
        parts.append((hits, scores.astype(np.float64), every[items], items, folds, said))
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
