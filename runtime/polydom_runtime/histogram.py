"""A histogram of durations that needs the same memory however many it counts."""

import math
from array import array
from collections.abc import Sequence

import numpy as np

BITS = 6
"""The number of leading bits of a duration that choose its bucket: 32 buckets for each factor of 2."""

HALF = 1 << BITS - 1
RELATIVE_ERROR = 1.0 / (2 * HALF)
"""The largest relative error of a quantile: 1.6 % from 32 ns up; shorter ones are exact."""

MAX_BITS = 44
MAX_NS = (1 << MAX_BITS) - 1
"""Almost five hours; in quantiles, a longer duration counts as this one."""

N_BUCKETS = (MAX_BITS - BITS + 2) * HALF


class Histogram:
    """Counts durations in buckets whose width grows with the duration; needs 10 kB.

    >>> histogram = Histogram()
    >>> for ns in (1_000, 2_000, 50_000):
    ...     histogram.add(ns)
    >>> histogram.count, histogram.total_ns, histogram.longest_ns
    (3, 53000, 50000)
    >>> abs(histogram.quantiles([0.5])[0] / 2_000 - 1) <= RELATIVE_ERROR
    True
    """

    __slots__ = ("_counts", "longest_ns", "total_ns")

    def __init__(self) -> None:
        self._counts = array("q", bytes(8 * N_BUCKETS))
        self.total_ns = 0
        self.longest_ns = 0

    def add(self, ns: int) -> None:
        """Count one duration; a negative one, as of a clock that jumped back, counts as 0. O(1)."""
        if HALF <= ns <= MAX_NS:
            shift = ns.bit_length() - BITS
            self._counts[shift * HALF + (ns >> shift)] += 1
        else:
            ns = max(ns, 0)
            self._counts[min(ns, N_BUCKETS - 1)] += 1
        self.total_ns += ns
        if ns > self.longest_ns:
            self.longest_ns = ns

    @property
    def count(self) -> int:
        """The number of durations that were added."""
        return int(np.frombuffer(self._counts, dtype=np.int64).sum())

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return quantiles in nanoseconds, each within `RELATIVE_ERROR` of the exact one; NaN without durations."""
        below = np.cumsum(np.frombuffer(self._counts, dtype=np.int64))
        if not below[-1]:
            return [math.nan] * len(shares)
        ranks = [max(1, math.ceil(share * int(below[-1]))) for share in shares]
        buckets = np.searchsorted(below, ranks).tolist()
        return [min(_middle(bucket), float(self.longest_ns)) for bucket in buckets]

    def counts_below(self, edges_ns: Sequence[int]) -> list[int]:
        """Return the exact number of durations that are shorter than each edge; edges must be those of buckets."""
        below = np.cumsum(np.frombuffer(self._counts, dtype=np.int64))
        return [int(below[_bucket(edge) - 1]) if edge > 0 else 0 for edge in edges_ns]


def _bucket(ns: int) -> int:
    shift = max(ns.bit_length() - BITS, 0)
    return shift * HALF + (ns >> shift)


def _middle(bucket: int) -> float:
    shift = max(bucket // HALF - 1, 0)
    return float((bucket - shift * HALF) << shift) + ((1 << shift) - 1) / 2
