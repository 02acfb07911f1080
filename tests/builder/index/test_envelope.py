"""Construction of the Poly-Dom index."""

import itertools
import math

import numpy as np
import pytest

from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, PolyDomIndex, Staircase
from polydom_runtime.costs import CostFunction, basis_terms

EMPTY = Candidate(0, (), 0.5, CostFunction.of())
MEAN = Candidate(1, ("mean",), 0.7, CostFunction.of(8, linear=1))
SPECTRUM = Candidate(2, ("spectrum",), 0.9, CostFunction.of(linear=3))
SIZES = (0.0, 10.0)

REGIONS = {
    "all budgets": QueryRegion((1.0, 500.0)),
    "one deadline": QueryRegion((1.0, 500.0), (3e4, 3e4)),
    "a band": QueryRegion((1.0, 500.0), (1e4, 1e6)),
    "one size": QueryRegion((200.0, 200.0)),
}


def intervals(index: PolyDomIndex) -> dict[tuple[str, ...], list[tuple[float, float]]]:
    """Return the intervals of each candidate, to two decimals."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for i in index.intervals:
        found.setdefault(index.candidates[i.candidate].features, []).append((round(i.start, 2), round(i.end, 2)))
    return found


def lattice(n_features: int, seed: int) -> list[Candidate]:
    """Return every feature set, with costs a0 + a1·n + a2·n² and independent chances to be right."""
    rng = np.random.default_rng(seed)
    a0 = rng.uniform(0, 100, n_features)
    a1 = rng.uniform(0, (100 - a0) / 10)
    weights = np.zeros((n_features, 6))
    weights[:, 0], weights[:, 2], weights[:, 4] = a0, a1, rng.uniform(0, (100 - a0 - a1) / 4)
    wrong = 1.0 - np.where(rng.random(n_features) < 0.6, rng.uniform(0.7, 0.8), rng.uniform(0.5, 0.6, n_features))
    sets = []
    for mask in range(1 << n_features):
        inside = np.array([mask >> i & 1 for i in range(n_features)], dtype=bool)
        cost = CostFunction(tuple(weights[inside].sum(axis=0).tolist()))
        sets.append(Candidate(mask, (), 1.0 - float(wrong[inside].prod()) if mask else 0.5, cost))
    return sets


def mixed(n_sets: int, seed: int) -> list[Candidate]:
    """Return sets with all six terms, the dearer the better but for noise."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(1e5, (n_sets, 6)) * (rng.random((n_sets, 6)) < 0.5) / basis_terms(500.0)
    accuracy = 1.0 - 0.5 * np.exp(-weights @ basis_terms(500.0) / 3e5) + rng.normal(0, 0.01, n_sets)
    rows = zip(accuracy.tolist(), weights.tolist(), strict=True)
    return [EMPTY, *(Candidate(i + 1, (), a, CostFunction(tuple(w))) for i, (a, w) in enumerate(rows))]


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
@pytest.mark.parametrize("candidates", [lattice(9, 0), mixed(500, 0)], ids=["lattice", "mixed"])
def test_many_candidates_are_answered_as_by_a_scan(candidates: list[Candidate], region: QueryRegion) -> None:
    """Random queries of the region get the accuracy that a scan of all candidates gets."""
    index = build_index(candidates, region)
    rng = np.random.default_rng(1)
    sizes = rng.uniform(*region.sizes, 400)
    weights, accuracy = np.array([c.cost.weights for c in candidates]), np.array([c.accuracy for c in candidates])
    costs = basis_terms(sizes) @ weights.T
    budgets = np.clip(rng.choice(costs.ravel(), 400) * rng.uniform(0.5, 2.0, 400), *region.budgets)

    expected = np.where(costs <= budgets[:, None], accuracy, EMPTY.accuracy).max(axis=1)

    index._check()
    assert len(index.candidates) < len(candidates) / 2
    queries = zip(sizes.tolist(), budgets.tolist(), strict=True)
    assert expected.tolist() == [index.best(n, budget).accuracy for n, budget in queries]


def test_only_better_and_cheaper_count() -> None:
    """The mean is on the skyline only where it costs less than the better spectrum."""
    index = build_index([MEAN, SPECTRUM, EMPTY], QueryRegion(SIZES))

    assert intervals(index) == {(): [(0, 10)], ("mean",): [(4, 10)], ("spectrum",): [(0, 10)]}


def test_deadline_leaves_the_staircase() -> None:
    """With one budget the intervals are the steps of the staircase."""
    index = build_index([MEAN, SPECTRUM, EMPTY], QueryRegion(SIZES, (15.0, 15.0)))
    steps = Staircase([MEAN, SPECTRUM, EMPTY], 15.0).steps

    assert intervals(index) == {("spectrum",): [(0, 5)], ("mean",): [(5, 7)], (): [(7, 10)]}
    assert [(c.features, min(end, 10.0)) for end, c in steps] == [
        (index.candidates[i.candidate].features, i.end) for i in reversed(index.intervals)
    ]


def test_band_cuts_off_both_sides() -> None:
    """What fits the least budget hides all that is worse; what exceeds the greatest is never chosen."""
    index = build_index([MEAN, SPECTRUM, EMPTY], QueryRegion(SIZES, (15.0, 17.0)))

    assert intervals(index) == {("spectrum",): [(0, 5.67)], ("mean",): [(5, 9)], (): [(7, 10)]}


def test_candidate_may_have_two_intervals() -> None:
    """A better curve that dips below for a while parts the interval of a worse one."""
    dips = Candidate(1, ("dips",), 0.9, CostFunction.of(16, square=1))
    straight = Candidate(2, ("straight",), 0.7, CostFunction.of(linear=10))

    index = build_index([EMPTY, straight, dips], QueryRegion(SIZES))

    assert sorted(intervals(index)[("straight",)]) == [(0, 2), (8, 10)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_order_of_candidates_does_not_matter(order: tuple[int, ...]) -> None:
    """Equal accuracy and equal cost are resolved alike, whatever comes first."""
    twin = Candidate(4, ("twin",), 0.9, SPECTRUM.cost)
    given = [EMPTY, MEAN, SPECTRUM, twin]

    index = build_index([given[i] for i in order], QueryRegion(SIZES))

    assert index.candidates == (EMPTY, MEAN, SPECTRUM)


def test_equal_accuracy_leaves_the_cheaper_at_each_size() -> None:
    """Of two equally good candidates each has the sizes at which it costs less."""
    flat = Candidate(4, ("flat",), 0.9, CostFunction.of(12))

    index = build_index([EMPTY, flat, SPECTRUM], QueryRegion(SIZES))

    assert [intervals(index)[c.features] for c in (SPECTRUM, flat)] == [[(0, 4)], [(4, 10)]]


def test_no_better_than_the_empty_set_is_dropped() -> None:
    """The empty set is ready whatever the budget, so a worse set is not chosen even where only that one fits."""
    dear = Candidate(0, (), 0.5, CostFunction.of(5))
    worse = Candidate(1, ("mean",), 0.4, CostFunction.of(1))
    as_good = Candidate(2, ("slope",), 0.5, CostFunction.of(1))

    index = build_index([worse, as_good, dear], QueryRegion(SIZES))

    assert (dear,) == index.candidates
    assert dear == index.best(3, budget=2)


def test_empty_set_stays_without_an_interval() -> None:
    """The empty set leads the candidates even where something better always fits."""
    free = Candidate(1, ("size",), 0.6, CostFunction.of())

    index = build_index([free, EMPTY], QueryRegion(SIZES))

    assert (EMPTY, free) == index.candidates
    assert intervals(index) == {("size",): [(0, 10)]}


@pytest.mark.parametrize(
    ("size", "skyline"), [(0.0, (SPECTRUM,)), (4.0, (EMPTY, SPECTRUM)), (1e9, (EMPTY, MEAN, SPECTRUM))]
)
def test_one_size(size: float, skyline: tuple[Candidate, ...]) -> None:
    """A range of one size is one range with its skyline."""
    index = build_index([MEAN, SPECTRUM, EMPTY], QueryRegion((size, size)))

    assert ((size, skyline),) == index.ranges


def test_a_large_common_term_does_not_hide_an_order() -> None:
    """Curves whose sums are the same float at the largest size still change order where they cross."""
    late = Candidate(1, ("late",), 0.9, CostFunction.of(nlogn=1, cube=1))
    early = Candidate(2, ("early",), 0.7, CostFunction.of(linear=1, cube=1))

    index = build_index([EMPTY, late, early], QueryRegion((0.0, 1e9)))

    assert late.cost(1e9) == early.cost(1e9)
    assert [(round(math.e - 1, 2), 1e9)] == intervals(index)[("early",)]
