"""When a prefix is sure enough to answer at once: thresholds on confidence, fitted on held-out items."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.trainer import Trainer

MIN_ITEMS = 30
"""A threshold that fewer held-out items passed tells nothing."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What a model says of items that it was not trained on.

    Parameters
    ----------
    hits : bool array of shape (n_items,)
    confidence : float array of shape (n_items,)
        The largest probability.
    """

    hits: NDArray[np.bool_]
    confidence: NDArray[np.float64]


def fit_stops(trainer: Trainer, orders: Sequence[tuple[int, ...]], given_up: float) -> tuple[float, ...]:
    """Return for each model the least confidence at which its answer may stand; infinite if there is none.

    Of the items on which a model is so sure, it is wrong more often than the best of all models by at most `given_up`.
    That holds for each model on all items: of several in a row, a later one sees only what earlier ones were not sure
    of, so all together may give up more.

    Parameters
    ----------
    trainer : Trainer
    orders : sequence of orders
        Of the models' features; the same items are held out of each.
    given_up : float
        Share of such items.

    Raises
    ------
    TrainingError
        If the models are regressors or have no probabilities.
    """
    if not len(trainer.table.classes):
        raise TrainingError("early_stop must be left out for a regressor, which is never sure.")
    held_out = trainer.memory.cache(_held_out, ignore=["trainer"])
    tasks = (delayed(held_out)(trainer.lean, trainer.key, order) for order in orders)
    models: list[HeldOut] = list(Parallel(n_jobs=trainer.n_jobs)(tasks))
    best = max(models, key=lambda m: m.hits.mean(), default=None)
    return tuple(math.inf if best is None or m is best else _threshold(m, best, given_up) for m in models)


def _threshold(model: HeldOut, best: HeldOut, given_up: float) -> float:
    """Return the least confidence above which the loss, against the best model on the same items, is small enough."""
    surest = np.argsort(-model.confidence, kind="stable")
    loss = np.cumsum(best.hits[surest].astype(float) - model.hits[surest]) / np.arange(1, len(surest) + 1)
    confidence = model.confidence[surest]
    last = np.append(confidence[1:] < confidence[:-1], True)  # ties are in or out together
    fine = np.flatnonzero((loss <= given_up) & last & (np.arange(len(surest)) >= MIN_ITEMS - 1))
    return float(confidence[fine[-1]]) if len(fine) else math.inf


def _held_out(trainer: Trainer, key: str, order: tuple[int, ...]) -> HeldOut:
    hits, confidence = [], []
    for train, test in trainer.splits:
        model = trainer.fit(order, train)
        if not hasattr(model, "predict_proba"):
            raise TrainingError(
                f"early_stop needs an estimator with probabilities. {type(model).__name__} has none. "
                "Choose another, or leave early_stop out."
            )
        rows = trainer.table.rows_of(order, test)
        hits.append(np.asarray(model.predict(rows)) == trainer.table.targets[test])
        confidence.append(np.asarray(model.predict_proba(rows), dtype=np.float64).max(axis=1))
    return HeldOut(np.concatenate(hits), np.concatenate(confidence))
