"""The held-out answers of models: what scores mean by them, and from which score on a model may answer early.

A score means the share of right ones among answers of such a score.

The items are divided by score into parts of equal weight, and shares are made to rise with the score. That needs no
form of the curve, so it serves probabilities and decision values alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from polydom_builder.training.onnx import OnnxModel
from polydom_builder.training.trainer import Trainer
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import MAX_KNOTS, Calibration

FEWEST_ITEMS = 30
"""The fewest items in a part, and above the threshold of an early stop: fewer cannot show a share."""

HALF_ANSWER = 0.5
"""Each part counts this number of right and of wrong answers more, so that no answer is certain (Jeffreys)."""

N_PARTS = 15
"""Parts for the calibration error, as is usual."""


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


def calibrate(scores: Floats, hits: NDArray[np.bool_], weights: Floats) -> Calibration:
    """Return the calibration of held-out answers; all arrays have the shape ``(n_answers,)``, at least one."""
    weights = weights / weights.mean()
    parts = equal_parts(scores, weights, min(MAX_KNOTS, max(len(scores) // FEWEST_ITEMS, 1)))
    mass = np.bincount(parts, weights)
    knots = np.bincount(parts, weights * scores) / mass
    shares = (np.bincount(parts, weights * hits) + HALF_ANSWER) / (mass + 2 * HALF_ANSWER)
    confidences = np.clip(isotonic_regression(shares, sample_weight=mass), 0.0, 1.0)
    rising = np.append(True, np.diff(knots) > 0.0)
    return Calibration(tuple(knots[rising].tolist()), tuple(np.maximum.accumulate(confidences)[rising].tolist()))


def equal_parts(values: Floats, weights: Floats, count: int) -> NDArray[np.intp]:
    """Return the number of the part of each value: at most `count` parts by rising value, nearly equal in weight.

    Equal values are in one part, and no part is empty.
    """
    distinct, places = np.unique(values, return_inverse=True)
    mass = np.bincount(places, weights, len(distinct))
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    parts: NDArray[np.intp] = np.unique(np.floor(middle * count), return_inverse=True)[1][places]
    return parts


def confidences_of(calibration: Calibration, scores: Floats) -> Floats:
    """Return the confidence of each score, to the last digit as on a node."""
    return np.array([calibration(score) for score in scores.tolist()])


def crossed(held_out: HeldOut) -> Floats:
    """Return the confidence of each answer by a calibration on the other folds; of five parts if there is one fold."""
    folds, found = held_out.folds, np.empty(len(held_out.scores))
    if (folds == folds[0]).all():
        folds = np.arange(len(folds)) % min(5, len(folds))
    for fold in np.unique(folds):
        here = folds == fold
        there = here if here.all() else ~here  # a single item
        fitted = calibrate(held_out.scores[there], held_out.hits[there], held_out.weights[there])
        found[here] = confidences_of(fitted, held_out.scores[here])
    return found


def calibration_error(confidences: Floats, hits: NDArray[np.bool_], weights: Floats) -> float:
    """Return the mean difference between confidence and share of right answers, over 15 parts of equal weight."""
    parts = equal_parts(confidences, weights, N_PARTS)
    return float(np.abs(np.bincount(parts, weights * (confidences - hits))).sum() / weights.sum())


def with_stops(bundle: Bundle, models: Sequence[HeldOut], loss: float) -> Bundle:
    """Return a calibrated bundle with the confidences from which on its models answer early; see `fit_stops`."""
    calibrations = [entry.calibration for entry in bundle.models if entry.calibration is not None]
    stops = fit_stops(models, calibrations, loss)
    entries = tuple(entry._replace(stop=stop) for entry, stop in zip(bundle.models, stops, strict=True))
    return replace(bundle, models=entries, promise=bundle.promise._replace(stop_loss=loss))


def fit_stops(models: Sequence[HeldOut], calibrations: Sequence[Calibration], given_up: float) -> tuple[float, ...]:
    """Return for each model the least confidence with which it may answer early; infinite if there is none.

    The items on which a model has at least this confidence are stopped items. On these, its accuracy is lower than
    that of the best model by at most `given_up`. This holds for each model by itself, on all items. On the node several
    models are asked in turn, and a later one gets only the items on which the earlier ones were not sure; so the loss
    of all models together may be larger.

    `models`: the answers of each model, all on the same items. `given_up`: the accuracy that may be lost on the stopped
    items, from 0 to 1.
    """
    best = max(models, key=lambda m: m.accuracy, default=None)
    return tuple(
        math.inf
        if best is None or model is best
        else _threshold(replace(model, scores=confidences_of(calibration, model.scores)), best, given_up)
        for model, calibration in zip(models, calibrations, strict=True)
    )


def _threshold(model: HeldOut, best: HeldOut, given_up: float) -> float:
    """Return the least score from which on the model loses at most `given_up` against the best one."""
    surest = np.argsort(-model.scores, kind="stable")
    weights = model.weights[surest]
    loss = np.cumsum(weights * (best.hits[surest].astype(float) - model.hits[surest])) / np.cumsum(weights)
    scores = model.scores[surest]
    last = np.append(scores[1:] < scores[:-1], True)  # a threshold includes all items of equal score
    fine = np.flatnonzero((loss <= given_up) & last & (np.arange(len(surest)) >= FEWEST_ITEMS - 1))
    return float(scores[fine[-1]]) if len(fine) else math.inf
