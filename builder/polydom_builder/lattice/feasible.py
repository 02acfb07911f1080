"""The feature sets that a search must look at, enumerated layer by layer: they form an order ideal."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.region import QueryRegion, costs_at_sizes

Sets = tuple[NDArray[np.int64], NDArray[np.float64]]

MAX_DOUBTFUL = 1 << 22
"""The costs and bounds of this number of sets take about 0.5 GB."""

EASY_SETS = 1 << 16
"""Up to this number of sets that fit, all are enumerated, without excluding those that good sets cover."""

_BLOCK = 1 << 16


def feasible_sets(costs: CostsOfSets, region: QueryRegion, enough: Costs, limit: int = MAX_DOUBTFUL) -> Sets | None:
    """Return the sets that fit somewhere in the region and that no set of `enough` covers; None if more than `limit`.

    They are masks by number of features, shape ``(n_sets,)``, and the weights of their costs, shape ``(n_sets, 6)``. A
    set that is excluded excludes all of its supersets, so every subset of a returned set is returned. Each is reached
    once, by adding its features in rising order: O(F · n_sets) costs, and for each set of `enough` a test of *covers*
    on each.

    Three features that cost 1, 2, 4 and a budget of 5:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(2), CostFunction.of(4)])
    >>> region = QueryRegion((1, 9), (5, 5))
    >>> feasible_sets(costs, region, Costs(np.empty((0, 6)), region))[0]
    array([0, 1, 2, 4, 3, 5])
    """
    first = _keep(costs, region, enough, np.zeros(1, dtype=np.int64))
    blocks, layer, count = [first], first[0], len(first[0])
    while layer.size:
        grown = [layer[:0]]
        for i in range(costs.n_features):
            children = layer[layer < 1 << i] | 1 << i
            for start in range(0, children.size, _BLOCK):
                blocks.append(_keep(costs, region, enough, children[start : start + _BLOCK]))
                grown.append(blocks[-1][0])
                count += grown[-1].size
                if count > limit:
                    return None
        layer = np.concatenate(grown)
    masks, weights = zip(*blocks, strict=True)
    return np.concatenate(masks), np.concatenate(weights)


def sets_in_doubt(costs: CostsOfSets, region: QueryRegion, enough: Callable[[], Costs]) -> tuple[Sets, bool]:
    """Return the sets that fit, and whether those that `enough` covers are left out: if more than 65,536 fit."""
    sets = feasible_sets(costs, region, Costs(np.empty((0, 6)), region), EASY_SETS)
    if sets is not None:
        return sets, False
    sets = feasible_sets(costs, region, enough(), MAX_DOUBTFUL)
    if sets is None:
        raise LatticeError(
            f"At most {MAX_DOUBTFUL:,} feature sets may fit the region and be in doubt. There are more. "
            "Lower the deadline (the largest budget), raise alpha, or use fewer features."
        )
    return sets, True


def _keep(costs: CostsOfSets, region: QueryRegion, enough: Costs, masks: NDArray[np.int64]) -> Sets:
    weights = weights_of(costs, masks)
    keep = costs_at_sizes(weights, np.full(len(masks), region.sizes[0])) <= region.budgets[1]
    if len(enough.weights):
        prepared = Costs(weights, region)
        for row in range(len(enough.weights)):
            keep &= ~prepared.covered_by(enough, row)
    return masks[keep], weights[keep]
