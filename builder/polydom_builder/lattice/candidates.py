"""The selection of candidates: the trained sets that the index is built from."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion, costs_at_sizes
from polydom_runtime.arrays import Floats

from .feasible import sets_in_doubt
from .proof import upper_witnesses


def select_candidates(
    expanded: Mapping[int, float],
    costs: CostsOfSets,
    region: QueryRegion,
    *,
    alpha: float = 1.0,
    tolerance: float = 0.0,
) -> list[int]:
    """Drop every trained set that a kept set can replace; return masks, each after those that cover it.

    A trained set S answers for the untrained sets whose lower witness it is. So a kept set R that covers S may replace
    it only if alpha * a(R) >= u(S), the responsibility of S: the highest score that S or one of these sets may have.
    If a(S) were enough, or R could be dropped too, the answer might be worse than the best by alpha twice, or more
    often. Sets that fit nowhere are excluded, except the empty set.

    O(trained · feasible) tests of *covers* at worst; after the first witnesses few untrained sets remain.

    The sets cost 0, 1, 1 and 2, and alpha = 1.1. The empty set replaces the single features, as .701 · 1.1 >= .77, but
    not the full set, as .701 · 1.1 < .846. A single feature would do for that, as .77 · 1.1 >= .846, but is dropped
    itself:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(1)])
    >>> expanded = {0: 0.701, 1: 0.77, 2: 0.77, 3: 0.846}
    >>> select_candidates(expanded, costs, QueryRegion((1, 100)), alpha=1.1)
    [0, 3]
    """
    check_parameters(costs.n_features, alpha, tolerance)
    full = (1 << costs.n_features) - 1
    if not {0, full} <= expanded.keys():
        raise LatticeError(f"The empty and the full set must be among the expanded sets. Got {len(expanded)} without.")
    masks = np.array(list(expanded), dtype=np.int64)
    scores = np.array(list(expanded.values()), dtype=np.float64)
    weights = weights_of(costs, masks)
    order = rising(masks, weights, region)
    masks, scores, prepared = masks[order], scores[order], Costs(weights[order], region)

    enough = alpha * scores >= expanded[full] + tolerance
    (fitting, weights), pruned = sets_in_doubt(costs, region, lambda: prepared.take(enough))
    untrained = ~np.isin(fitting, masks)
    unassigned = Costs(weights[untrained], region)
    _, upper = upper_witnesses(fitting[untrained], expanded, tolerance)
    duty = _responsibility(scores, prepared, upper, unassigned)
    if pruned:
        # Sets that were not enumerated have one of these as lower witness; they score at most the full set's bound.
        duty[enough] = np.maximum(duty[enough], expanded[full] + tolerance)
    kept: list[int] = masks[_keep(masks, scores, prepared, duty, alpha)].tolist()
    return kept


def rising(masks: NDArray[np.int64], weights: Floats, region: QueryRegion) -> NDArray[np.intp]:
    """Return an order in which each set comes after those that cover it; ties by cost, number of features, mask."""
    near, far = (costs_at_sizes(weights, np.full(len(masks), n)) for n in region.sizes)
    low, high = region.budgets
    clipped = [np.where(cost > high, np.inf, np.maximum(cost, low)) for cost in (near, far)]
    reach = Costs(weights, region).far
    return np.lexsort((masks, np.bitwise_count(masks), near, far, *clipped, -reach))


def _responsibility(scores: Floats, prepared: Costs, upper: Floats, unassigned: Costs) -> Floats:
    """Return u(S) of each trained set: its score, or the highest upper bound of a set that it is lower witness of."""
    duty = scores.copy()
    for row in np.argsort(-scores, kind="stable").tolist():
        if upper.size == 0:
            break
        covered = unassigned.covered_by(prepared, row)
        if covered.any():
            duty[row] = max(duty[row], upper[covered].max())
            upper, unassigned = upper[~covered], unassigned.take(~covered)
    return duty


def _keep(masks: NDArray[np.int64], scores: Floats, prepared: Costs, duty: Floats, alpha: float) -> list[int]:
    """Walk through the sets by rising cost and return the rows kept; each kept set drops those that it can replace."""
    dropped = np.isneginf(prepared.far) & (masks != 0)
    kept = []
    for row in range(len(masks)):
        if dropped[row]:
            continue
        kept.append(row)
        later = row + 1 + np.flatnonzero(~dropped[row + 1 :] & (alpha * scores[row] >= duty[row + 1 :]))
        dropped[later] = prepared.take(later).covered_by(prepared, row)
    return kept
