"""Where two cost functions change order."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from polydom_builder.index.crossings import crossings, order
from polydom_runtime.costs import CostFunction, basis_terms
from tests.draws import draws
from tests.property.cost_strategies import integer_costs, real_costs

laws = settings(max_examples=draws(40, 100))
curves = st.one_of(integer_costs(), real_costs(), real_costs(low=-15.0, high=3.0))
largest = st.sampled_from([1.0, 100.0, 1e4, 1e9])


def parts(difference: list[float]) -> tuple[CostFunction, CostFunction]:
    """Return two cost functions with this difference."""
    positive, negative = ([max(s * float(w), 0.0) for w in difference] for s in (1, -1))
    return CostFunction(tuple(positive)), CostFunction(tuple(negative))  # type: ignore[arg-type]


def cubic(*roots: float) -> tuple[CostFunction, CostFunction]:
    """Return two cost functions whose difference is the polynomial with these zeros."""
    w = [*np.poly(roots)[::-1], 0.0, 0.0]
    return parts([w[0], 0.0, w[1], 0.0, w[2], w[3]])


@laws
@given(curves, curves, largest)
def test_crossings_agree_with_dense_samples(f: CostFunction, g: CostFunction, high: float) -> None:
    """Between two samples that are apart, the number of crossings is odd exactly if the order differs."""
    found = crossings(f, g, 0.0, high)

    sizes = np.expm1(np.linspace(0.0, math.log1p(high), 500))
    a, b = (basis_terms(sizes) @ np.array(c.weights) for c in (f, g))
    apart = np.abs(a - b) > 1e-9 * (a + b)
    below, sizes = (a < b)[apart], sizes[apart]
    between = np.diff(np.searchsorted(found, sizes))
    assert np.array_equal(below[1:] != below[:-1], between % 2 == 1)


@laws
@given(curves, curves, largest)
def test_order_really_changes(f: CostFunction, g: CostFunction, high: float) -> None:
    """The floats that the cost functions return change order right after each crossing, unless rounding hides it."""
    found = crossings(f, g, 0.0, high)

    assert len(found) <= 5
    assert all(a < b for a, b in pairwise([0.0, *found, high]))
    for n in found:
        after = math.nextafter(n, math.inf)
        assert (f(n) < g(n)) != (f(after) < g(after)) or f(n) == pytest.approx(g(n), rel=1e-14)


@laws
@given(curves, curves, largest)
def test_order_is_the_order_of_the_floats(f: CostFunction, g: CostFunction, high: float) -> None:
    """In the middle of each piece the flag says which curve is below, unless they are equal up to rounding."""
    start = 0.0
    for end, below in order(f, g, 0.0, high):
        middle = 0.5 * (start + end)
        assert below == (f(middle) < g(middle)) or f(middle) == pytest.approx(g(middle), rel=1e-9)
        start = end


@laws
@given(curves, curves, largest)
def test_swapped_curves_cross_at_the_same_sizes(f: CostFunction, g: CostFunction, high: float) -> None:
    """Swapping the curves changes nothing but where a tie is counted."""
    assume(all(a == b or abs(a - b) > 1e-6 * (a + b) for a, b in zip(f.weights, g.weights, strict=True)))

    one, other = crossings(f, g, 0.0, high), crossings(g, f, 0.0, high)

    assert one == pytest.approx(other, rel=1e-3)


@given(st.sets(st.integers(1, 300), min_size=1, max_size=3))
def test_planted_zeros_of_a_cubic(roots: set[int]) -> None:
    """All zeros of a cubic are found, as well as the rounding of the costs allows: three neighbours are the worst."""
    f, g = cubic(*roots)

    assert crossings(f, g, 0.0, 1e4) == pytest.approx(sorted(roots), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e3])
@pytest.mark.parametrize("roots", [(1, 5, 30, 200, 900), (0.5, 2, 8, 32, 128), (3, 4, 6, 9, 14)])
def test_five_planted_zeros(roots: tuple[float, ...], scale: float) -> None:
    """All five zeros are found where the difference has as many as it can have."""
    terms = basis_terms(np.array(roots))
    weights = np.linalg.svd(terms / terms.max(axis=0))[2][-1] / terms.max(axis=0)
    f, g = parts(list(weights * scale))

    assert crossings(f, g, 0.0, 1e5) == pytest.approx(roots, rel=1e-6)


@pytest.mark.parametrize("term", range(1, 6))
@pytest.mark.parametrize("weight", [1e-15, 1e-6, 1.0, 1e3])
def test_constant_meets_each_term_once(term: int, weight: float) -> None:
    """A term reaches a constant at the largest size that fits it, however small or large that is."""
    rising = CostFunction(tuple(weight * (i == term) for i in range(6)))  # type: ignore[arg-type]

    for size in (1e-9, 1e-3, 1.0, 1e3, 1e8):
        constant = CostFunction.of(rising(size))
        last = rising.largest_size(constant.weights[0])
        assert crossings(constant, rising, 0.0, 1e9) == pytest.approx([last], rel=1e-12)


@given(st.integers(1, 1000), st.booleans())
def test_touching_curves_do_not_cross(root: int, swapped: bool) -> None:
    """A double zero is no crossing."""
    f, g = cubic(root, root)

    assert (crossings(g, f, 0.0, 1e4) if swapped else crossings(f, g, 0.0, 1e4)) == []


def test_rounding_makes_no_crossings_of_a_touch() -> None:
    """(n - r)² (n + a): rounding gives the difference the wrong sign next to r, at one or the other of these sizes."""
    for root in range(1, 64):
        for other in (1, 5, 38):
            assert crossings(*cubic(root, root, -other), 0.0, 64.0) == []
            assert crossings(*cubic(root, root, -other), 0.25 * root, 1.5 * root) == []


def test_curves_that_nearly_touch_cross_twice() -> None:
    """Between crossings 1e-5 apart the difference is far above its rounding error."""
    assert crossings(*cubic(32.0, 32.0 + 1e-5), 0.0, 64.0) == pytest.approx([32.0, 32.0 + 1e-5], abs=1e-6)


@given(st.integers(1, 100), st.booleans())
def test_triple_zero_is_one_crossing(root: int, swapped: bool) -> None:
    """Curves that touch and cross at once change order once."""
    f, g = cubic(root, root, root)

    found = crossings(g, f, 0.0, 1e4) if swapped else crossings(f, g, 0.0, 1e4)

    assert found == pytest.approx([root], rel=1e-4)


@given(curves, largest)
def test_identical_curves_do_not_cross(f: CostFunction, high: float) -> None:
    """A curve is never below itself."""
    assert [(high, False)] == order(f, f, 0.0, high)


@given(curves, st.integers(0, 5), st.floats(1e-15, 1e3))
def test_curves_that_differ_in_one_weight_do_not_cross(f: CostFunction, term: int, more: float) -> None:
    """With one weight raised and the others equal, the curve is above everywhere."""
    g = CostFunction(tuple(w + more * (i == term) for i, w in enumerate(f.weights)))  # type: ignore[arg-type]

    assert [n for n in crossings(f, g, 0.0, 1e9) if f(n) < g(n)] == []


def test_zeros_at_the_ends_are_not_inside() -> None:
    """n² is below n between the sizes 0 and 1, where they are equal."""
    square, linear = CostFunction.of(square=1), CostFunction.of(linear=1)

    assert order(square, linear, 0.0, 1.0) == [(1.0, True)]
    assert order(linear, square, 0.0, 1.0) == [(1.0, False)]


def test_planted_zeros_at_both_ends_and_inside() -> None:
    """Only the zero inside counts."""
    f, g = cubic(2, 5, 9)

    assert pytest.approx(crossings(f, g, 2.0, 9.0)) == [5.0]


@given(curves, curves, st.floats(0.0, 1e9))
def test_single_size_has_no_inside(f: CostFunction, g: CostFunction, n: float) -> None:
    """On one size there is an order but no crossing."""
    [(end, below)] = order(f, g, n, n)

    assert n == end
    assert below == (f(n) < g(n)) or f(n) == pytest.approx(g(n), rel=1e-14)


def test_crossing_is_the_last_float_before_the_change() -> None:
    """A tie belongs to the sizes at which the first curve is not below."""
    flat, rising = CostFunction.of(6), CostFunction.of(1, linear=1)

    assert crossings(flat, rising, 0.0, 9.0) == [5.0]
    assert crossings(rising, flat, 0.0, 9.0) == [math.nextafter(5.0, 0.0)]
