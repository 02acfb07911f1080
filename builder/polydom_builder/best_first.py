"""The search that ships: train what promises most until every feature set is settled."""

import numpy as np

from .feasible import sets_in_doubt
from .lattice_inputs import CostsOfSets, Score, ask, check_parameters, weights_of
from .open_sets import OpenSets
from .promise import Promise
from .region import Costs, QueryRegion


def expand_best_first(
    costs: CostsOfSets,
    region: QueryRegion,
    score: Score,
    *,
    alpha: float = 1.0,
    tolerance: float = 0.0,
    batch: int = 1,
) -> dict[int, float]:
    """Train the empty set, the full set, then the most promising sets until every set is settled."""
    check_parameters(costs.n_features, alpha, tolerance, batch)
    full = (1 << costs.n_features) - 1
    trained: dict[int, float] = {}

    def train(masks: list[int]) -> None:
        for start in range(0, len(masks), batch):
            part = masks[start : start + batch]
            trained.update(zip(part, ask(score, part, alpha), strict=True))

    train(list(dict.fromkeys((0, full))))

    def enough() -> Costs:
        _train_cheap_chain(costs, region, trained, train, lambda a: alpha * a >= trained[full] + tolerance)
        good = [m for m, a in trained.items() if alpha * a >= trained[full] + tolerance]
        return Costs(weights_of(costs, np.array(good, dtype=np.int64)), region)

    masks, _ = sets_in_doubt(costs, region, enough)
    open_sets = OpenSets(masks, Costs(weights_of(costs, masks), region), alpha, tolerance)
    learned = 0
    promise = Promise(costs, region, alpha, tolerance)
    while True:
        for mask, a in list(trained.items())[learned:]:
            open_sets.learn(mask, a, Costs(weights_of(costs, np.array([mask])), region))
        learned = len(trained)
        open_sets.compact()
        if not open_sets.masks.size:
            return trained
        train(promise.choose(open_sets, trained, batch))


def _train_cheap_chain(costs, region, trained, train, enough) -> None:
    """Bisect the chain of cheapest features for its smallest set that is good enough."""
    middle = np.array([0.5 * sum(region.sizes)])
    price = [costs(1 << i)(middle[0]) for i in range(costs.n_features)]
    order = sorted(range(costs.n_features), key=price.__getitem__)
    low, high = 0, costs.n_features
    while high - low > 1:
        k = (low + high) // 2
        mask = sum(1 << i for i in order[:k])
        train([mask])
        low, high = (low, k) if enough(trained[mask]) else (k, high)
