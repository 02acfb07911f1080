"""Two baselines without an index: one feature set for all items, or features added cheapest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.bundling.export import plan_order
from polydom_builder.lattice import expand_best_first
from polydom_builder.lattice.region import QueryRegion
from polydom_builder.search import PolyDomSearch
from polydom_builder.training.table import Table

Order = tuple[int, ...]


def best_single_set(search: PolyDomSearch, deadline: float) -> Order:
    """Return the feature set with the best held-out score among those that fit the largest item, hence every item."""
    largest = search.region_.sizes[1]
    region = QueryRegion((largest, largest), (deadline, deadline))
    scores = search.expanded_ | expand_best_first(
        search.set_costs_, region, search.trainer_.scores, tolerance=search.tolerance_
    )
    fitting = (mask for mask in scores if mask == 0 or search.set_costs_(mask)(largest) <= deadline)
    return plan_order(max(fitting, key=scores.__getitem__), search.times_, search.region_.typical_size)


@dataclass
class Baselines:
    """Accuracies of the baselines on test items, by planned costs; overruns are not counted against them.

    Parameters
    ----------
    search : PolyDomSearch
        Fitted; the baselines use its costs and its trainer.
    test : Table
        Test items with the same features and classes.
    sizes : sequence of float
        Of the test items.
    """

    search: PolyDomSearch
    test: Table
    sizes: Sequence[float]

    def __post_init__(self) -> None:
        self._predicted: dict[Order, NDArray[Any]] = {}

    def single(self, deadline: float) -> float:
        """Return the accuracy of the best single set that fits every item."""
        return self._accuracy([best_single_set(self.search, deadline)] * len(self.sizes))

    def cheap_first(self, deadline: float) -> float:
        """Return the accuracy of the chain of features, cheapest first, each item cut off where its budget ends."""
        chain = plan_order((1 << len(self.search.space)) - 1, self.search.times_, self.search.region_.typical_size)
        costs = [self.search.set_costs_(sum(1 << i for i in chain[:k])) for k in range(len(chain) + 1)]
        return self._accuracy(
            [chain[: max((k for k, cost in enumerate(costs) if cost(n) <= deadline), default=0)] for n in self.sizes]
        )

    def _accuracy(self, orders: Sequence[Order]) -> float:
        answers = [self._predict(order)[i] for i, order in enumerate(orders)]
        return float(np.mean(np.array(answers) == self.test.targets))

    def _predict(self, order: Order) -> NDArray[Any]:
        if order not in self._predicted:
            trainer = self.search.trainer_
            self._predicted[order] = trainer.codes(trainer.fit(order), self.test.rows_of(order))
        return self._predicted[order]
