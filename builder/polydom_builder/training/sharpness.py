"""How far the probabilities of an estimator are too unsure, or too sure, for choices by cost."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .trainer import Trainer

POWERS = np.geomspace(0.25, 8.0, 41).round(3)
"""Those that are tried, 1 among them: from probabilities that are much too sure to ones that are much too unsure."""


def sharpness_of(trainer: Trainer, order: tuple[int, ...]) -> float:
    """Return the power to which probabilities are closest to the truth on held-out items, once they sum to 1 again.

    Estimators that are regularised, and forests of low trees, are too unsure: by their probabilities, an error that
    costs more would be feared too often. A power of one set does for others: that of each set by itself is near to it.

    `order`: the features of the set that is trained for it.
    """
    held_out = trainer.memory.cache(_held_out, ignore=["trainer"])
    tasks = (delayed(held_out)(trainer.lean, trainer.key, order, fold) for fold in range(len(trainer.splits)))
    probabilities = np.concatenate(Parallel(n_jobs=trainer.n_jobs)(tasks))
    items = np.concatenate([test for _, test in trainer.splits])
    truth = np.eye(len(trainer.table.classes))[trainer.table.targets[items]]
    weights = None if trainer.weights is None else trainer.weights[items]

    def loss(power: float) -> float:
        sharp = probabilities**power
        sharp /= np.maximum(sharp.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return float(np.average(((sharp - truth) ** 2).sum(axis=1), weights=weights))

    return float(min(POWERS, key=lambda power: (loss(power), abs(power - 1.0))))


def _held_out(trainer: Trainer, key: str, order: tuple[int, ...], fold: int) -> NDArray[Any]:
    train, test = trainer.splits[fold]
    rows = trainer.table.rows_of(order, test)
    return np.asarray(trainer.fit(order, train).predict_proba(rows), dtype=np.float64)
