"""Cost functions c(S, n): non-negative combinations of six growth terms, so that costs rise with the item size."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .codec.marks import In
from .exceptions import CostFunctionError

BASIS = ("1", "log n", "n", "n log n", "n^2", "n^3")
"""Growth terms, slowest first; ``log n`` is log(1 + n), which is 0 at n = 0."""


HUGE = 2.0**300
"""Items are smaller than this; its cube is still a finite float."""

MAX_WEIGHT = 1e18
"""The largest weight in a file. The sum of many costs of the largest item, in nanoseconds, is still a finite number."""


def basis_terms(sizes: ArrayLike) -> NDArray[np.float64]:
    """Return the six growth terms at each size, shape ``(*sizes.shape, 6)``."""
    n = np.asarray(sizes, dtype=np.float64)
    log = np.log1p(n)
    return np.stack([np.ones_like(n), log, n, n * log, n * n, n * n * n], axis=-1)


@dataclass(frozen=True, slots=True)
class CostFunction:
    """Cost as a function of the item size n, in seconds unless costs were measured in another unit.

    Parameters
    ----------
    weights : tuple of 6 floats
        Finite and non-negative, in the order of `BASIS`.

    Raises
    ------
    CostFunctionError
        If there are not six weights, or one is negative, infinite or NaN.

    Examples
    --------
    >>> cost = CostFunction.of(constant=2e-6, linear=1e-9)
    >>> f"{cost(1000):.2e}"
    '3.00e-06'
    >>> round(cost.largest_size(3e-6))
    1000
    >>> print(cost)
    2 µs + 1 ns·n
    """

    weights: Annotated[tuple[float, float, float, float, float, float], In(0.0, MAX_WEIGHT)]

    def __post_init__(self) -> None:
        weights = self.weights
        if len(weights) == len(BASIS) and min(weights) >= 0.0 and sum(weights) < math.inf:
            return  # the quick way for nearly all: no NaN passes a sum
        if len(weights) != len(BASIS) or not all(0.0 <= w < math.inf for w in weights):
            raise CostFunctionError(
                f"A cost function must have {len(BASIS)} finite, non-negative weights (one for each of {BASIS}). "
                f"Got {weights}. Fit the costs again."
            )

    @classmethod
    def of(
        cls,
        constant: float = 0.0,
        log: float = 0.0,
        linear: float = 0.0,
        nlogn: float = 0.0,
        square: float = 0.0,
        cube: float = 0.0,
    ) -> "CostFunction":
        """Make a cost function from named weights.

        Parameters
        ----------
        constant, log, linear, nlogn, square, cube : float
            Weights of 1, log(1 + n), n, n log(1 + n), n² and n³: seconds for each unit of the term.

        Raises
        ------
        CostFunctionError
            If a weight is negative, infinite or NaN.
        """
        return cls((constant, log, linear, nlogn, square, cube))

    def __call__(self, n: float) -> float:
        """Return the cost of an item of size `n`; O(1)."""
        constant, log, linear, nlogn, square, cube = self.weights
        ln = math.log1p(n)
        return constant + log * ln + linear * n + nlogn * (n * ln) + square * (n * n) + cube * (n * n * n)

    def __add__(self, other: "CostFunction") -> "CostFunction":
        a, b = self.weights, other.weights
        return CostFunction((a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]))

    def __mul__(self, factor: float) -> "CostFunction":
        a, b, c, d, e, f = self.weights
        return CostFunction((a * factor, b * factor, c * factor, d * factor, e * factor, f * factor))

    def largest_size(self, budget: float) -> float:
        """Return n*(budget), the largest size whose cost fits the budget.

        -inf if not even an empty item fits, inf if every item fits. Exact to one unit in the last place; O(1).
        """
        if self(0.0) > budget:
            return -math.inf
        if not any(self.weights[1:]):
            return math.inf
        low, high = 0.0, 1.0
        while self(high) <= budget:
            low, high = high, high * 2.0
            if high > HUGE:
                return math.inf
        while low < (middle := 0.5 * (low + high)) < high:
            if self(middle) <= budget:
                low = middle
            else:
                high = middle
        return low

    def __str__(self) -> str:
        terms = [
            format_seconds(w) + ("" if name == "1" else "·" + name)
            for w, name in zip(self.weights, BASIS, strict=True)
            if w > 0.0
        ]
        return " + ".join(terms) or "0"


ZERO = CostFunction.of()


def total(costs: Iterable[CostFunction]) -> CostFunction:
    """Return the sum of cost functions."""
    a = b = c = d = e = f = 0.0
    for cost in costs:  # not by `+`: a node adds up hundreds when it starts
        u, v, w, x, y, z = cost.weights
        a, b, c, d, e, f = a + u, b + v, c + w, d + x, e + y, f + z
    return CostFunction((a, b, c, d, e, f))


def format_seconds(seconds: float) -> str:
    """Return a duration as text for people, with three digits and a unit.

    >>> format_seconds(0.00123)
    '1.23 ms'
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-12:.3g} ps" if seconds > 0.0 else "0 s"
