"""The feature sets that can still matter: an order ideal, enumerated layer by layer."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError

from .covers import Costs
from .inputs import CostsOfSets, weights_of
from .region import QueryRegion, evaluate

Sets = tuple[NDArray[np.int64], NDArray[np.float64]]

MAX_SETS = 1 << 22
"""Their costs and bounds take about 0.5 GB."""

EASY_SETS = 1 << 16
"""As many are enumerated without a thought of leaving some out."""

_BLOCK = 1 << 16


def feasible_sets(costs: CostsOfSets, region: QueryRegion, enough: Costs, limit: int = MAX_SETS) -> Sets | None:
    """Return the sets that fit somewhere in the region and that no set of `enough` covers; None if over `limit`.

    With S every superset of S is left out, so the sets form an order ideal: each has its subsets beside it, and is
    reached once, by adding its features in rising order.

    Parameters
    ----------
    costs : CostsOfSets
    region : QueryRegion
    enough : Costs
        Trained sets so good that whatever they cover need not be trained.
    limit : int

    Returns
    -------
    array of shape (n_sets,), by number of features, and their weights of shape (n_sets, 6); or None

    Notes
    -----
    O(F · n_sets) costs are evaluated.

    Examples
    --------
    Three features that cost 1, 2, 4 and a budget of 5:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.costs.set_costs import SetCosts
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
    """Return the feasible sets, without those that `enough` covers if they are many, and whether these are left out.

    Raises
    ------
    LatticeError
        If there are too many all the same.
    """
    sets = feasible_sets(costs, region, Costs(np.empty((0, 6)), region), EASY_SETS)
    if sets is not None:
        return sets, False
    sets = feasible_sets(costs, region, enough())
    if sets is None:
        raise LatticeError(
            f"At most {MAX_SETS:,} feature sets may fit the region and be in doubt. There are more. "
            "Lower the deadline (the largest budget), raise alpha, or use fewer features."
        )
    return sets, True


def _keep(costs: CostsOfSets, region: QueryRegion, enough: Costs, masks: NDArray[np.int64]) -> Sets:
    weights = weights_of(costs, masks)
    keep = evaluate(weights, np.full(len(masks), region.sizes[0])) <= region.budgets[1]
    if len(enough.weights):
        prepared = Costs(weights, region)
        for row in range(len(enough.weights)):
            keep &= ~prepared.covered_by(enough, row)
    return masks[keep], weights[keep]
