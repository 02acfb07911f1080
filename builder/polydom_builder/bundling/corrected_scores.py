"""The scores that a bundle states: corrected for the choice of the best sets, with intervals.

The correction keeps the order of the scores, so the index, the proof and the plans of the node stay as the search
promises them. If noise is the same for all sets, a higher measured score means a higher expected one, however much of
it is luck. What a model loses follows from its measured score: so the model of a prefix, which no query chooses,
loses as much as a chosen one of the same score. So does one of another estimator than the one that explored: the luck
of choosing among estimators is not known.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.isotonic import isotonic_regression

from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.scoring import scoring_name
from polydom_builder.training.trainer import Trainer
from polydom_runtime.arrays import Floats, Masks
from polydom_runtime.bundles.checks import score_range
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.bundles.model_entry import CONFIDENCE, Estimate
from polydom_runtime.costs import HUGE, basis_terms

from .export import ExportedModel

LEFT_OUT, N_REPEATS = 5, 80
"""`LEFT_OUT`: most parts of the blocks, one of which is left out at a time. `N_REPEATS`: number of random divisions of
the blocks into such parts."""

KEPT = 1e-6
"""The share of a difference of measured scores that is left where the corrected ones are equal, to keep their order."""

RARE = 3.0
"""What happened to none of n items happens to at most this number of n new ones, with 95 % confidence."""

SHARED = 1.3
"""The factor of the variance between blocks for what folds share: training items, so their scores err together.

Where models were trained on 30 or 40 draws of the items of three real tasks, intervals held 80 to 93 % of the scores on
the other items without it, and 85 to 94 % with it. `Trainer.inflation`, for differences of scores, is larger.
"""

Scores = Mapping[int, float]
"""The score of each of some sets, by mask."""


class AnsweredQuery(NamedTuple):
    """A query, and the set that is the best answer to it."""

    mask: int
    size: float
    budget: float


def choices_of(index: PolyDomIndex, region: QueryRegion) -> list[AnsweredQuery]:
    """Return a query for each range of sizes in which a set is the best answer: at its middle, and a middle budget."""
    found, (least, most) = [], region.budgets
    for interval in index.intervals:
        candidate = index.candidates[interval.candidate]
        if candidate.mask:
            size = float(np.expm1(0.5 * (np.log1p(interval.start) + np.log1p(interval.end))))
            own = candidate.cost(size)
            better = [c.cost(size) for c in index.candidates if c.accuracy > candidate.accuracy]
            middle = 0.5 * (own + min(better, default=np.inf))
            found.append(AnsweredQuery(candidate.mask, size, min(max(middle, own, least), most)))
    return found


@dataclass(frozen=True, slots=True)
class ScoredSets:
    """Trained sets: their masks and scores, shape ``(n_sets,)``, and the weights of their costs, ``(n_sets, 6)``."""

    masks: Masks
    scores: Floats
    weights: Floats

    @classmethod
    def of(cls, scores: Mapping[int, float], costs: CostsOfSets) -> "ScoredSets":
        """Return the sets with these scores, by mask."""
        masks = np.array(list(scores), dtype=np.int64)
        return cls(masks, np.array(list(scores.values())), weights_of(costs, masks))

    def among(self, choice: AnsweredQuery) -> NDArray[np.intp]:
        """Return the rows of the sets that fit a query; the empty set and the one that was chosen always do."""
        fits = self.weights @ basis_terms(choice.size) <= choice.budget
        return np.flatnonzero(fits | (self.masks == 0) | (self.masks == choice.mask))

    def best(self, choice: AnsweredQuery) -> int:
        """Return the mask of the set with the highest score that fits a query."""
        rows = self.among(choice)
        return int(self.masks[rows[self.scores[rows].argmax()]])


@dataclass(frozen=True, slots=True)
class Correction:
    """From the measured score of a model to the one that is stated, and an interval."""

    measured: Floats
    corrected: Floats
    """`measured`, `corrected`: shape (n_chosen + 1,). The prior's score and those of the chosen sets, by rising score,
    before and after the correction."""
    scores: Floats
    widths: Floats
    """`scores`, `widths`: shape (n_trained,). Rising scores of trained sets, and half the widths of their intervals."""
    limits: tuple[float, float]
    """The lowest and the highest possible score."""

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
    scores: Scores,
    trainer: Trainer,
    costs: CostsOfSets,
    index: PolyDomIndex,
    region: QueryRegion,
    nested: Sequence[Scores] = (),
) -> Correction | None:
    """Return the correction of the scores of a search; None, with a warning, if held-out items cannot tell it.

    Sets that were not trained are no rivals. So if a limit ends a search early, its scores may stay a little too high.
    `index`: the index of the candidates, by these scores. `nested`: for each fold, the scores of the candidates of a
    search without its held-out items; without them, choices are made again by the scores on most of the blocks.
    """
    parts, shares = trainer.parts(list(scores)), trainer.shares
    parts, shares = parts[:, shares > 0.0], shares[shares > 0.0]
    if len(shares) < 2 or not np.isfinite(parts).all():
        warnings.warn(
            "There must be two blocks of held-out items or more, each of whole groups, and a score without each of "
            "them. There are not, so the scores of the bundle are not corrected for the choice of the best sets. Give "
            "more items or groups, other folds, or correction=None.",
            stacklevel=4,
        )
        return None
    sets, choices = ScoredSets.of(scores, costs), choices_of(index, region)
    if nested:
        lost = _lost_by_folds(trainer, choices, [ScoredSets.of(fold, costs) for fold in nested])
    else:
        rows = {mask: row for row, mask in enumerate(scores)}
        lost = optimism(parts, shares, [Winner(rows[c.mask], sets.among(c)) for c in choices])
    limits, rising = score_range(scoring_name(trainer.scoring)), np.argsort(sets.scores, kind="stable")
    widths = half_widths(parts, shares, len(trainer.table.targets), limits)
    return Correction(*_levels(scores, choices, lost), sets.scores[rising], widths[rising], limits)


def half_widths(parts: Floats, shares: Floats, n_items: int, limits: tuple[float, float]) -> Floats:
    """Return half the width of the interval of each set, shape ``(n_sets,)``, by the spread between blocks.

    Blocks on which all answers are right have no spread. So it is at least what rare mistakes, of which the items had
    none, can change.
    """
    n_blocks = len(shares)
    spread = SHARED * ((parts - (parts @ shares)[:, None]) ** 2) @ (shares**2) * n_blocks / (n_blocks - 1)
    rare = RARE / n_items * (limits[1] - limits[0]) if limits[1] - limits[0] < HUGE else 0.0
    widths: Floats = np.maximum(student.ppf(0.5 + 0.5 * CONFIDENCE, n_blocks - 1) * np.sqrt(spread), rare)
    return widths


def _levels(scores: Scores, choices: Sequence[AnsweredQuery], lost: Floats) -> tuple[Floats, Floats]:
    """Return the scores of the prior and of the chosen sets, rising, and the rising scores that are left of them."""
    masks = np.array([choice.mask for choice in choices])
    best = sorted({*masks.tolist()}, key=scores.__getitem__)
    left = isotonic_regression([scores[m] - lost[masks == m].mean() for m in best]) if best else []
    return np.array([scores[0], *(scores[m] for m in best)]), np.maximum([scores[0], *left], scores[0])


def _lost_by_folds(trainer: Trainer, choices: Sequence[AnsweredQuery], folds: Sequence[ScoredSets]) -> Floats:
    """Return the loss of each choice if each fold is answered by a set that was chosen without its held-out items."""
    fold_of = np.repeat(np.arange(len(folds)), [blocks.max() + 1 for blocks in trainer.blocks])
    lost = []
    for choice in choices:
        chosen, *others = trainer.parts([choice.mask, *(sets.best(choice) for sets in folds)])
        again = np.array(others)[fold_of, np.arange(len(fold_of))]
        lost.append(max(float((chosen - again) @ trainer.shares), 0.0))
    return np.array(lost)


class Winner(NamedTuple):
    """A set that was chosen, and the sets that it was chosen among, as their rows in the table of parts."""

    row: int
    among: NDArray[np.intp]


def optimism(parts: Floats, shares: Floats, choices: Sequence[Winner]) -> Floats:
    """Return by how much the score of each chosen set is too high, shape ``(n_choices,)``; at least 0.

    A choice prefers sets that had luck on the items. So it is made again by four fifths of the blocks. The last fifth
    had no part in this, and shows what a choice by scores is worth. What the original choice scores more there than the
    new one is luck. A set without rivals is chosen again each time, and loses nothing.

    `parts` (shape (n_sets, n_blocks)): the score of each set on each block of held-out items. Blocks are independent of
    each other. `shares` (shape (n_blocks,)): how much each block counts in a score; more than 0. There are at least
    two.

    After the bootstrap bias corrected cross-validation of Tsamardinos, Greasidou and Borboudakis (2018), with two
    changes. A bootstrap sample doubles the variance of scores, so choices by it are worse than the original one, and it
    corrects too much; choices by four fifths are nearly as good. And both choices are compared on the same blocks, so
    that most of the noise cancels out. O(n_repeats · n_sets · (n_blocks + n_choices)).

    Examples
    --------
    The first two sets are equally good, and the second had luck on the last block. The third is much worse:

    >>> parts = np.array([[0.8, 0.6, 0.7, 0.7], [0.6, 0.8, 0.7, 0.9], [0.1, 0.2, 0.1, 0.0]])
    >>> optimism(parts, np.full(4, 0.25), [Winner(1, np.array([0, 1, 2])), Winner(1, np.array([1, 2]))]).round(2)
    array([0.1, 0. ])
    """
    outside = _left_out(len(shares))
    inside = shares[:, None] * (1.0 - outside)
    outside *= shares[:, None]
    chosen_by, scored_by, times = parts @ inside, parts @ (outside / outside.sum(axis=0)), np.arange(inside.shape[1])
    highest, lost = chosen_by.max(axis=1), []
    for row, among in choices:
        rivals = among[highest[among] >= chosen_by[row].min()]  # no other set is ever chosen; most are much worse
        again = scored_by[rivals[chosen_by[rivals].argmax(axis=0)], times]
        lost.append(max(float((scored_by[row] - again).mean()), 0.0))
    return np.array(lost)


def _left_out(n_blocks: int) -> Floats:
    """Return which blocks are left out each time, as 0 and 1, shape ``(n_blocks, n_times)``."""
    rng, n_parts = np.random.default_rng(0), min(LEFT_OUT, n_blocks)
    divisions = [rng.permutation(n_blocks) % n_parts for _ in range(N_REPEATS)]
    return np.concatenate([np.arange(n_parts) == of[:, None] for of in divisions], axis=1).astype(np.float64)
