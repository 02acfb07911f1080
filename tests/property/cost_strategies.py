"""Cost functions, candidates, query regions and queries to draw from."""

import math

from hypothesis import strategies as st

from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction

MAX_SIZE = 64.0


@st.composite
def integer_costs(draw: st.DrawFn) -> CostFunction:
    """Small integer weights and no logarithm: costs at integer sizes are exact, and ties are frequent."""
    constant, linear, square, cube = (draw(st.integers(0, top)) for top in (30, 12, 4, 1))
    return CostFunction.of(constant, linear=linear, square=square, cube=cube)


@st.composite
def real_costs(draw: st.DrawFn, low: float = -3.0, high: float = 3.0) -> CostFunction:
    """Any of the six terms, with weights of several orders of magnitude."""
    weight = st.one_of(st.just(0.0), st.floats(low, high).map(lambda exponent: 10.0**exponent))
    return CostFunction(draw(st.tuples(weight, weight, weight, weight, weight, weight)))


def candidates(costs: st.SearchStrategy[CostFunction]) -> st.SearchStrategy[list[Candidate]]:
    """The empty set and up to 12 others, in any order, some of equal accuracy and some of equal cost."""
    accuracy = st.one_of(st.sampled_from([0.4, 0.5, 0.6, 0.7, 0.8]), st.floats(0.0, 1.0))

    @st.composite
    def draw_all(draw: st.DrawFn) -> list[Candidate]:
        pool = draw(st.lists(costs, min_size=1, max_size=12))
        curves = draw(st.lists(st.sampled_from(pool), max_size=12))
        empty = Candidate(0, (), 0.5, draw(st.one_of(st.just(CostFunction.of()), costs)))
        others = [Candidate(i + 1, (f"f{i}",), draw(accuracy), curve) for i, curve in enumerate(curves)]
        return draw(st.permutations([empty, *others]))

    return draw_all()


@st.composite
def regions(draw: st.DrawFn, candidates: list[Candidate]) -> QueryRegion:
    """A rectangle, one size, one deadline or a band of budgets, with limits near the costs there are."""
    size = st.one_of(st.integers(0, int(MAX_SIZE)).map(float), st.floats(0.0, MAX_SIZE))
    sizes = sorted((draw(size), draw(size)))
    if draw(st.booleans()):
        sizes = [sizes[0], sizes[draw(st.integers(0, 1))]]
    shape = draw(st.sampled_from(["all", "deadline", "band"]))
    if shape == "all":
        return QueryRegion((sizes[0], sizes[1]))
    limits = sorted(1e-3 + draw(budgets(candidates, draw(size))) for _ in range(2))
    if draw(st.booleans()):  # a tie at the limit itself
        limits = sorted(max(draw(budgets(candidates, sizes[draw(st.integers(0, 1))])), 1.0) for _ in range(2))
    return QueryRegion((sizes[0], sizes[1]), (limits[1 if shape == "deadline" else 0], limits[1]))


def budgets(candidates: list[Candidate], n: float) -> st.SearchStrategy[float]:
    """A candidate's very cost at size `n`, or any budget up to somewhat above them all."""
    costs = [c.cost(n) for c in candidates]
    return st.one_of(st.sampled_from(costs), st.floats(0.0, 1.5 * max(costs) + 1.0))


@st.composite
def queries(draw: st.DrawFn, candidates: list[Candidate], region: QueryRegion) -> tuple[float, float]:
    """A size and a budget of the region, often at a corner of it or at a tie."""
    low, high = region.sizes
    choices = [st.sampled_from([low, high]), st.floats(low, high)]
    if math.ceil(low) <= high:
        choices.append(st.integers(math.ceil(low), math.floor(high)).map(float))
    n = draw(st.one_of(choices))
    budget = draw(st.one_of(budgets(candidates, n), st.sampled_from(region.budgets)))
    return n, min(max(budget, region.budgets[0]), region.budgets[1])


@st.composite
def cases(
    draw: st.DrawFn, costs: st.SearchStrategy[CostFunction]
) -> tuple[list[Candidate], QueryRegion, list[tuple[float, float]]]:
    """Candidates, a region, and several queries in it."""
    drawn = draw(candidates(costs))
    region = draw(regions(drawn))
    return drawn, region, draw(st.lists(queries(drawn, region), min_size=1, max_size=8))
