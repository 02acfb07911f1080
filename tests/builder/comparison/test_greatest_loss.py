"""The greatest loss between two indexes: no answer of any size and deadline loses more."""

import math
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.comparison.greatest_loss import Index, greatest_loss
from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction
from tests.draws import draws
from tests.property.cost_strategies import candidates, integer_costs, queries, real_costs, regions

Case = tuple[Index, Index, QueryRegion, list[tuple[float, float]]]

ROUNDING = 2e-9
EMPTY = Candidate(0, (), 0.5, CostFunction.of())


def loss(before: Index, after: Index, deadline: float, size: float) -> float:
    return before.best(size, deadline).accuracy - after.best(size, deadline).accuracy


@st.composite
def sequences(draw: st.DrawFn, costs: st.SearchStrategy[CostFunction]) -> GreedyIndex:
    """One or two sequences of features, whose scores may fall; each feature adds its cost."""
    found = []
    for order in draw(st.lists(st.permutations(range(3)), min_size=1, max_size=2)):
        sums = accumulate((draw(costs) for _ in order), initial=EMPTY.cost)
        scores = [0.5, *(draw(st.floats(0.4, 1.0)) for _ in order)]
        found.append(
            [
                Candidate(sum(1 << i for i in order[:k]), tuple(f"f{i}" for i in order[:k]), score, cost)
                for k, (score, cost) in enumerate(zip(scores, sums, strict=True))
            ]
        )
    return GreedyIndex(found, draw(st.floats(0.0, 64.0)))


@st.composite
def pairs_of_indexes(draw: st.DrawFn) -> Case:
    """Two indexes for one region, each of a lattice or greedy, and queries near the limits of their candidates."""
    costs = draw(st.sampled_from([integer_costs(), real_costs()]))
    drawn = draw(candidates(costs))
    region = draw(regions(drawn))
    made: list[Index] = []
    for _ in range(2):
        is_greedy = draw(st.booleans())
        made.append(draw(sequences(costs)) if is_greedy else build_index(draw(candidates(costs)), region))
    every = [candidate for index in made for candidate in index.candidates]
    return made[0], made[1], region, draw(st.lists(queries(every, region), min_size=1, max_size=20))


@settings(max_examples=draws(60, 300))
@given(pairs_of_indexes())
def test_no_answer_loses_more(case: Case) -> None:
    """Where an answer changes within rounding of the deadline, either side may be the loss there."""
    before, after, region, asked = case

    deadline, size = greatest_loss(before, after, region.sizes, region.budgets)

    assert region.budgets[0] <= deadline <= region.budgets[1]
    assert region.sizes[0] <= size <= region.sizes[1]
    most = loss(before, after, deadline, size)
    for n, budget in asked:
        around = [budget * (1.0 - ROUNDING), budget, budget * (1.0 + ROUNDING)]
        assert min(loss(before, after, b, n) for b in around) <= most


def test_a_loss_is_found_where_it_is_thin() -> None:
    """It is only at deadlines that the slower set exceeds by a ten thousandth."""
    region = QueryRegion((1.0, 100.0), (3.0, 150.0))
    one = Candidate(1, ("a",), 0.9, CostFunction.of(linear=2))
    before, after = (build_index([EMPTY, c], region) for c in (one, one._replace(cost=one.cost * 1.0001)))

    assert max(loss(before, after, d, n) for d in region.budgets for n in (1.0, 10.0, 100.0)) == 0.0
    deadline, size = greatest_loss(before, after, region.sizes, region.budgets)
    assert pytest.approx(0.4) == loss(before, after, deadline, size)
    assert 1.0 <= deadline / (2.0 * size) < 1.0001


@pytest.mark.parametrize("more", [0.0, 3e-16, -3e-16])
def test_costs_that_differ_by_their_rounding_lose_nothing(more: float) -> None:
    """The same features in another order add up to a cost of another last digit."""
    one = Candidate(1, ("a",), 0.9, CostFunction.of(0.3, linear=0.7))
    other = one._replace(cost=CostFunction.of(0.3, linear=0.7 * (1.0 + more)))
    region = QueryRegion((1.0, 100.0), (0.0, math.inf))
    before, after = (build_index([EMPTY, c], region) for c in (one, other))

    assert loss(before, after, *greatest_loss(before, after, region.sizes, region.budgets)) == 0.0
