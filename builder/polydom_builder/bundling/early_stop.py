"""Early stops: for each model, the confidence from which on it answers at once, fitted on held-out items."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from polydom_builder.training.trainer import Trainer

MIN_ITEMS = 30
"""The least number of held-out items above a threshold; on fewer, its loss is not known."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The answers of a model on items that it was not trained on.

    Parameters
    ----------
    hits : bool array of shape (n_items,)
        Whether each answer is right.
    confidence : float array of shape (n_items,)
        The largest probability of each answer.
    weights : float array of shape (n_items,)
        How much each item counts, above 0.
    """

    hits: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def accuracy(self) -> float:
        """The share of right answers, by weight."""
        return float(np.average(self.hits, weights=self.weights))


def fit_stops(models: Sequence[tuple[Trainer, tuple[int, ...]]], given_up: float) -> tuple[float, ...]:
    """Return for each model the least confidence with which it may answer early; infinite if there is none.

    The items on which a model has at least this confidence are stopped items. On these, its accuracy is lower than
    that of the best model by at most `given_up`. This holds for each model by itself, on all items. On the node several
    models are asked in turn, and a later one gets only the items on which the earlier ones were not sure; so the loss
    of all models together may be larger.

    Parameters
    ----------
    models : sequence of (Trainer, order)
        The features of each model, and what trains it. The same items are held out for all of them.
    given_up : float
        The accuracy that may be lost on the stopped items, from 0 to 1.
    """
    tasks = (
        delayed(trainer.memory.cache(_held_out, ignore=["trainer"]))(trainer.lean, trainer.key, order)
        for trainer, order in models
    )
    n_jobs = models[0][0].n_jobs if models else None
    found = [HeldOut(*arrays) for arrays in Parallel(n_jobs=n_jobs)(tasks)]
    best = max(found, key=lambda m: m.accuracy, default=None)
    return tuple(math.inf if best is None or m is best else _threshold(m, best, given_up) for m in found)


def _threshold(model: HeldOut, best: HeldOut, given_up: float) -> float:
    """Return the least confidence from which on the model loses at most `given_up` against the best one."""
    surest = np.argsort(-model.confidence, kind="stable")
    weights = model.weights[surest]
    loss = np.cumsum(weights * (best.hits[surest].astype(float) - model.hits[surest])) / np.cumsum(weights)
    confidence = model.confidence[surest]
    last = np.append(confidence[1:] < confidence[:-1], True)  # a threshold includes all items of equal confidence
    fine = np.flatnonzero((loss <= given_up) & last & (np.arange(len(surest)) >= MIN_ITEMS - 1))
    return float(confidence[fine[-1]]) if len(fine) else math.inf


def _held_out(trainer: Trainer, key: str, order: tuple[int, ...]) -> list[NDArray[Any]]:
    every = np.ones(len(trainer.table.rows)) if trainer.weights is None else trainer.weights
    hits, confidence, weights = [], [], []
    for train, test in trainer.splits:
        model = trainer.fit(order, train)
        test = test[every[test] > 0.0]
        rows = trainer.table.rows_of(order, test)
        hits.append(trainer.codes(model, rows) == trainer.table.targets[test])
        confidence.append(np.asarray(model.predict_proba(rows), dtype=np.float64).max(axis=1))
        weights.append(every[test])
    return [np.concatenate(parts) for parts in (hits, confidence, weights)]
