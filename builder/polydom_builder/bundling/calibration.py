"""What the scores of a model mean, from its held-out answers: the share of right ones among answers of such a score.

The items are divided by score into parts of equal weight, and shares are made to rise with the score. That needs no
form of the curve, so it serves probabilities and decision values alike.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.confidence import MAX_KNOTS, Calibration

from .held_out import HeldOut

MIN_ITEMS = 30
"""Items of a part at least: from fewer no share can be told."""

HALF = 0.5
"""Each part counts this many right and as many wrong answers more, so that no answer is certain (Jeffreys)."""

N_BINS = 15
"""Parts for the calibration error, as is usual."""


def calibrate(scores: Floats, hits: NDArray[np.bool_], weights: Floats) -> Calibration:
    """Return the calibration of held-out answers; all arrays have the shape ``(n_answers,)``, at least one."""
    weights = weights / weights.mean()
    parts = equal_parts(scores, weights, min(MAX_KNOTS, max(len(scores) // MIN_ITEMS, 1)))
    mass = np.bincount(parts, weights)
    knots = np.bincount(parts, weights * scores) / mass
    shares = (np.bincount(parts, weights * hits) + HALF) / (mass + 2 * HALF)
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
    parts = equal_parts(confidences, weights, N_BINS)
    return float(np.abs(np.bincount(parts, weights * (confidences - hits))).sum() / weights.sum())
