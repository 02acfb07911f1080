"""The choices that an index makes: which set answers a query, and which sets it was chosen among."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Floats, Masks
from polydom_runtime.bundles.index import PolyDomIndex
from polydom_runtime.costs import basis_terms


class Choice(NamedTuple):
    """A query, and the set that is the best answer to it."""

    mask: int
    size: float
    budget: float


def choices_of(index: PolyDomIndex, region: QueryRegion) -> list[Choice]:
    """Return a query for each range of sizes in which a set is the best answer: at its middle, and a middle budget."""
    found, (least, most) = [], region.budgets
    for interval in index.intervals:
        candidate = index.candidates[interval.candidate]
        if candidate.mask:
            size = float(np.expm1(0.5 * (np.log1p(interval.start) + np.log1p(interval.end))))
            own = candidate.cost(size)
            better = [c.cost(size) for c in index.candidates if c.accuracy > candidate.accuracy]
            middle = 0.5 * (own + min(better, default=np.inf))
            found.append(Choice(candidate.mask, size, min(max(middle, own, least), most)))
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

    def among(self, choice: Choice) -> NDArray[np.intp]:
        """Return the rows of the sets that fit a query; the empty set and the one that was chosen always do."""
        fits = self.weights @ basis_terms(choice.size) <= choice.budget
        return np.flatnonzero(fits | (self.masks == 0) | (self.masks == choice.mask))

    def best(self, choice: Choice) -> int:
        """Return the mask of the set with the highest score that fits a query."""
        rows = self.among(choice)
        return int(self.masks[rows[self.scores[rows].argmax()]])
