"""Laws of the Poly-Dom index and of the staircase, with a scan of all candidates as the oracle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, Staircase
from polydom_runtime.costs import CostFunction
from tests.draws import draws
from tests.property.cost_strategies import cases, integer_costs, real_costs

Case = tuple[list[Candidate], QueryRegion, list[tuple[float, float]]]

ROUNDING = 1e-9
"""Far above the rounding of a cost, far below what matters: real curves tie only up to it."""

any_costs = st.one_of(cases(integer_costs()), cases(real_costs()))
laws = settings(max_examples=draws(25, 70))


def empty_of(candidates: list[Candidate]) -> Candidate:
    return next(c for c in candidates if c.mask == 0)


def scan(candidates: list[Candidate], n: float, budget: float) -> float:
    """Return the best accuracy that fits; the empty set is ready whatever the budget."""
    return max(c.accuracy for c in candidates if c.mask == 0 or c.cost(n) <= budget)


def fits(candidate: Candidate, n: float, budget: float) -> bool:
    return candidate.mask == 0 or candidate.cost(n) <= budget


@laws
@given(cases(integer_costs()))
def test_index_is_the_scan_where_costs_are_exact(case: Case) -> None:
    """At integer sizes, ties included, the index answers with what fits and is as accurate as the scan's."""
    candidates, region, queries = case
    index = build_index(candidates, region)

    for n, budget in queries:
        if n.is_integer():
            answer = index.best(n, budget)
            assert fits(answer, n, budget)
            assert answer.accuracy == scan(candidates, n, budget)


@laws
@given(any_costs)
def test_index_is_the_scan_up_to_rounding(case: Case) -> None:
    """At any size the answer fits, and it is as accurate as the scan's for a budget smaller by rounding."""
    candidates, region, queries = case
    index = build_index(candidates, region)

    for n, budget in queries:
        answer = index.best(n, budget)
        assert fits(answer, n, budget)
        assert answer.accuracy >= scan(candidates, n, budget * (1.0 - ROUNDING))


@laws
@given(any_costs)
def test_staircase_is_the_scan(case: Case) -> None:
    """The staircase answers exactly as the scan does, at every size."""
    candidates, _, queries = case

    for n, deadline in queries:
        answer = Staircase(candidates, deadline).best(n)
        assert fits(answer, n, deadline)
        assert answer.accuracy == scan(candidates, n, deadline)


@laws
@given(any_costs)
def test_staircase_of_the_index_loses_nothing(case: Case) -> None:
    """Any deadline of the region has the same staircase before and after candidates are dropped."""
    candidates, region, queries = case
    index = build_index(candidates, region)

    for n, deadline in queries:
        slower = deadline * (1.0 - ROUNDING)
        assert index.at_deadline(deadline).best(n).accuracy >= Staircase(candidates, slower).best(n).accuracy


@laws
@given(any_costs)
def test_invariants_hold(case: Case) -> None:
    """Rows rise in accuracy and cost, steps fall in accuracy, intervals lie in the region."""
    candidates, region, queries = case
    index = build_index(candidates, region)

    index._check()
    for _, deadline in queries:
        Staircase(candidates, deadline)._check()
    assert index.candidates[0] == empty_of(candidates)
    for interval in index.intervals:
        assert region.sizes[0] <= interval.start <= interval.end <= region.sizes[1]
        assert interval.start < interval.end or interval.start == region.sizes[0]


@laws
@given(cases(integer_costs()), st.integers(0, 8), st.integers(0, 40))
def test_harder_queries_never_get_better_answers(case: Case, larger: int, less: int) -> None:
    """A larger item or a smaller budget, inside the region, never raises the accuracy."""
    candidates, region, queries = case
    index = build_index(candidates, region)

    for n, budget in queries:
        if n.is_integer() and n + larger <= region.sizes[1] and budget - less >= region.budgets[0]:
            assert index.best(n + larger, budget - less).accuracy <= index.best(n, budget).accuracy


@laws
@given(any_costs, st.floats(0.0, 1.0))
def test_skyline_intervals_are_on_the_skyline(case: Case, where: float) -> None:
    """Inside its interval a candidate is the best answer to some query of the region."""
    candidates, region, _ = case
    index = build_index(candidates, region)

    for interval in index.intervals:
        n = interval.end - where * (interval.end - interval.start)
        chosen = index.candidates[interval.candidate]
        budget = max(chosen.cost(n), region.budgets[0])
        assert budget <= region.budgets[1] * (1.0 + ROUNDING)
        assert chosen == index.empty or chosen.accuracy > index.empty.accuracy
        assert scan(candidates, n, budget * (1.0 - ROUNDING)) <= chosen.accuracy


@laws
@given(any_costs)
def test_dropped_candidates_are_never_missed(case: Case) -> None:
    """Where a dropped candidate fits, a kept one fits too and is at least as accurate."""
    candidates, region, queries = case
    kept = list(build_index(candidates, region).candidates)

    for n, _ in queries:
        for dropped in set(candidates) - set(kept):
            budget = max(dropped.cost(n), region.budgets[0])
            if budget <= region.budgets[1]:
                assert dropped.accuracy <= scan(kept, n, budget * (1.0 + ROUNDING))


@laws
@given(any_costs)
def test_every_kept_candidate_has_an_interval(case: Case) -> None:
    """Nothing is shipped that no query is answered with, but for the empty set."""
    candidates, region, _ = case
    index = build_index(candidates, region)

    assert set(range(1, len(index.candidates))) <= {i.candidate for i in index.intervals}


@laws
@given(any_costs, st.floats(0.0, 200.0))
def test_sizes_outside_the_range_get_what_fits(case: Case, n: float) -> None:
    """Outside the range the answer is the best that is left in the index."""
    candidates, region, queries = case
    index = build_index(candidates, region)

    if not region.sizes[0] <= n <= region.sizes[1]:
        for _, budget in queries:
            answer = index.best(n, budget)
            assert fits(answer, n, budget)
            assert answer.accuracy == scan(list(index.candidates), n, budget)


@pytest.mark.parametrize("budgets", [(0.0, 1e9), (4.0, 4.0), (2.0, 4.0)])
def test_last_size_of_a_candidate_may_be_the_smallest_of_the_region(budgets: tuple[float, float]) -> None:
    """A candidate that fits at the smallest size only is the answer there."""
    empty = Candidate(0, (), 0.5, CostFunction.of())
    chosen = Candidate(1, ("mean",), 0.7, CostFunction.of(linear=1))

    index = build_index([empty, chosen], QueryRegion((4.0, 10.0), budgets))

    assert [chosen, empty] == [index.best(4.0, 4.0), index.best(4.5, 4.0)]
