"""The default search: train the set that promises most until every feature set is settled."""

from collections.abc import Mapping
from itertools import islice

import numpy as np

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, Score, ask, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion

from .feasible import sets_in_doubt
from .open_sets import OpenSets
from .promise import Promise

AHEAD = 100
"""For every 100 trained sets, one more set is chosen at a time.

A choice takes time, and the more scores are known, the less a single one changes the next choice.
"""


def expand_best_first(
    costs: CostsOfSets,
    region: QueryRegion,
    score: Score,
    *,
    alpha: float = 1.0,
    tolerance: float = 0.0,
    batch: int = 1,
    known: Mapping[int, float] | None = None,
) -> dict[int, float]:
    """Train the empty set, the full set, then the most promising set until every set that fits is settled.

    S is settled, and never trained, when α·lb(S) >= ub(S). Here lb(S) is the highest score of a trained set that fits
    wherever S does, and ub(S) is the lowest score of a trained strict superset plus the tolerance. So for each query of
    the region and each set S that fits, some trained set fits too, and α times its score is at least the score of S.

    `costs`: a SetCosts, or any callable with ``n_features`` that returns the cost function of a mask; at most 60
    features. A set must cost at least as much as its subsets. A method ``weights(masks)`` that returns an array of
    shape ``(n_sets, 6)`` makes the search faster. `score`: ``score(masks)`` trains a list of at most `batch` sets and
    returns their scores. `alpha` (>= 1): α of Problem 1: the answer to a query may be worse than the best by this
    factor. `tolerance` (>= 0): e, by which the score of a subset may exceed that of a superset. `batch` (>= 1): number
    of sets to train at a time, none of them a subset of another. `known`: scores of sets that are trained already; they
    are not trained again.

    The result: score of each trained set, in the order of training, and of each known one. The full set is trained even
    if it does not fit, since its score bounds the scores of all others.

    Raises `LatticeError` if a parameter or a known set is out of range, a score is not finite, a score is negative with
    alpha > 1, or more than 4 million sets are in doubt.

    O(n_sets · n_features) once and O(n_sets) in each round, for n_sets sets that fit and are in doubt.

    Examples
    --------
    Three features cost 1, 2 and 4 times the item size. A set with feature 0 scores .8, the empty set .5, any other .6.
    The empty set settles no other, as .5 · 1.2 < .8. Feature 0 is the cheapest and scores as much as the full set, so
    it settles all other sets:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(linear=w) for w in (1, 2, 4)])
    >>> def score(masks):
    ...     return [0.8 if m & 1 else 0.6 if m else 0.5 for m in masks]
    >>> expand_best_first(costs, QueryRegion((1, 500)), score, alpha=1.2)
    {0: 0.5, 7: 0.8, 1: 0.8}
    """
    check_parameters(costs.n_features, alpha, tolerance, batch)
    search = _Search(costs, region, score, alpha, tolerance, batch)
    search.start(known or {})
    (masks, weights), _ = sets_in_doubt(costs, region, search.enough)
    open_sets = OpenSets(masks, Costs(weights, region), alpha, tolerance)
    promise, n_learned = Promise(costs, region), 0
    chosen: list[int] = []
    while True:
        for mask, value in islice(search.trained.items(), n_learned, None):
            open_sets.learn(mask, value, search.prepare([mask]))
        n_learned = len(search.trained)
        open_sets.compact()
        doubtful = open_sets.masks[open_sets.in_doubt()]
        if not doubtful.size:
            return search.trained
        # The last batch may have settled sets that were chosen with it.
        chosen = [mask for mask in chosen if mask in doubtful]
        if not chosen:
            chosen = promise.choose(open_sets, search.trained, max(batch, n_learned // AHEAD))
        search.train(chosen[:batch])
        chosen = chosen[batch:]


class _Search:
    """The trained sets of a search, and the training of further ones."""

    def __init__(
        self, costs: CostsOfSets, region: QueryRegion, score: Score, alpha: float, tolerance: float, batch: int
    ) -> None:
        self.costs, self.region, self.score = costs, region, score
        self.alpha, self.tolerance, self.batch = alpha, tolerance, batch
        self.full = (1 << costs.n_features) - 1
        self.trained: dict[int, float] = {}

    def start(self, known: Mapping[int, float]) -> None:
        """Train the empty and the full set and take over known scores; the surrogate needs the empty set first."""
        if wrong := [mask for mask in known if not 0 <= mask <= self.full]:
            raise LatticeError(
                f"Every known set must be a mask from 0 to {self.full}. Got {wrong[0]}. "
                "Give scores of sets of the same features."
            )
        masks = list(known)
        scores = dict(zip(masks, ask(lambda _: list(known.values()), masks, self.alpha), strict=True))
        self.trained = {mask: scores[mask] for mask in masks if mask == 0}
        self.train([mask for mask in dict.fromkeys((0, self.full)) if mask not in scores])
        self.trained.update(scores)

    def prepare(self, masks: list[int]) -> Costs:
        return Costs(weights_of(self.costs, np.array(masks, dtype=np.int64)), self.region)

    def train(self, masks: list[int]) -> None:
        masks = [mask for mask in masks if mask not in self.trained]
        for start in range(0, len(masks), self.batch):
            part = masks[start : start + self.batch]
            self.trained.update(zip(part, ask(self.score, part, self.alpha), strict=True))

    def enough(self) -> Costs:
        """Train a few cheap sets; return the costs of all trained sets that score within alpha of every set.

        No set scores more than the full set plus the tolerance, so every set that one of these covers is settled.
        """
        self._bisect_chain()
        return self.prepare([mask for mask, value in self.trained.items() if self._is_enough(value)])

    def _is_enough(self, value: float) -> bool:
        return self.alpha * value >= self.trained[self.full] + self.tolerance

    def _bisect_chain(self) -> None:
        """Find by bisection the smallest k for which the k cheapest features are enough; train the sets on the way."""
        middle = 0.5 * sum(self.region.sizes)
        cheap_first = sorted(range(self.costs.n_features), key=lambda i: self.costs(1 << i)(middle))
        low, high = 0, self.costs.n_features
        while high - low > 1:
            k = (low + high) // 2
            mask = sum(1 << i for i in cheap_first[:k])
            self.train([mask])
            low, high = (low, k) if self._is_enough(self.trained[mask]) else (k, high)
