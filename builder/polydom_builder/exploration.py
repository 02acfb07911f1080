"""The feature sets that a search trains and keeps: by gain, or best-first if a promise is to be proven."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .exceptions import LatticeError
from .lattice.best_first import climb, expand_best_first
from .lattice.by_gain import SearchStep, expand_by_gain
from .lattice.candidates import select_candidates
from .lattice.limits import LimitedScore
from .lattice.monotonicity import estimate_tolerance
from .lattice.progressive import expand_progressively, proven_alpha
from .lattice.proof import Grounds
from .lattice.within_noise import PairedErrors, grounds_of, margin_of, select_within_noise, warn_if_all_is_noise
from .sets.inputs import CostsOfSets, ScoreSets
from .sets.region import QueryRegion

SEARCHES = ("by-gain", "best-first")

TrainingLimits = tuple[int | None, float | None]
"""The number of sets that may be trained, and the time in seconds after which no further training begins."""


@dataclass(frozen=True, slots=True)
class Explored:
    """The result of an exploration."""

    expanded: dict[int, float]
    """Score of each trained set."""
    kept: list[int]
    """Masks of the candidates."""
    alpha: float
    tolerance: float
    """`alpha`, `tolerance`: α and e for which the promise holds; α is infinite if none is proven."""
    steps: Sequence[SearchStep] = ()
    """How far a search by gain was after each training."""
    grounds: Grounds | None = None
    """The margin of a search by gain, and what it rests on."""

    @property
    def margin(self) -> float | None:
        """The most by which, with 95 % certainty, another set is better than the one that answers, at each query."""
        return self.grounds.margin if self.grounds else None

    @property
    def candidates(self) -> dict[int, float]:
        """The score of each candidate, by mask."""
        return {mask: self.expanded[mask] for mask in self.kept}


def explore_by_gain(
    costs: CostsOfSets,
    region: QueryRegion,
    score: ScoreSets,
    errors: PairedErrors,
    *,
    limits: TrainingLimits = (None, None),
    batch: int = 1,
    standard_errors: float = 0.0,
    shown: Callable[[SearchStep], object] = lambda step: None,
) -> Explored:
    """Train the sets from which most is to be gained, and keep those that are better than all cheaper ones.

    `errors`: the errors of the scores of trained sets. `batch`: the number of sets that are trained at a time.
    `standard_errors`: the number of them by which a set must be better than a cheaper one. `shown`: a function that is
    called with each step.

    Raises `LatticeError` if a score or parameter is out of range.
    """
    if limits != (None, None):
        score = LimitedScore(score, min(1 << costs.n_features, 2), "the empty and the full set", *limits)
    found = expand_by_gain(costs, region, score, noise=errors.typical, batch=batch, shown=shown)
    kept = select_within_noise(found.expanded, costs, region, errors, standard_errors)
    alpha = proven_alpha(found.expanded, costs, region, 0.0, kept)
    warn_if_all_is_noise(found.expanded, errors)
    grounds = None
    if errors.are_known(list(found.expanded)):  # otherwise no margin can be told
        grounds = grounds_of(found, margin_of(found, kept, costs, region, errors), errors)
    return Explored(found.expanded, kept, alpha, 0.0, found.steps, grounds)


def explore_best_first(
    costs: CostsOfSets,
    region: QueryRegion,
    score: ScoreSets,
    *,
    alphas: Sequence[float],
    tolerance: float | None = 0.0,
    quantile: float = 0.99,
    limits: TrainingLimits = (None, None),
    batch: int = 1,
) -> Explored:
    """Train the most promising sets until every set that fits is settled; keep those that no other can replace.

    `alphas`: falling values of α; a single one unless the trainings are limited. `tolerance`: e; None estimates it from
    the pairs of trained sets. `quantile`: the quantile of their violations that the estimate takes. `batch`: the number
    of sets that are trained at a time.

    Raises `LatticeError` if a score or parameter is out of range, too many sets are in doubt, or the trainings within
    the limits prove no promise.
    """
    if limits == (None, None):
        expanded: dict[int, float] = {}
        alpha, e, larger = alphas[0], -math.inf, tolerance or 0.0
        while larger > e:  # sets that a larger tolerance adds may show larger violations
            e = larger
            expanded = expand_best_first(costs, region, score, alpha=alpha, tolerance=e, batch=batch, known=expanded)
            larger = e if tolerance is not None else estimate_tolerance(expanded, quantile)
        smallest, most = region.sizes[0], region.budgets[1]
        expanded = climb(expanded, costs.n_features, score, lambda mask: costs(mask)(smallest) <= most)
    else:
        max_trainings, max_seconds = limits
        progress = expand_progressively(
            costs,
            region,
            score,
            alphas=alphas,
            tolerance=tolerance,
            quantile=quantile,
            batch=batch,
            max_trainings=max_trainings,
            max_seconds=max_seconds,
        )
        expanded, alpha, e = progress.expanded, progress.alpha, progress.tolerance
        if alpha == math.inf:
            raise LatticeError(
                f"The trainings must prove a promise for some alpha. {len(expanded)} trainings prove none. "
                "Raise max_trainings or max_seconds."
            )
    return Explored(expanded, select_candidates(expanded, costs, region, alpha=alpha, tolerance=e), alpha, e)
