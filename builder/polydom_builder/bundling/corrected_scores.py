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

import numpy as np
from scipy.stats import t as student
from sklearn.isotonic import isotonic_regression

from polydom_builder.sets.inputs import CostsOfSets
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.scoring import scoring_name
from polydom_builder.training.trainer import Trainer
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.estimates import CONFIDENCE, Estimate
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.bundles.scores import score_range
from polydom_runtime.costs import HUGE

from .choices import Choice, ScoredSets, choices_of
from .export import ExportedModel
from .optimism import Chosen, optimism

CORRECTIONS = ("resampling", "nested", None)

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


@dataclass(frozen=True, slots=True)
class Correction:
    """From the measured score of a model to the one that is stated, and an interval."""

    measured: Floats
    corrected: Floats
    """Shape (n_chosen + 1,). The prior's score and those of the chosen sets, by rising score; and what they are after
    the correction."""
    scores: Floats
    widths: Floats
    """Shape (n_trained,). The score of each trained set, rising, and half the width of its interval."""
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

    `scores`: of each trained set, by mask. `index`: of the candidates, by these scores. `nested`: for each fold, the
    scores of the candidates of a search without its held-out items. If not given, choices are made again by the scores
    on most of the blocks.
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
        lost = optimism(parts, shares, [Chosen(rows[c.mask], sets.among(c)) for c in choices])
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


def _levels(scores: Scores, choices: Sequence[Choice], lost: Floats) -> tuple[Floats, Floats]:
    """Return the scores of the prior and of the chosen sets, rising, and the rising scores that are left of them."""
    masks = np.array([choice.mask for choice in choices])
    best = sorted({*masks.tolist()}, key=scores.__getitem__)
    left = isotonic_regression([scores[m] - lost[masks == m].mean() for m in best]) if best else []
    return np.array([scores[0], *(scores[m] for m in best)]), np.maximum([scores[0], *left], scores[0])


def _lost_by_folds(trainer: Trainer, choices: Sequence[Choice], folds: Sequence[ScoredSets]) -> Floats:
    """Return what each choice loses if each fold is answered by a set that was chosen without its held-out items."""
    fold_of = np.repeat(np.arange(len(folds)), [blocks.max() + 1 for blocks in trainer.blocks])
    lost = []
    for choice in choices:
        chosen, *others = trainer.parts([choice.mask, *(sets.best(choice) for sets in folds)])
        again = np.array(others)[fold_of, np.arange(len(fold_of))]
        lost.append(max(float((chosen - again) @ trainer.shares), 0.0))
    return np.array(lost)
