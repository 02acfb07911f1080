"""The scores that a bundle states: corrected for the choice of the best sets, with intervals.

The correction keeps the order of the scores, so the index, the proof and the plans of the node stay as the search
promises them. If noise is the same for all sets, a higher measured score means a higher expected one, however much of
it is luck. What a model loses follows from its measured score: so the model of a prefix, which no query chooses,
loses as much as a chosen one of the same score.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.isotonic import isotonic_regression

from polydom_builder.lattice.inputs import CostsOfSets, weights_of
from polydom_builder.lattice.region import QueryRegion
from polydom_builder.training.scoring import scoring_name
from polydom_builder.training.trainer import Trainer
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.estimates import CONFIDENCE, Estimate
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.bundles.scores import score_range
from polydom_runtime.costs import HUGE, basis_terms

from .export import ExportedModel
from .optimism import Chosen, optimism

CORRECTIONS = ("resampling", None)

KEPT = 1e-6
"""The share of a difference of measured scores that is left where the corrected ones are equal, to keep their order."""

RARE = 3.0
"""What happened to none of n items happens to at most this number of n new ones, with 95 % confidence."""


@dataclass(frozen=True, slots=True)
class Correction:
    """From the measured score of a model to the one that is stated, and an interval.

    Parameters
    ----------
    measured, corrected : float arrays of shape (n_chosen + 1,)
        The prior's score and those of the chosen sets, by rising score; and what they are after the correction.
    scores, widths : float arrays of shape (n_trained,)
        The score of each trained set by rising score, and half the width of its interval.
    limits : (float, float)
        The lowest and the highest possible score.
    """

    measured: Floats
    corrected: Floats
    scores: Floats
    widths: Floats
    limits: tuple[float, float]

    def __call__(self, model: ExportedModel) -> ExportedModel:
        """Return an exported model with its corrected score."""
        score = model.accuracy
        full = min(score, float(np.interp(score, self.measured, self.corrected)))
        stated = full + KEPT * (score - full)
        half = float(np.interp(score, self.scores, self.widths))
        lowest, highest = self.limits
        low, high = max(stated - half, min(lowest, stated)), min(stated + half, max(highest, stated))
        return replace(model, accuracy=stated, estimate=Estimate(score, low, high))


def correction_of(
    scores: Mapping[int, float], trainer: Trainer, costs: CostsOfSets, index: PolyDomIndex, region: QueryRegion
) -> Correction | None:
    """Return the correction of the scores of a search; None if its held-out items cannot show what chance does.

    Parameters
    ----------
    scores : mapping of int to float
        Of each trained set.
    trainer : Trainer
    costs : CostsOfSets
    index : PolyDomIndex
        Of the candidates, by these scores.
    region : QueryRegion
    """
    masks, values = np.array(list(scores)), np.array(list(scores.values()))
    parts, shares = trainer.parts(masks.tolist()), trainer.shares
    counting = shares > 0.0
    parts, shares = parts[:, counting], shares[counting]
    if len(shares) < 2 or not np.isfinite(parts).all():
        warnings.warn(
            "There must be two blocks of held-out items or more, each of whole groups, and a score without each of "
            "them. There are not, so the scores of the bundle are not corrected for the choice of the best sets. Give "
            "more items or groups, other folds, or correction=None.",
            stacklevel=4,
        )
        return None
    chosen = choices(index, region, masks, weights_of(costs, masks))
    rows, lost = np.array([c.row for c in chosen], dtype=np.intp), optimism(parts, shares, chosen)
    best = sorted({*rows.tolist()}, key=lambda row: values[row])
    levels = [values[row] - lost[rows == row].mean() for row in best]
    corrected = isotonic_regression(levels) if best else []
    rising, limits = np.argsort(values), score_range(scoring_name(trainer.scoring))
    return Correction(
        np.array([scores[0], *values[best]]),
        np.maximum([scores[0], *corrected], scores[0]),
        values[rising],
        half_widths(parts, shares, len(trainer.table.targets), limits)[rising],
        limits,
    )


def choices(index: PolyDomIndex, region: QueryRegion, masks: NDArray[np.int64], weights: Floats) -> list[Chosen]:
    """Return a choice for each range of sizes in which a set is the best answer: at its middle, and a middle budget.

    Parameters
    ----------
    index : PolyDomIndex
    region : QueryRegion
    masks : int array of shape (n_sets,)
        The trained sets.
    weights : float array of shape (n_sets, 6)
        Of their costs.
    """
    row_of, found = {mask: row for row, mask in enumerate(masks.tolist())}, []
    for interval in index.intervals:
        candidate = index.candidates[interval.candidate]
        if candidate.mask == 0:
            continue
        size = float(np.expm1(0.5 * (np.log1p(interval.start) + np.log1p(interval.end))))
        prices, row = weights @ basis_terms(size), row_of[candidate.mask]
        better = [c.cost(size) for c in index.candidates if c.accuracy > candidate.accuracy]
        least, most = region.budgets
        budget = min(max(0.5 * (prices[row] + min(better, default=np.inf)), prices[row], least), most)
        fits = (prices <= budget) | (masks == 0) | (masks == candidate.mask)
        found.append(Chosen(row, np.flatnonzero(fits)))
    return found


def half_widths(parts: Floats, shares: Floats, n_items: int, limits: tuple[float, float]) -> Floats:
    """Return half the width of the interval of each set, shape ``(n_sets,)``, by the spread between blocks.

    Blocks on which all answers are right have no spread. So it is at least what rare mistakes, of which the items had
    none, can change.
    """
    n_blocks = len(shares)
    spread = ((parts - (parts @ shares)[:, None]) ** 2) @ (shares**2) * n_blocks / (n_blocks - 1)
    rare = RARE / n_items * (limits[1] - limits[0]) if limits[1] - limits[0] < HUGE else 0.0
    widths: Floats = np.maximum(student.ppf(0.5 + 0.5 * CONFIDENCE, n_blocks - 1) * np.sqrt(spread), rare)
    return widths


def corrected(exported: Sequence[ExportedModel], correction: Correction | None) -> list[ExportedModel]:
    """Return exported models with their corrected scores; as they are without a correction."""
    return list(exported) if correction is None else [correction(model) for model in exported]
