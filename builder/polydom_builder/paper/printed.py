"""The paper's pseudo-code as printed, Expand-Enumerate and Candidate-Set-Construction: references, faults and all."""

from collections.abc import Mapping, Sequence

import numpy as np

from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice.covers import Costs
from polydom_builder.lattice.inputs import CostsOfSets, Score, ask, check_parameters, weights_of
from polydom_builder.lattice.region import QueryRegion, evaluate

from .layers import MAX_DENSE_FEATURES


def expand_as_printed(n_features: int, score: Score, *, alpha: float = 1.0, tolerance: float = 0.0) -> dict[int, float]:
    """Train what the paper's Expand-Enumerate trains, to see what it costs and what it loses.

    A set is sandwiched, and not trained, when α·(a(F_i) - e) >= a(F_k) for a strict subset F_i in the bottom frontier
    and a strict superset F_k in the top frontier. Training a set drops its parents from the top frontier, or its
    children from the bottom one, and makes its other neighbours the next to be looked at. Two faults follow:

    - A set dropped from a frontier is no witness any more, so more is trained than the paper's own figure draws.
    - A set whose neighbours are all sandwiched is never looked at, though no pair sandwiches the set itself. The best
      set can be lost, and with it the promise of α.

    `expand_layers` is this search made complete; `expand_best_first` is the one to use.

    Parameters
    ----------
    n_features : int
        At most 24.
    score : callable
        ``score(masks)`` trains a list of sets, all of one layer, and returns their scores.
    alpha : float, >= 1
        α of Problem 1.
    tolerance : float, >= 0
        e, by which the score of a subset may exceed that of a superset.

    Returns
    -------
    dict of int to float
        Score of each trained set, in the order of training.

    Raises
    ------
    LatticeError
        If there are too many features, a parameter is out of range, or a score is impossible.

    Notes
    -----
    O(frontier) for each set looked at. The sets of a layer come in a random order, the same each time: the paper's
    active sets have none, and it matters, for each set that is trained takes witnesses from those after it.

    Examples
    --------
    Feature 0 alone scores 0.8, so does every set with it; the rest 0.5. All eight sets are trained. `expand_layers`
    spares {0, 1} and {0, 2}, which lie between {0} and the full set:

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
    """What was trained, and the two frontiers."""

    def __init__(self, n_features: int, score: Score, alpha: float, tolerance: float) -> None:
        self.score, self.alpha, self.tolerance = score, alpha, tolerance
        self.features = [1 << i for i in range(n_features)]
        self.top, self.bottom = _Frontier(), _Frontier()
        self.rng = np.random.default_rng(0)
        self.trained: dict[int, float] = {}

    def expand_top(self, active: list[int]) -> list[int]:
        """Train what is not sandwiched; return the children."""
        chosen = self._expand(active, self.top)
        return sorted({mask ^ f for mask in chosen for f in self.features if mask & f})

    def expand_bottom(self, active: list[int]) -> list[int]:
        """Train what is not sandwiched; return the parents."""
        chosen = self._expand(active, self.bottom)
        return sorted({mask | f for mask in chosen for f in self.features if not mask & f})

    def _expand(self, active: list[int], frontier: "_Frontier") -> list[int]:
        """Choose set by set, but train all at once: the scores of a layer say nothing about the layer."""
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
    """The trained sets at the boundary that one end of the lattice has grown to."""

    def __init__(self) -> None:
        self.masks = np.empty(0, dtype=np.int64)
        self.scores = np.empty(0)

    def add(self, masks: Sequence[int], scores: Sequence[float]) -> None:
        self.masks = np.append(self.masks, np.array(masks, dtype=np.int64))
        self.scores = np.append(self.scores, scores)

    def drop_neighbours(self, mask: int) -> None:
        """Drop the sets that differ in one feature: all come from the layer before, the frontier's own end."""
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

    R dominates S when R fits wherever S does (c(R, n) <= c(S, n) for all sizes n, if any budget may be asked for) and
    α·a(R) >= a(S). Three faults, kept:

    - R may itself be dropped, by a set that is worse than S by more than α: so α compounds.
    - Two sets of equal cost whose scores are within α remove each other, and both are gone; no tie is broken.
    - An untrained set counts on its lower witness, which may be dropped: α compounds once more.

    Only the empty set always stays, so that there is an answer. `select_candidates` is the one to use.

    Parameters
    ----------
    expanded : mapping of int to float
        Score of each trained set.
    costs : CostsOfSets
    region : QueryRegion
    alpha : float, >= 1
        α of Problem 1.

    Returns
    -------
    list of int
        The masks that stay, in the order of `expanded`.

    Raises
    ------
    LatticeError
        If alpha is out of range.

    Notes
    -----
    O(trained²) tests of *covers* at worst; about O(trained · kept), for a removed set is not tested again.

    Examples
    --------
    Costs 0, 1, 1 and 2, α = 1.1. The single features, of equal cost and score, remove each other; they also remove the
    full set, .77 · 1.1 >= .846. The answer to the budget 2 scores .69 instead of .846 / 1.1 = .769:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.costs.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(1)])
    >>> expanded = {0: 0.69, 1: 0.77, 2: 0.77, 3: 0.846}
    >>> select_as_printed(expanded, costs, QueryRegion((1, 100)), alpha=1.1)
    [0]
    """
    check_parameters(costs.n_features, alpha, tolerance=0.0)
    masks = np.array(list(expanded), dtype=np.int64)
    scores = np.array(list(expanded.values()), dtype=np.float64)
    prepared = Costs(weights_of(costs, masks), region)
    typical = evaluate(prepared.weights, np.full(len(masks), region.typical_size))
    stays, left = np.ones(len(masks), dtype=np.bool_), np.arange(len(masks))
    for row in np.argsort(typical, kind="stable").tolist():  # the cheap remove most: few are left to test soon
        good = left[(alpha * scores[row] >= scores[left]) & (left != row)]
        stays[good[prepared.take(good).covered_by(prepared, row)]] = False
        left = left[stays[left]]
    result: list[int] = masks[stays | (masks == 0)].tolist()
    return result
