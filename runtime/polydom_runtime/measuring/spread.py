"""How far the times of a unit differ between items of like size, the likely cause, and its cure.

A plan takes costs as functions of the size. But a Fourier transform of 3,064 = 8 * 383 numbers takes ten times as long
as one of 3,072 = 3 * 1,024; compression, sorting and searching depend on the content of the item.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polydom_runtime.arrays import Floats

from .cost_samples import AROUND, CostSamples

NEIGHBOURS, MIN_NEIGHBOURS = 20, 5
"""An item is compared with this number of items of the next smaller and larger sizes, and not with fewer."""

LIKE_SIZE = 1.25
"""Sizes that differ by a larger factor are not alike."""

SLOW_ITEMS, FAST_ITEMS = 0.95, 0.1
"""Quantiles of the times of items of like size: those of slow and of fast items."""

WORTH_TELLING = 1.5
LEAST_CORRELATION, MIN_ITEMS = 0.4, 20
LARGEST_FACTORED = 1e8


@dataclass(frozen=True, slots=True)
class Spread:
    """A unit whose times differ between items of like size."""

    unit: str
    factor: float
    """How many times as long as the median of its neighbours a slow item takes; one in twenty is still slower."""
    gain: float
    """How many times as long as a fast neighbour it takes."""
    by_prime_factors: bool
    """Whether items whose size has a large prime factor are the slow ones. If not, the content is the likely cause."""

    def __str__(self) -> str:
        what = f"{self.unit}: up to {self.factor:.1f} times as long as on other items of like size; likely cause: "
        if self.by_prime_factors:
            return f"{what}sizes with a large prime factor; cure: trim the item to a fast length: x{self.gain:.0f}"
        return f"{what}the content; cure: none needed, the plan allows for it"

    @property
    def warning(self) -> str | None:
        """The warning to keep with the times if there is a cure; else None."""
        if not self.by_prime_factors:
            return None
        return (
            f"{self.unit} takes up to {self.gain:.0f} times as long at sizes with a large prime factor: trim the item "
            "to a fast length"
        )


def spreads(samples: CostSamples) -> list[Spread]:
    """Return the units whose times differ between items of like size, widest spread first; none without two rounds."""
    hot = samples.items.get("hot")
    if hot is None or hot.seconds.shape[1] < MIN_ITEMS or hot.seconds.shape[2] < 2:
        return []
    by_size = np.argsort(hot.sizes, kind="stable")
    sizes, factors = hot.sizes[by_size], largest_prime_factors(hot.sizes[by_size])
    around = [_neighbours(sizes, i) for i in range(len(sizes))]
    found = []
    for unit, times in zip(samples.units, hot.seconds[:, by_size], strict=True):
        if unit in AROUND:  # they look at no more than the size
            continue
        # What is slow in both halves of the rounds is slow by itself; what is slow in one was disturbed.
        halves = [np.median(times[:, k::2], axis=1) for k in (0, 1)]
        slowness = np.min([_relative(half, around, 0.5) for half in halves], axis=0)
        gains = np.min([_relative(half, around, FAST_ITEMS) for half in halves], axis=0)
        known = ~np.isnan(slowness)
        if known.sum() < MIN_ITEMS or (factor := float(np.quantile(slowness[known], SLOW_ITEMS))) < WORTH_TELLING:
            continue
        by_prime_factors = factors is not None and _correlation(factors[known], slowness[known]) >= LEAST_CORRELATION
        found.append(Spread(unit, factor, float(np.quantile(gains[known], SLOW_ITEMS)), by_prime_factors))
    return sorted(found, key=lambda spread: -spread.factor)


def largest_prime_factors(sizes: Floats) -> Floats | None:
    """Return the largest prime factor of each size; None if the sizes are not whole numbers that are quickly factored.

    >>> largest_prime_factors(np.array([3064.0, 3072.0, 1.0]))
    array([383.,   3.,   1.])
    """
    if not ((sizes == np.round(sizes)) & (sizes <= LARGEST_FACTORED)).all():
        return None
    return np.array([_largest_prime_factor(int(n)) for n in sizes], dtype=np.float64)


def _largest_prime_factor(n: int) -> int:
    largest, divisor = 1, 2
    while divisor * divisor <= n:
        if n % divisor:
            divisor += 1
        else:
            largest, n = divisor, n // divisor
    return max(largest, n)


def _neighbours(sizes: Floats, i: int) -> Sequence[int]:
    """Return the positions of items of like size, without item `i`; the sizes are sorted."""
    near = range(max(i - NEIGHBOURS, 0), min(i + NEIGHBOURS + 1, len(sizes)))
    return [j for j in near if j != i and sizes[i] / LIKE_SIZE <= sizes[j] <= sizes[i] * LIKE_SIZE]


def _relative(times: Floats, around: Sequence[Sequence[int]], quantile: float) -> Floats:
    """Return each time divided by a quantile of its neighbours'; NaN where there are too few of them."""
    return np.array(
        [
            time / np.quantile(times[neighbours], quantile) if len(neighbours) >= MIN_NEIGHBOURS else np.nan
            for time, neighbours in zip(times, around, strict=True)
        ]
    )


def _correlation(a: Floats, b: Floats) -> float:
    """Return the correlation of the ranks (Spearman's)."""
    first, second = (np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (a, b))
    middle = (len(a) - 1) / 2
    return float((first - middle) @ (second - middle) / ((first - middle) @ (first - middle)))
