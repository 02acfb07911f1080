"""The walk along a greedy sequence, worked out by hand on the paper's lattice, and its laws."""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction, total
from polydom_runtime.exceptions import BundleFormatError

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "lattice_figure.json").read_text())
ACCURACY = {sum(1 << (i - 1) for i in row["set"]): row["a"] for row in GOLDEN["accuracy"]}
MEDIAN = 1.0
"""The costs are whole or half units at the sizes that are asked for, so they are exact."""


def sequence(
    order: Sequence[int], costs: Sequence[CostFunction], accuracy: Mapping[int, float], base: CostFunction
) -> list[Candidate]:
    """Return the prefixes of an order of features that are counted from 1, as the paper does."""
    masks = accumulate((1 << (i - 1) for i in order), initial=0)
    return [
        Candidate(
            mask,
            tuple(str(i) for i in order[:k]),
            accuracy[mask],
            base + total(costs[i - 1] for i in order[:k]),
        )
        for k, mask in enumerate(masks)
    ]


@pytest.fixture
def index() -> GreedyIndex:
    """Features that cost 4, 1, 2 and 3 at the median size and grow with the size; the orders for λ = 0, .02 and inf.

    =========  ==============  ===============  ===============  ==================
    Sequence   1 feature       2                3                4, at the median
    =========  ==============  ===============  ===============  ==================
    λ = 0      {1}: 4, .78     {1,2}: 5, .86    {1,2,4}: 8, .90  all: 10, .96
    λ = .02    {3}: 2, .75     {3,2}: 3, .75    {3,2,1}: 7, .86  all
    λ = inf    {2}: 1, .70     {2,3}: 3, .75    {2,3,4}: 6, .75  all
    =========  ==============  ===============  ===============  ==================

    The skyline: from 1 on {2}, from 2 on {3}, from 4 on {1}, from 5 on {1,2}, from 8 on {1,2,4}, from 10 on all.
    """
    costs = [CostFunction.of(linear=unit) for unit in (4.0, 1.0, 2.0, 3.0)]
    orders = [(1, 2, 4, 3), (3, 2, 1, 4), (2, 3, 4, 1)]
    return GreedyIndex([sequence(order, costs, ACCURACY, CostFunction.of()) for order in orders], MEDIAN)


@pytest.mark.parametrize(
    ("budget", "small", "median", "large"),
    [
        # A small item costs half, a large one twice as much as the median one.
        (0.4, "", "", ""),  # nothing fits at the median size: cheapest first, and 2 costs .5, 1, 2
        (0.5, "2", "", ""),
        (1.0, "2", "2", ""),  # {2} fits, {2,3} would cost 1.5, 3, 6
        (1.5, "23", "2", ""),
        (2.0, "32", "3", ""),  # {3}: λ = .02; {3,2} costs 1.5, 3, 6; {3} alone 4 on the large item, where {2} would fit
        (3.9, "321", "32", ""),  # still {3}; the median item has enough left for 2, the small one for 2 and 1 (3.5)
        (4.0, "124", "1", ""),  # {1}: λ = 0; prefixes cost 2, 2.5, 4, 5 on the small item and 8, ... on the large one
        (5.0, "1243", "12", ""),
        (8.0, "1243", "124", "1"),
        (10.0, "1243", "1243", "12"),
        (20.0, "1243", "1243", "1243"),
    ],
)
def test_features_are_added_along_the_sequence_until_the_budget_is_spent(
    index: GreedyIndex, budget: float, small: str, median: str, large: str
) -> None:
    found = ["".join(index.best(n, budget).features) for n in (MEDIAN / 2, MEDIAN, 2 * MEDIAN)]

    assert [small, median, large] == found


def test_candidate_shared_by_sequences_stands_for_the_first() -> None:
    """{1,2} ends both sequences at the same cost; with a budget for it the first is walked, also by a larger item."""
    costs = [CostFunction.of(linear=1), CostFunction.of(linear=2)]
    accuracy = {0: 0.5, 1: 0.6, 2: 0.7, 3: 0.8}
    by_accuracy, by_cost = (sequence(o, costs, accuracy, CostFunction.of()) for o in ((2, 1), (1, 2)))

    assert GreedyIndex([by_accuracy, by_cost], 1.0).best(1.5, budget=3.0).features == ("2",)
    assert GreedyIndex([by_cost, by_accuracy], 1.0).best(1.5, budget=3.0).features == ("1",)


def test_empty_set_answers_although_its_own_cost_does_not_fit() -> None:
    alone = Candidate(0, (), 0.5, CostFunction.of(5))

    assert alone == GreedyIndex([[alone]], 1.0).best(1.0, budget=1.0)


def test_larger_set_with_a_cheaper_model_is_reached_although_a_prefix_does_not_fit() -> None:
    """The longest prefix that fits is meant: what is charged for a model is paid once, at the end."""
    steps = [(0, (), 0.0), (1, ("a",), 9.0), (3, ("a", "b"), 4.0)]
    walk = [Candidate(mask, names, 0.5, CostFunction.of(cost)) for mask, names, cost in steps]

    assert GreedyIndex([walk], 1.0).best(1.0, budget=5.0).features == ("a", "b")


def test_walk_at_a_deadline_has_one_step_to_the_end_of_its_sequence(index: GreedyIndex) -> None:
    walk = index.at_deadline(3.0)

    assert walk.deadline == 3.0
    assert ((math.inf, index.sequences[1][-1]),) == walk.steps
    assert walk.steps[0][1].features == ("3", "2", "1", "4")


def test_candidates_are_all_different_ones(index: GreedyIndex) -> None:
    """The empty set is shared; {3,2} and {2,3}, and the full sets, differ in the order of computation."""
    assert len(index.candidates) == len(set(index.candidates)) == 1 + 3 * 4


EMPTY = Candidate(0, (), 0.5, CostFunction.of())
ONE = Candidate(1, ("a",), 0.6, CostFunction.of(1))


@pytest.mark.parametrize(
    "broken",
    [
        [],
        [ONE],
        [EMPTY, Candidate(3, ("a", "b"), 0.7, CostFunction.of(2))],  # two at once
        [EMPTY, ONE, Candidate(6, ("b", "c"), 0.7, CostFunction.of(2))],  # does not contain the one before
        [EMPTY, ONE, Candidate(3, ("b", "a"), 0.7, CostFunction.of(2))],  # names in another order
        [EMPTY, ONE, ONE],
    ],
)
def test_sequence_that_does_not_add_one_feature_at_a_time_is_refused(broken: list[Candidate]) -> None:
    with pytest.raises(BundleFormatError, match="add one feature at a time"):
        GreedyIndex([[EMPTY, ONE], broken], 1.0)


def test_no_sequence_and_impossible_sizes_are_refused() -> None:
    with pytest.raises(BundleFormatError, match="at least one sequence"):
        GreedyIndex([], 1.0)
    for size in (-1.0, math.inf, math.nan):
        with pytest.raises(BundleFormatError, match="median size must be finite"):
            GreedyIndex([[EMPTY, ONE]], size)


@st.composite
def indexes(draw: st.DrawFn) -> GreedyIndex:
    """Up to four orders of up to five features, with costs and scores that often tie."""
    n_features = draw(st.integers(1, 5))
    weights = st.integers(0, 5).map(float)
    costs = [CostFunction.of(draw(weights), linear=draw(weights)) for _ in range(n_features)]
    masks = range(1 << n_features)
    accuracy = dict(
        zip(masks, draw(st.lists(st.integers(0, 10), min_size=len(masks), max_size=len(masks))), strict=True)
    )
    orders = draw(st.lists(st.permutations(range(1, n_features + 1)), min_size=1, max_size=4))
    base = CostFunction.of(draw(weights))
    return GreedyIndex([sequence(order, costs, accuracy, base) for order in orders], draw(st.integers(1, 9)))


@settings(max_examples=150)
@given(indexes(), st.integers(0, 20), st.integers(0, 200))
def test_answer_fits_and_its_next_feature_would_not(index: GreedyIndex, n: int, budget: int) -> None:
    """It is a prefix of the sequence that the deadline has for all sizes; the empty set needs no budget."""
    answer = index.best(n, budget)

    walk = index.at_deadline(budget)
    k = walk.sequence.index(answer)
    assert answer.mask == 0 or answer.cost(n) <= budget
    assert k + 1 == len(walk.sequence) or walk.sequence[k + 1].cost(n) > budget


@settings(max_examples=150)
@given(indexes(), st.integers(0, 200))
def test_sequence_holds_the_most_accurate_candidate_that_fits_the_median_size(index: GreedyIndex, budget: int) -> None:
    """Where none but the empty set fits, it starts with the feature that is cheapest there."""
    chosen = index.at_deadline(budget).sequence

    fitting = [c for s in index.sequences for c in s[1:] if c.cost(index.size) <= budget]
    if fitting:
        best = max(c.accuracy for c in fitting)
        assert best == max(c.accuracy for c in chosen[1:] if c.cost(index.size) <= budget)
    else:
        assert chosen[1].cost(index.size) == min(s[1].cost(index.size) for s in index.sequences)
