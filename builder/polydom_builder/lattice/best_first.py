"""The search that proves a promise: train the set that promises most until every feature set is settled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, ScoreSets, ask, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion

from .feasible import sets_in_doubt
from .promising_sets import OpenSets, PromisingSets

AHEAD = 100
"""One more set is chosen at a time after each 100 trained ones: the more scores are known, the less a single one
changes the next choice."""


def expand_best_first(
    costs: CostsOfSets,
    region: QueryRegion,
    score: ScoreSets,
    *,
    alpha: float = 1.0,
    tolerance: float = 0.0,
    batch: int = 1,
    known: Mapping[int, float] | None = None,
) -> dict[int, float]:
    """Train the empty, the full, then the most promising set until every set that fits is settled; return all scores.

    S is settled, and never trained, when α·lb(S) >= ub(S): lb(S) is the highest score of a trained set that fits
    wherever S does, ub(S) the lowest score of a trained strict superset plus the tolerance. So for each query and each
    set that fits, some trained set fits too, and α times its score is at least that of the set. The full set bounds
    the scores of all others, so it is trained even if it does not fit.

    Up to `batch` sets, none a subset of another, are trained at a time. O(n_sets · n_features) once and O(n_sets) in
    each round, for n_sets sets that fit and are in doubt.

    Three features cost 1, 2 and 4 times the item size. The empty set settles no other, as .5 · 1.2 < .8. Feature 0 is
    the cheapest and scores as much as the full set, so it settles all other sets:

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
    promising, n_learned = PromisingSets(costs, region), 0
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
            chosen = promising.choose(open_sets, search.trained, max(batch, n_learned // AHEAD))
        search.train(chosen[:batch])
        chosen = chosen[batch:]


def climb(
    expanded: Mapping[int, float],
    n_features: int,
    score: ScoreSets,
    fits: Callable[[int], bool],
) -> dict[int, float]:
    """Add or drop single features of the best set as long as the score rises; return all scores, with the new ones.

    Bounds assume that a superset scores at least as much, less the tolerance. Where this is wrong, a neighbour of the
    best set may score more than all trained sets. If no set scores more than the full set, there is no sign of it, and
    nothing is trained. At most F trainings for each step, and F for the last one.

    >>> scores = [0.1, 0.5, 0.6, 0.4, 0.2, 0.3, 0.9, 0.7]
    >>> climb({0: 0.1, 3: 0.4, 2: 0.6, 7: 0.5}, 3, lambda masks: [scores[m] for m in masks], lambda mask: True)
    {0: 0.1, 3: 0.4, 2: 0.6, 7: 0.5, 6: 0.9, 4: 0.2}
    """
    known = dict(expanded)
    full = (1 << n_features) - 1
    best = max(known, key=lambda mask: (known[mask], -mask.bit_count()))
    while known[best] > known[full]:
        near = [best ^ 1 << i for i in range(n_features)]
        new = [mask for mask in near if mask not in known and fits(mask)]
        known |= zip(new, ask(score, new, alpha=1.0) if new else [], strict=True)
        following = max((m for m in near if m in known), key=known.__getitem__, default=best)
        if known[following] <= known[best]:
            break
        best = following
    return known


@dataclass
class _Search:
    """The trained sets of a search, and the training of further ones."""

    costs: CostsOfSets
    region: QueryRegion
    score: ScoreSets
    alpha: float
    tolerance: float
    batch: int
    trained: dict[int, float] = field(default_factory=dict)

    def start(self, known: Mapping[int, float]) -> None:
        """Take over known scores, and train the empty and the full set."""
        full = (1 << self.costs.n_features) - 1
        if wrong := [mask for mask in known if not 0 <= mask <= full]:
            raise LatticeError(
                f"Every known set must be a mask from 0 to {full}. Got {wrong[0]}. "
                "Give scores of sets of the same features."
            )
        masks = list(known)
        self.trained.update(zip(masks, ask(lambda _: list(known.values()), masks, self.alpha), strict=True))
        self.train(list(dict.fromkeys((0, full))))
        self._bound = self.trained[full] + self.tolerance

    def prepare(self, masks: list[int]) -> Costs:
        return Costs(weights_of(self.costs, np.array(masks, dtype=np.int64)), self.region)

    def train(self, masks: list[int]) -> None:
        masks = [mask for mask in masks if mask not in self.trained]
        for start in range(0, len(masks), self.batch):
            part = masks[start : start + self.batch]
            self.trained.update(zip(part, ask(self.score, part, self.alpha), strict=True))

    def enough(self) -> Costs:
        """Train a few cheap sets; return the costs of all trained sets that score within alpha of every set."""
        self._bisect_chain()
        return self.prepare([mask for mask in self.trained if self._is_enough(mask)])

    def _is_enough(self, mask: int) -> bool:
        return self.alpha * self.trained[mask] >= self._bound

    def _bisect_chain(self) -> None:
        """Find by bisection the smallest k for which the k cheapest features are enough; train the sets on the way."""
        middle = 0.5 * sum(self.region.sizes)
        cheap_first = sorted(range(self.costs.n_features), key=lambda i: self.costs(1 << i)(middle))
        low, high = 0, self.costs.n_features
        while high - low > 1:
            k = (low + high) // 2
            mask = sum(1 << i for i in cheap_first[:k])
            self.train([mask])
            low, high = (low, k) if self._is_enough(mask) else (k, high)
