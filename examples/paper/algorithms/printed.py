"""The paper's pseudo-code exactly as printed, faults included: Expand-Enumerate and Candidate-Set-Construction."""

from collections.abc import Mapping, Sequence

import numpy as np

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, ScoreSets, ask, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion, costs_at_sizes

from .layers import MAX_DENSE_FEATURES


def expand_as_printed(
    n_features: int, score: ScoreSets, *, alpha: float = 1.0, tolerance: float = 0.0
) -> dict[int, float]:
    """Train the sets that the paper's Expand-Enumerate trains, to see its cost and the sets that it loses.

    A set is sandwiched, and not trained, when α·(a(F_i) - e) >= a(F_k) for a strict subset F_i in the bottom frontier
    and a strict superset F_k in the top frontier. Training a set from the top drops its parents from the top frontier
    and visits its children next; training a set from the bottom does the reverse. Two faults follow:

    - A set that is dropped from a frontier is no longer a witness, so more sets are trained than the paper's own figure
      shows.
    - A set whose neighbours are all sandwiched is never visited, even if it is not sandwiched itself. The best set can
      be lost, and with it the promise of α.

    `expand_layers` corrects both; `expand_best_first` is the search to use.

    Returned is the score of each trained set, in the order of training. Sets are trained together if they are of one
    layer.

    Raises `LatticeError` if there are more than 24 features.

    O(frontier) for each set visited. The paper gives no order within a layer, but the order matters: each set that is
    trained removes witnesses of the sets after it. Here the order is random and the same in every run.

    Examples
    --------
    Every set with feature 0 scores .8, all others .5. All eight sets are trained, while `expand_layers` does not train
    {0, 1} and {0, 2}, which are sandwiched between {0} and the full set:

    >>> len(expand_as_printed(3, lambda masks: [0.8 if m & 1 else 0.5 for m in masks]))
    8
    """
    check_parameters(n_features, alpha, tolerance)
    if n_features > MAX_DENSE_FEATURES:
        raise LatticeError(
            f"The search as printed must have at most {MAX_DENSE_FEATURES} features. Got {n_features}. "
            "Use expand_best_first with a deadline, or fewer features."
        )
    search = _Printed(n_features, score, alpha, tolerance)
    active_top, active_bottom = [(1 << n_features) - 1], [0]
    while active_top or active_bottom:
        active_top = search.expand_top(active_top)
        active_bottom = search.expand_bottom(active_bottom)
    return search.trained


class _Printed:
    """The trained sets and the two frontiers."""

    def __init__(self, n_features: int, score: ScoreSets, alpha: float, tolerance: float) -> None:
        self.score, self.alpha, self.tolerance = score, alpha, tolerance
        self.features = [1 << i for i in range(n_features)]
        self.top, self.bottom = _Frontier(), _Frontier()
        self.rng = np.random.default_rng(0)
        self.trained: dict[int, float] = {}

    def expand_top(self, active: list[int]) -> list[int]:
        """Train the active sets that are not sandwiched; return their children."""
        chosen = self._expand(active, self.top)
        return sorted({mask ^ f for mask in chosen for f in self.features if mask & f})

    def expand_bottom(self, active: list[int]) -> list[int]:
        """Train the active sets that are not sandwiched; return their parents."""
        chosen = self._expand(active, self.bottom)
        return sorted({mask | f for mask in chosen for f in self.features if not mask & f})

    def _expand(self, active: list[int], frontier: "_Frontier") -> list[int]:
        """Choose the sets one by one, then train them together: scores of a layer are no witnesses within the layer."""
        chosen: list[int] = []
        for mask in self.rng.permutation(active).tolist():
            if mask not in self.trained and not self._is_sandwiched(mask):
                chosen.append(mask)
                frontier.drop_neighbours(mask)
        if chosen:
            scores = ask(self.score, chosen, self.alpha)
            frontier.add(chosen, scores)
            self.trained.update(zip(chosen, scores, strict=True))
        return chosen

    def _is_sandwiched(self, mask: int) -> bool:
        lower, upper = self.bottom.best_subset(mask), self.top.least_superset(mask)
        return self.alpha * (lower - self.tolerance) >= upper


class _Frontier:
    """The trained sets at the boundary that the search has reached from one end of the lattice."""

    def __init__(self) -> None:
        self.masks = np.empty(0, dtype=np.int64)
        self.scores = np.empty(0)

    def add(self, masks: Sequence[int], scores: Sequence[float]) -> None:
        self.masks = np.append(self.masks, np.array(masks, dtype=np.int64))
        self.scores = np.append(self.scores, scores)

    def drop_neighbours(self, mask: int) -> None:
        """Drop the sets that differ from `mask` in one feature; all of them belong to the layer visited before."""
        keep = np.bitwise_count(self.masks ^ mask) != 1
        self.masks, self.scores = self.masks[keep], self.scores[keep]

    def best_subset(self, mask: int) -> float:
        return float(self.scores[(self.masks & ~mask) == 0].max(initial=-np.inf))

    def least_superset(self, mask: int) -> float:
        return float(self.scores[(mask & ~self.masks) == 0].min(initial=np.inf))


def select_as_printed(
    expanded: Mapping[int, float], costs: CostsOfSets, region: QueryRegion, *, alpha: float = 1.0
) -> list[int]:
    """Drop every trained set that some trained set dominates, as the paper's Candidate-Set-Construction does.

    R dominates S when R fits wherever S does (c(R, n) <= c(S, n) for all sizes n, if the region holds all budgets) and
    α·a(R) >= a(S). The three faults of the paper are kept:

    - R may be dropped too, because of a set that is worse than S by more than α. So α compounds.
    - Two sets of equal cost whose scores are within α remove each other, as ties are not broken.
    - An untrained set depends on its lower witness, which may be dropped. So α compounds once more.

    The empty set always stays, so that every query has an answer. The masks that stay are in the order of `expanded`.
    `select_candidates` is the function to use.

    O(trained²) tests of *covers* at worst; about O(trained · kept), as a removed set is not tested again.

    Examples
    --------
    Costs 0, 1, 1 and 2, α = 1.1. The single features, of equal cost and score, remove each other; they also remove the
    full set, .77 · 1.1 >= .846. The answer to the budget 2 scores .69 instead of .846 / 1.1 = .769:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(1)])
    >>> expanded = {0: 0.69, 1: 0.77, 2: 0.77, 3: 0.846}
    >>> select_as_printed(expanded, costs, QueryRegion((1, 100)), alpha=1.1)
    [0]
    """
    check_parameters(costs.n_features, alpha, tolerance=0.0)
    masks = np.array(list(expanded), dtype=np.int64)
    scores = np.array(list(expanded.values()), dtype=np.float64)
    prepared = Costs(weights_of(costs, masks), region)
    typical = costs_at_sizes(prepared.weights, np.full(len(masks), region.typical_size))
    stays, left = np.ones(len(masks), dtype=np.bool_), np.arange(len(masks))
    for row in np.argsort(typical, kind="stable").tolist():  # the cheap remove most: few are left to test soon
        good = left[(alpha * scores[row] >= scores[left]) & (left != row)]
        stays[good[prepared.take(good).covered_by(prepared, row)]] = False
        left = left[stays[left]]
    result: list[int] = masks[stays | (masks == 0)].tolist()
    return result
