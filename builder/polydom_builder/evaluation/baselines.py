"""Two baselines without an index: one feature set for all items, or features added cheapest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from polydom_builder.bundling.export import Order, plan_order
from polydom_builder.displays.display import best_single
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.search import PolyDomSearch
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.policy.loaded_models import LoadedModels
from polydom_runtime.prediction import labels_of

from .labelled import Labelled


def best_single_set(search: PolyDomSearch, deadline: float) -> Order:
    """Return the feature set with the best held-out score among those that fit the largest item, hence every item."""
    largest = search.region_.sizes[1]
    region = QueryRegion((largest, largest), (deadline, deadline))
    scores = search.expanded_ | expand_best_first(
        search.set_costs_, region, search.trainer_.scores, tolerance=search.tolerance_
    )
    fitting = (mask for mask in scores if mask == 0 or search.set_costs_(mask)(largest) <= deadline)
    return plan_order(max(fitting, key=scores.__getitem__), search.times_, search.region_.typical_size)


@dataclass(frozen=True, slots=True)
class Baselines:
    """The answers of both baselines to test items, by planned costs; overruns are not counted against them."""

    best_single: Callable[[float], Order]
    """Returns the best set for all items, as an order of features, for a deadline in seconds."""
    chain: Order
    """All features, cheapest first."""
    cost: Callable[[int, float], float]
    """Returns the planned seconds of the whole answer of a set (a bit mask) to an item of some size."""
    answers: Callable[[Order], Sequence[Any]]
    """Returns the answers of the model of an order of features to all items."""
    sizes: Sequence[float]
    """The sizes of the test items."""

    def single(self, deadline: float) -> list[Any]:
        """Return the answers of the best single set that fits every item."""
        return list(self.answers(self.best_single(deadline)))

    def cheap_first(self, deadline: float) -> list[Any]:
        """Return the answers of the chain of features, cheapest first, each item cut off where its time ends."""
        masks = [sum(1 << i for i in self.chain[:k]) for k in range(len(self.chain) + 1)]

        @cache
        def reached(n: float) -> int:
            return max((k for k, mask in enumerate(masks) if self.cost(mask, n) <= deadline), default=0)

        return [self.answers(self.chain[: reached(n)])[k] for k, n in enumerate(self.sizes)]


def trained(search: PolyDomSearch, test: Labelled) -> Baselines:
    """Return the baselines of a fitted search, which trains any set that they need.

    `test`: the test items, with the features of the whole space of the search.
    """
    trainer, classes = search.trainer_, search.trainer_.table.classes
    places = search.space_.column_slices()

    @cache
    def answers(order: Order) -> Sequence[Any]:
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *(np.r_[places[i]] for i in sorted(order))])
        codes = trainer.codes(trainer.fit(order), np.ascontiguousarray(test.rows[:, columns]))
        found: list[Any] = (classes[codes] if len(classes) else codes).tolist()
        return found

    chain = plan_order((1 << len(search.space_)) - 1, search.times_, search.region_.typical_size)
    return Baselines(
        lambda deadline: best_single_set(search, deadline),
        chain,
        lambda mask, n: search.set_costs_(mask)(n),
        answers,
        test.sizes,
    )


def shipped(bundle: Bundle, test: Labelled) -> Baselines:
    """Return baselines by a bundle's models alone: for each set, the best one that reads no other features answers."""
    models, worst, largest = LoadedModels(bundle), bundle.times.worst, max(test.sizes)
    labels = labels_of(bundle)

    def single(deadline: float) -> Order:
        best = best_single((bundle.empty, *bundle.index.candidates), largest, deadline)
        return plan_order(best.mask, worst, largest)

    def cost(mask: int, n: float) -> float:
        return worst.of_set(mask)(n) + models.best(np.array([mask]))[0].model_ns * 1e-9

    @lru_cache(maxsize=64)
    def answers(order: Order) -> Sequence[Any]:
        model = models.best(np.array([sum(1 << i for i in order)]))[0]

        def answer(row: Any) -> Any:
            models.values[:] = row
            return labels[model.run()]

        return [answer(row) for row in test.rows]

    every = (1 << worst.n_features) - 1
    chain = plan_order(every, worst, float(np.median(test.sizes)))
    return Baselines(single, chain, cache(cost), answers, test.sizes)
