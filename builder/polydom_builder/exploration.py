"""The feature sets that a search trains and keeps, by its algorithm, slacks and limits."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .exceptions import LatticeError
from .lattice import expand_best_first
from .lattice.by_gain import Step, expand_by_gain
from .lattice.candidates import select_candidates
from .lattice.climbing import climb
from .lattice.grounds import Grounds
from .lattice.limits import LimitedScore
from .lattice.monotonicity import estimate_tolerance
from .lattice.paired_errors import PairedErrors
from .lattice.progressive import expand_progressively, proven_alpha
from .lattice.within_noise import grounds_of, margin_of, select_within_noise, warn_if_all_is_noise
from .paper import expand_all, expand_as_printed, expand_layers, select_as_printed
from .sets.inputs import CostsOfSets
from .sets.region import QueryRegion

SEARCHES = ("by-gain", "best-first", "layers", "as-printed", "all")

Score = Callable[[list[int]], list[float]]


@dataclass(frozen=True, slots=True)
class Explored:
    """The result of an exploration."""

    expanded: dict[int, float]
    """Score of each trained set."""
    kept: list[int]
    """Masks of the candidates."""
    alpha: float
    tolerance: float
    """α and e for which the promise holds; α is infinite if none is proven."""
    margin: float | None = None
    """By how much, with 95 % certainty, another set may be better than the one that answers, at each size and
    budget."""
    steps: Sequence[Step] = ()
    """How far a search by gain was after each training."""
    grounds: Grounds | None = None
    """What the margin rests on."""

    @property
    def candidates(self) -> dict[int, float]:
        """The score of each candidate, by mask."""
        return {mask: self.expanded[mask] for mask in self.kept}


@dataclass
class Exploration:
    """A search of the lattice."""

    costs: CostsOfSets
    region: QueryRegion
    score: Score
    """Trains sets and returns their scores."""
    lattice: str
    """The search."""
    alphas: tuple[float, ...]
    """Falling values of α; a single one unless the trainings are limited."""
    tolerance: float | None
    """e; None estimates it from the pairs of trained sets."""
    quantile: float
    """The quantile of their violations that the estimate takes."""
    max_trainings: int | None
    max_seconds: float | None
    """The limits of a best-first search."""
    batch: int
    """The number of sets that are trained at a time."""
    errors: PairedErrors
    """Of the scores of the sets that were trained."""
    standard_errors: float
    """By so many, a set must be better than a cheaper one that a search by gain keeps."""
    shown: Callable[[Step], object] = lambda step: None
    """Is told each step of a search by gain."""

    def run(self) -> Explored:
        """Train the sets that the search chooses, and keep those that no other kept set can replace.

        Raises `LatticeError` if a score or parameter is out of range, too many sets are in doubt, or the trainings
        within the limits prove no promise.
        """
        self._scores: dict[int, float] = {}
        if self.lattice == "by-gain":
            return self._by_gain()
        if self.max_trainings is not None or self.max_seconds is not None:
            return self._limited()
        if self.tolerance is not None:
            return self._kept(self._expand(self.tolerance), self.alphas[0], self.tolerance)
        tolerance, wanted = -math.inf, 0.0
        while wanted > tolerance:  # sets that a larger tolerance adds may show larger violations
            tolerance = wanted
            expanded = self._expand(tolerance)
            wanted = max(tolerance, estimate_tolerance(expanded, self.quantile))
        return self._kept(expanded, self.alphas[0], tolerance)

    def _by_gain(self) -> Explored:
        score = self._remembered
        if self.max_trainings is not None or self.max_seconds is not None:
            limits = self.max_trainings, self.max_seconds, time.monotonic
            score = LimitedScore(score, min(1 << self.costs.n_features, 2), "the empty and the full set", *limits)
        found = expand_by_gain(
            self.costs,
            self.region,
            score,
            noise=self.errors.typical,
            batch=self.batch,
            shown=self.shown,
        )
        kept = select_within_noise(found.expanded, self.costs, self.region, self.errors, self.standard_errors)
        alpha = proven_alpha(found.expanded, self.costs, self.region, 0.0, kept)
        warn_if_all_is_noise(found.expanded, self.errors)
        if not self.errors.are_known(list(found.expanded)):  # then no margin can be told
            return Explored(found.expanded, kept, alpha, 0.0, steps=found.steps)
        margin = margin_of(found, kept, self.costs, self.region, self.errors)
        grounds = grounds_of(found, margin, self.errors)
        return Explored(found.expanded, kept, alpha, 0.0, margin, found.steps, grounds)

    def _limited(self) -> Explored:
        progress = expand_progressively(
            self.costs,
            self.region,
            self.score,
            alphas=self.alphas,
            tolerance=self.tolerance,
            quantile=self.quantile,
            batch=self.batch,
            max_trainings=self.max_trainings,
            max_seconds=self.max_seconds,
        )
        if progress.alpha == math.inf:
            raise LatticeError(
                f"The trainings must prove a promise for some alpha. {len(progress.expanded)} trainings prove none. "
                "Raise max_trainings or max_seconds."
            )
        return self._kept(progress.expanded, progress.alpha, progress.tolerance)

    def _expand(self, tolerance: float) -> dict[int, float]:
        alpha, n_features = self.alphas[0], self.costs.n_features
        match self.lattice:
            case "layers":
                return expand_layers(n_features, self._remembered, alpha=alpha, tolerance=tolerance)
            case "as-printed":
                return expand_as_printed(n_features, self._remembered, alpha=alpha, tolerance=tolerance)
            case "all":
                return expand_all(n_features, self._remembered)
        slacks = {"alpha": alpha, "tolerance": tolerance}
        return expand_best_first(
            self.costs, self.region, self._remembered, **slacks, batch=self.batch, known=self._scores
        )

    def _remembered(self, masks: list[int]) -> list[float]:
        new = [mask for mask in masks if mask not in self._scores]
        self._scores |= zip(new, self.score(new) if new else [], strict=True)
        return [self._scores[mask] for mask in masks]

    def _fits(self, mask: int) -> bool:
        return self.costs(mask)(self.region.sizes[0]) <= self.region.budgets[1]

    def _kept(self, expanded: dict[int, float], alpha: float, tolerance: float) -> Explored:
        if self.lattice == "best-first" and self.max_trainings is None and self.max_seconds is None:
            expanded = climb(expanded, self.costs.n_features, self._remembered, self._fits)
        if self.lattice == "as-printed":
            kept = select_as_printed(expanded, self.costs, self.region, alpha=alpha)
        else:
            kept = select_candidates(expanded, self.costs, self.region, alpha=alpha, tolerance=tolerance)
        return Explored(expanded, kept, alpha, tolerance)
