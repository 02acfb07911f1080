"""Early stops: for each model, the confidence from which on it answers at once, fitted on held-out items."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polydom_runtime.bundles.confidence import Calibration

from .calibration import confidences_of
from .held_out import HeldOut

MIN_ITEMS = 30
"""The least number of held-out items above a threshold; on fewer, its loss is not known."""


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
    fine = np.flatnonzero((loss <= given_up) & last & (np.arange(len(surest)) >= MIN_ITEMS - 1))
    return float(scores[fine[-1]]) if len(fine) else math.inf
