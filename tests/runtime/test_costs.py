"""Cost functions: monotone, invertible, and the same in one call and in many."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.costs import CostFunction, basis_terms
from polydom_runtime.exceptions import CostFunctionError

weights = st.tuples(*[st.one_of(st.just(0.0), st.floats(1e-15, 1e3))] * 6)
sizes = st.floats(0.0, 1e9)


@given(weights, sizes, sizes)
def test_cost_never_falls_with_size(w: tuple[float, ...], a: float, b: float) -> None:
    cost = CostFunction(w)  # type: ignore[arg-type]

    assert cost(min(a, b)) <= cost(max(a, b))


@given(weights, st.floats(1e-12, 1e6))
def test_largest_size_is_the_last_that_fits(w: tuple[float, ...], budget: float) -> None:
    cost = CostFunction(w)  # type: ignore[arg-type]
    n = cost.largest_size(budget)

    if n == -math.inf:
        assert cost(0.0) > budget
    elif n < math.inf:
        assert cost(n) <= budget < cost(math.nextafter(n, math.inf))


@given(weights, sizes)
def test_call_agrees_with_the_terms(w: tuple[float, ...], n: float) -> None:
    assert CostFunction(w)(n) == pytest.approx(float(basis_terms(n) @ np.array(w)), rel=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1e-9, math.inf, math.nan])
def test_impossible_weight_is_refused(bad: float) -> None:
    with pytest.raises(CostFunctionError, match="finite, non-negative"):
        CostFunction.of(square=bad)


def test_constant_cost_fits_every_size_or_none() -> None:
    assert CostFunction.of(2.0).largest_size(2.0) == math.inf
    assert CostFunction.of(2.0).largest_size(1.9) == -math.inf
