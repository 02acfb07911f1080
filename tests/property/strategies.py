"""Hypothesis strategies: costs, regions and scores of small lattices."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.costs import ZERO, CostFunction

weights = st.just(0.0) | st.floats(0.01, 100.0) | st.integers(1, 3).map(float)
"""A weight of a growth term: often absent, often equal to another."""

sizes = st.floats(0.0, 500.0) | st.integers(0, 500).map(float)
alphas = st.sampled_from((1.0, 1.02, 1.1, 1.2, 1.5))
tolerances = st.sampled_from((0.0, 0.01, 0.1))


@st.composite
def cost_functions(draw: st.DrawFn) -> CostFunction:
    """Non-negative combinations of the six growth terms, scaled so that no term always wins."""
    scales = (100.0, 10.0, 1.0, 0.2, 0.01, 1e-4)
    return CostFunction(tuple(draw(weights) * scale for scale in scales))  # type: ignore[arg-type]


@st.composite
def set_costs(draw: st.DrawFn, min_features: int = 1, max_features: int = 5) -> SetCosts:
    """Costs of all sets of a few features, some of which share steps."""
    features = draw(st.lists(cost_functions(), min_size=min_features, max_size=max_features))
    users = st.integers(1, (1 << len(features)) - 1)
    shared = draw(st.lists(st.tuples(cost_functions(), users), max_size=2))
    return SetCosts(features, shared, draw(st.just(ZERO) | cost_functions()))


@st.composite
def size_ranges(draw: st.DrawFn) -> tuple[float, float]:
    """Ranges of item sizes, sometimes a single size."""
    low, high = sorted((draw(sizes), draw(sizes)))
    return draw(st.sampled_from(((low, high), (low, low))))


@st.composite
def regions(draw: st.DrawFn, costs: SetCosts) -> QueryRegion:
    """Regions of all three shapes (rectangle, one size, one budget) about the costs of the sets."""
    span = draw(size_ranges())
    masks = st.integers(0, (1 << costs.n_features) - 1)

    def budget() -> float:
        size = draw(st.sampled_from(span) | st.floats(*span))
        factor = draw(st.sampled_from((0.5, 1.0, 1.0, 1.5)))
        return costs(draw(masks))(size) * factor + draw(st.sampled_from((0.0, 1.0)))

    low, high = sorted((budget(), budget()))
    high = max(high, 1e-3)
    shapes = ((0.0, np.inf), (low, high), (high, high), (low, np.inf))
    return QueryRegion(span, draw(st.sampled_from(shapes)))


@st.composite
def scores(draw: st.DrawFn, n_features: int, tolerance: float = 0.0) -> NDArray[np.float64]:
    """Scores of all sets, shape ``(2 ** n_features,)``, with a(F_i) <= a(F_j) + tolerance for F_i ⊂ F_j.

    Ties are common, as with small test sets.
    """
    levels = st.floats(0.2, 1.0) | st.sampled_from((0.5, 0.6, 0.7, 0.8))
    n_sets = 1 << n_features
    a = np.array(draw(st.lists(levels, min_size=n_sets, max_size=n_sets)))
    for i in range(n_features):
        pairs = a.reshape(-1, 2, 1 << i)
        pairs[:, 1] = np.maximum(pairs[:, 1], pairs[:, 0])
    if tolerance:
        drops = st.sampled_from((0.0, 0.5, 1.0))
        a = a - tolerance * np.array(draw(st.lists(drops, min_size=n_sets, max_size=n_sets)))
    return a
