"""Laws of the four indexes on the cases that are easy to get wrong, with a scan of all candidates as the oracle."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from examples.paper.algorithms.all_crossings import AllCrossingsIndex
from examples.paper.algorithms.scan import ScanIndex
from examples.paper.algorithms.sweep import intersections, sweep_index
from examples.paper.systems import INDEXES
from polydom_builder.index.crossings import crossings
from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, PolyDomIndex
from polydom_runtime.costs import CostFunction
from tests import synthetic
from tests.draws import draws
from tests.property.cost_strategies import cases, integer_costs, real_costs, regions

Case = tuple[list[Candidate], QueryRegion, list[tuple[float, float]]]
Curves = tuple[list[CostFunction], tuple[float, float]]

ROUNDING = 1e-9

SMALL = 1e-3
"""A size. Far below it, as at 1e-132, costs with one constant are the same floats: 1 + n³ is 1. Then the better set
dominates, and the sweep, which compares without the constant, has an interval more. Answers are the same."""

SIZES = (0.0, 64.0)

inner = st.integers(1, 63)
laws = settings(max_examples=draws(8, 15))


def parts(*difference: int) -> tuple[CostFunction, CostFunction]:
    """Return two cost functions with this polynomial as their difference, its constant term first."""
    f, g = ([max(sign * w, 0) for w in (*difference, 0, 0)] for sign in (1, -1))
    return tuple(CostFunction.of(w[0], linear=w[1], square=w[2], cube=w[3]) for w in (f, g))  # type: ignore[return-value]


@st.composite
def touching(draw: st.DrawFn) -> Curves:
    """Two curves that are equal at one size and cross nowhere, with a common part."""
    root, common = draw(inner), draw(integer_costs())
    return [curve + common for curve in parts(root * root, -2 * root, 1)], SIZES


@st.composite
def several_times(draw: st.DrawFn) -> Curves:
    """Two curves that cross at three sizes, and a third."""
    a, b, c = sorted(draw(st.sets(inner, min_size=3, max_size=3)))
    curves = parts(-a * b * c, a * b + b * c + c * a, -(a + b + c), 1)
    return [*curves, draw(integer_costs())], SIZES


@st.composite
def through_one_point(draw: st.DrawFn, at: int | None = None) -> Curves:
    """Three to five different curves that meet in one point."""
    n = draw(inner) if at is None else at
    slopes = st.tuples(st.integers(0, 12), st.integers(0, 4))
    drawn = draw(st.lists(slopes, min_size=3, max_size=5, unique=True))
    height = 12 * n + 4 * n * n + draw(st.integers(0, 9))
    return [CostFunction.of(height - s * n - q * n * n, linear=s, square=q) for s, q in drawn], SIZES


@st.composite
def identical(draw: st.DrawFn) -> Curves:
    """One curve twice or three times, and one that crosses it."""
    root, slope, rise = draw(inner), draw(st.integers(0, 5)), draw(st.integers(1, 5))
    curve, other = CostFunction.of(rise * root, linear=slope), CostFunction.of(linear=slope + rise)
    return [curve] * draw(st.integers(2, 3)) + [other], SIZES


@st.composite
def meeting_at_an_end(draw: st.DrawFn) -> Curves:
    """Curves that meet at the smallest or the largest size of the region, or at its only one."""
    n = draw(inner)
    curves, _ = draw(through_one_point(at=n))
    return curves, draw(st.sampled_from([(float(n), 64.0), (0.0, float(n)), (float(n), float(n))]))


KINDS = {
    "touching": touching(),
    "several crossings": several_times(),
    "triple crossing": through_one_point(),
    "identical": identical(),
    "at an end": meeting_at_an_end(),
}
SCORES = {
    "any scores": st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9]),
    "equal scores": st.just(0.7),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_score = pytest.mark.parametrize("score", SCORES)
every_index = pytest.mark.parametrize("name", INDEXES)


def draw_case(data: st.DataObject, kind: str, score: str) -> Case:
    """Draw candidates with curves of this kind among a few others, a region, and queries at integer sizes."""
    curves, sizes = data.draw(KINDS[kind])
    others = data.draw(st.lists(integer_costs(), max_size=3))
    accuracies = data.draw(st.lists(SCORES[score], min_size=len(curves), max_size=len(curves)))
    accuracies += data.draw(st.lists(SCORES["any scores"], min_size=len(others), max_size=len(others)))
    masks = data.draw(st.permutations(range(1, 1 + len(accuracies))))
    empty = Candidate(0, (), 0.4, data.draw(st.just(CostFunction.of()) | integer_costs()))
    rows = zip(masks, accuracies, [*curves, *others], strict=True)
    candidates = data.draw(st.permutations([empty, *(Candidate(m, (f"f{m}",), a, cost) for m, a, cost in rows)]))
    region = QueryRegion(sizes, data.draw(regions(candidates)).budgets)
    asked = [(float(n), c.cost(n)) for n in range(int(sizes[0]), int(sizes[1]) + 1) for c in candidates]
    return candidates, region, [(n, b) for n, b in asked if region.budgets[0] <= b <= region.budgets[1]]


def answer(candidates: Sequence[Candidate], n: float, budget: float) -> Candidate:
    """Return the best that fits: of equally good ones the cheapest, of those the one with fewest features."""
    empty = next(c for c in candidates if c.mask == 0)
    fitting = [c for c in candidates if c.cost(n) <= budget and c.accuracy > empty.accuracy]
    return min(fitting, key=lambda c: (-c.accuracy, c.cost(n), c.mask.bit_count(), c.mask), default=empty)


def every_crossing(candidates: Sequence[Candidate], region: QueryRegion) -> list[tuple[float, int, int]]:
    """Return (size, worse, better) of all crossings, pair by pair; all candidates are better than the empty set."""
    order = sorted(candidates, key=lambda c: (-c.accuracy, c.mask.bit_count(), c.mask))
    pairs = [(worse, better) for i, better in enumerate(order) for worse in order[i + 1 :]]
    return [(n, a.mask, b.mask) for a, b in pairs for n in crossings(a.cost, b.cost, *region.sizes)]


def wide(index: PolyDomIndex) -> list[tuple[int, float, float]]:
    """Return (mask, start, end) of the intervals, joined and dropped where only rounding parts or makes them."""
    found: list[tuple[int, float, float]] = []
    for mask, start, end in sorted((index.candidates[i.candidate].mask, i.start, i.end) for i in index.intervals):
        if found and found[-1][0] == mask and start - found[-1][2] <= ROUNDING * start:
            found[-1] = (mask, found[-1][1], end)
        else:
            found.append((mask, start, end))
    smallest = index.sizes[0]
    return [i for i in found if i[2] - i[1] > ROUNDING * i[2] or i[1] == i[2] == smallest]


def assert_same(expected: PolyDomIndex, index: PolyDomIndex) -> None:
    """Assert that the intervals are the same up to rounding."""
    ours, theirs = wide(expected), wide(index)
    assert [mask for mask, _, _ in ours] == [mask for mask, _, _ in theirs]
    ends = [[n for _, start, end in found for n in (start, end)] for found in (ours, theirs)]
    assert ends[0] == pytest.approx(ends[1], rel=ROUNDING)


@every_score
@every_kind
@laws
@given(st.data())
def test_answers_are_the_scan_s_at_every_tie(kind: str, score: str, data: st.DataObject) -> None:
    """With each budget that some candidate just fits, all indexes answer as accurately and as cheaply as can be."""
    candidates, region, asked = draw_case(data, kind, score)
    indexes = [make(candidates, region)[0] for make in INDEXES.values()]

    for n, budget in asked:
        best = answer(candidates, n, budget)
        found = [index.best(n, budget) for index in indexes]
        assert {(best.accuracy, best.cost(n))} == {(c.accuracy, c.cost(n)) for c in found}


@laws
@given(st.data())
def test_the_first_of_identical_curves_is_the_answer(data: st.DataObject) -> None:
    """Of equal scores and equal costs at all sizes, fewer features and the smaller mask count, for every index."""
    candidates, region, asked = draw_case(data, "identical", "equal scores")
    indexes = [make(candidates, region)[0] for make in INDEXES.values()]

    for n, budget in asked:
        best = answer(candidates, n, budget)
        twins = {c.mask for c in candidates if c.accuracy == best.accuracy and c.cost == best.cost}
        for index in indexes:
            found = index.best(n, budget)
            assert found == best or found.mask not in twins


@every_index
@settings(max_examples=draws(12, 30))
@given(cases(real_costs()))
def test_answers_are_the_scan_s_up_to_rounding(name: str, case: Case) -> None:
    """At any size the answer fits, and it is as accurate as the scan's for a budget smaller by rounding."""
    candidates, region, asked = case
    index, _ = INDEXES[name](candidates, region)

    for n, budget in asked:
        found = index.best(n, budget)
        assert found.mask == 0 or found.cost(n) <= budget
        assert found.accuracy >= answer(candidates, n, budget * (1.0 - ROUNDING)).accuracy


@every_score
@every_kind
@laws
@given(st.data())
def test_sweep_finds_the_intervals_of_the_envelope(kind: str, score: str, data: st.DataObject) -> None:
    """Where curves touch, coincide or meet, both ways to build the index give the same candidates and intervals."""
    candidates, region, _ = draw_case(data, kind, score)

    expected, index = build_index(candidates, region), sweep_index(candidates, region)

    assert_same(expected, index)
    index._check()


@settings(max_examples=draws(25, 50))
@given(cases(real_costs()))
def test_sweep_is_the_envelope_for_all_six_terms(case: Case) -> None:
    """With logarithms and weights of several orders of magnitude too."""
    candidates, region, _ = case
    assume(all(n == 0.0 or n >= SMALL for n in region.sizes))

    assert_same(build_index(candidates, region), sweep_index(candidates, region))


@pytest.mark.parametrize("n", [1e-6, 1e-100, 1e-132, 5e-324])
def test_sizes_at_which_terms_vanish_have_the_same_answers(n: float) -> None:
    curves = [CostFunction.of(1.0), CostFunction.of(1.0, cube=1.0), CostFunction.of(1.0, linear=1.0)]
    candidates = [Candidate(k, (), 0.5 + 0.1 * k, cost) for k, cost in enumerate(curves)]
    region = QueryRegion((0.0, n))
    indexes = [make(candidates, region)[0] for make in INDEXES.values()]

    for size in (0.0, 0.5 * n, n):
        for budget in {c.cost(size) for c in candidates}:
            assert {answer(candidates, size, budget)} == {index.best(size, budget) for index in indexes}


@pytest.mark.parametrize("budgets", [(0.0, np.inf), (3e4, 3e4), (1e4, 1e6)], ids=["all", "one deadline", "band"])
def test_sweep_is_the_envelope_on_a_lattice(budgets: tuple[float, float]) -> None:
    """All sets of seven features have the same candidates in the same order and the same intervals."""
    rng = np.random.default_rng(0)
    costs, scores = synthetic.costs(7, rng), synthetic.scores("cfinf", 7, rng)
    candidates = [Candidate(mask, (), float(a), costs(mask)) for mask, a in enumerate(scores)]
    region = QueryRegion(synthetic.SIZES, budgets)

    expected, index = build_index(candidates, region), sweep_index(candidates, region)

    assert expected.candidates == index.candidates
    assert_same(expected, index)


@every_score
@every_kind
@laws
@given(st.data())
def test_every_crossing_is_passed_once(kind: str, score: str, data: st.DataObject) -> None:
    """The sweep swaps as often as pairs change order, counted pair by pair, and some of the swaps are interesting."""
    candidates, region, _ = draw_case(data, kind, score)
    sweep = intersections(candidates, region)

    assert len(every_crossing(candidates, region)) == sweep.n_crossings
    assert len(sweep.interesting) <= sweep.n_crossings
    assert list(sweep.interesting) == sorted(sweep.interesting)


@every_kind
@laws
@given(st.data())
def test_interesting_sizes_are_those_at_which_the_skyline_changes(kind: str, data: st.DataObject) -> None:
    """Each end of a range inside the region is an interesting size, and no two ranges of a curve adjoin."""
    candidates, region, _ = draw_case(data, kind, "any scores")
    sweep = intersections(candidates, region)

    ends = {n for ranges in sweep.ranges for parts in ranges for n in parts} - set(region.sizes)

    assert ends <= set(sweep.interesting)
    assert all(a[1] < b[0] for ranges in sweep.ranges for a, b in pairwise(ranges))


@every_kind
@laws
@given(st.data())
def test_ranges_end_where_any_two_curves_cross(kind: str, data: st.DataObject) -> None:
    """All crossings are range ends, interesting or not; those that only rounding parts may count as one."""
    candidates, region, _ = draw_case(data, kind, "any scores")
    sizes = sorted(n for n, _, _ in every_crossing(candidates, region))
    apart = sum(b - a > ROUNDING * b for a, b in pairwise([-1.0, *sizes]))

    index = AllCrossingsIndex(candidates, region)

    assert apart + 1 <= index.n_ranges <= len(sizes) + 1
    assert index.n_ranges <= index.n_entries <= index.n_ranges * len(candidates)


def test_rounding_does_not_part_curves_that_meet() -> None:
    """Five curves meet at 1, but by their rounded costs no two pairs at the same float, and three go in a circle."""
    weights = [(7, 5, 4), (16, 0, 0), (4, 11, 1), (15, 0, 1), (14, 0, 2)]
    costs = [CostFunction.of(constant, linear=linear, square=square) for constant, linear, square in weights]
    candidates = [Candidate(0, (), 0.4, CostFunction.of())]
    candidates += [Candidate(mask, (), 0.5, cost) for mask, cost in enumerate(costs, 1)]

    for make in INDEXES.values():
        assert make(candidates, QueryRegion(SIZES))[0].best(1.0, 16.0).accuracy == 0.5


def test_scan_stores_every_candidate() -> None:
    """One that is never the answer is stored all the same."""
    empty, worse = Candidate(0, (), 0.5, CostFunction.of()), Candidate(1, ("f",), 0.4, CostFunction.of(1))

    assert ScanIndex([empty, worse]).n_entries == 2
