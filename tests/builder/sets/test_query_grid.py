"""The grid of queries that stands for a region."""

import numpy as np

from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.costs import CostFunction


def test_where_costs_are_proportional_to_the_size_no_two_queries_are_alike() -> None:
    """The budgets of each size lie between those of the others, from the cheapest feature to all."""
    grid = QueryGrid.of(QueryRegion((10, 100)), SetCosts([CostFunction.of(linear=w) for w in (1.0, 9.0, 90.0)]))

    per_item = np.sort(grid.budgets / grid.terms[2])

    assert per_item.min() == 1.0
    assert np.isclose(per_item.max(), 100.0)
    assert np.max(per_item[1:] / per_item[:-1]) < 1.05


def test_a_feature_that_costs_nothing_leaves_the_budgets_of_the_others() -> None:
    grid = QueryGrid.of(QueryRegion((10, 100)), SetCosts([CostFunction.of(linear=w) for w in (0.0, 10.0, 90.0)]))

    per_item = grid.budgets / grid.terms[2]

    assert np.isclose(per_item.min(), 10.0)
    assert np.mean((per_item > 11.0) & (per_item < 99.0)) > 0.9


def test_one_query_is_enough_for_features_that_all_cost_nothing() -> None:
    grid = QueryGrid.of(QueryRegion((10, 100)), SetCosts([CostFunction.of(), CostFunction.of()]))

    assert not grid.budgets.any()
