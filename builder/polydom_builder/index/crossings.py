"""Where two cost functions change order: the sign changes of their difference."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from scipy.optimize import brentq

from polydom_runtime.costs import CostFunction

Function = Callable[[float], float]

NEAR_ZERO = 1e-10
"""Relative distance from a zero of f - g at which the two costs usually differ by more than their rounding errors."""

ROUNDING_OF_TERMS = 2.0**-49
"""A bound on the rounding error of f - g, as a share of the sum of its terms without their signs."""


def crossings(f: CostFunction, g: CostFunction, low: float, high: float) -> list[float]:
    """Return the rising sizes strictly inside [low, high], low >= 0, at which f - g changes sign.

    Each is the last float before ``f(n) < g(n)`` changes for the floats that the cost functions return, so that an
    index built from it agrees with a comparison of costs at every size. Where rounding hides the change, it is the
    zero of f - g. Curves that only touch, and identical curves, have no crossing.

    O(1): there are at most five. With x = 1 + n the difference is P(x) + Q(x)·log x, where P is at most cubic and Q at
    most linear. Its second derivative times x² is a cubic polynomial, so it has at most 3 zeros, the slope at most 4
    and the difference at most 5 (Rolle's theorem). The zeros of the cubic enclose those of the slope, and these
    enclose those of the difference, so zeros are searched from the inside out.

    One cost is 1 s and 1 ms for each element, the other 1 µs for each pair: they are equal at 1 + 1e-3·n = 1e-6·n².

    >>> linear, pairs = CostFunction.of(1, linear=1e-3), CostFunction.of(square=1e-6)
    >>> [round(n, 2) for n in crossings(linear, pairs, 0, 1e4)]
    [1618.03]
    """
    return [end for end, _ in order(f, g, low, high)[:-1]]


def order(f: CostFunction, g: CostFunction, low: float, high: float) -> list[tuple[float, bool]]:
    """Return the end of each piece of [low, high] between crossings, and whether f < g in it. O(1).

    >>> [(round(end), below) for end, below in order(CostFunction.of(6), CostFunction.of(1, linear=1), 0, 9)]
    [(5, False), (9, True)]
    """
    weights = tuple(a - b for a, b in zip(f.weights, g.weights, strict=True))
    difference = _difference(weights)
    # A zero at an end of the range is no change of sign inside it, and a zero at a turning point is a touch: neither
    # separates two pieces, so both are excluded from the nodes.
    nodes = [(n, d < 0.0) for n in (low, high) if (d := difference(n)) != 0.0]
    if len(nodes) < 2 or _variations(weights) > 1:
        # At a touch, rounding may give the difference the other sign: that would be two crossings next to each other.
        size_of_terms = _difference([abs(w) for w in weights])
        turns = [
            n for n in _turning_points(weights, low, high) if abs(difference(n)) > ROUNDING_OF_TERMS * size_of_terms(n)
        ]
        nodes = [(n, d < 0.0) for n in (low, *turns, high) if (d := difference(n)) != 0.0]
    changes = [(_switch(f, g, difference, a, b), below) for (a, below), (b, other) in pairwise(nodes) if below != other]
    pieces = [(end, below) for end, below in changes if end > low]
    return [*pieces, (high, bool(nodes) and nodes[-1][1])]


def _difference(weights: Sequence[float]) -> Function:
    """Return the function f - g by the differences of the weights, lest a large common term hides its sign."""
    constant, log, linear, nlogn, square, cube = weights

    def difference(n: float) -> float:
        ln = math.log1p(n)
        return constant + log * ln + linear * n + nlogn * (n * ln) + square * (n * n) + cube * (n * n * n)

    return difference


def _variations(weights: Sequence[float]) -> int:
    """Count the sign changes in a sequence, without its zeros.

    With one of them, a difference of two curves has at most one zero in n > 0: the ratio of a faster growth term to a
    slower one rises, so that of the part with one sign to the other rises too, and equals 1 at most once.
    """
    signs = [w > 0.0 for w in weights if w != 0.0]
    return sum(a != b for a, b in pairwise(signs))


def _switch(f: CostFunction, g: CostFunction, difference: Function, low: float, high: float) -> float:
    """Return the last float before ``f < g`` changes, given that the difference has one zero in (low, high)."""
    below = difference(low) < 0.0
    zero = _zero(difference, low, high)
    low, high = max(low, zero * (1.0 - NEAR_ZERO)), min(high, zero * (1.0 + NEAR_ZERO))
    if (f(low) < g(low)) != below or (f(high) < g(high)) == below:
        return zero  # here the curves differ by less than their rounding errors
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if (f(middle) < g(middle)) == below else (low, middle)
    return low


def _turning_points(weights: Sequence[float], low: float, high: float) -> list[float]:
    """Return the sizes inside (low, high) at which the slope of the difference changes sign."""
    _, d1, d2, d3, d4, d5 = weights

    def slope(n: float) -> float:
        return (d1 + d3 * n) / (1.0 + n) + d2 + d3 * math.log1p(n) + (2.0 * d4 + 3.0 * d5 * n) * n

    # The slope's own derivative, times (1 + n)².
    bend = (2.0 * d3 - d1 + 2.0 * d4, d3 + 4.0 * d4 + 6.0 * d5, 2.0 * d4 + 12.0 * d5, 6.0 * d5)
    return _zeros(slope, _polynomial_zeros(bend, low, high), low, high)


def _polynomial_zeros(coefficients: Sequence[float], low: float, high: float) -> list[float]:
    """Return the sign changes inside (low, high), low >= 0, of a polynomial given by coefficients, constant first."""
    if _variations(coefficients) == 0:
        return []
    derivative = [power * w for power, w in enumerate(coefficients)][1:]

    def value(n: float) -> float:
        result = 0.0
        for w in reversed(coefficients):
            result = result * n + w
        return result

    return _zeros(value, _polynomial_zeros(derivative, low, high), low, high)


def _zeros(function: Function, turning_points: list[float], low: float, high: float) -> list[float]:
    """Return the sign changes inside (low, high) of a function that is monotone between its turning points."""
    values = [(n, v) for n in (low, *turning_points, high) if (v := function(n)) != 0.0]
    return [_zero(function, a, b) for (a, u), (b, v) in pairwise(values) if (u < 0.0) != (v < 0.0)]


def _zero(function: Function, low: float, high: float) -> float:
    # The absolute tolerance is tiny, so that zeros near the size 0 are found to full relative precision too.
    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-15, maxiter=2000, disp=False))
