"""The last observations of a unit, and how its time differs from the shipped one."""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

WINDOW, QUICK, SLOWER = 31, 3, 5
"""A history holds the last 31 observations. At the start all of them are as shipped: so many does the bundle count for.
If the last five agree on a large change, or the last three on one that is twice as large, those before are forgotten; a
single odd one moves nothing."""

FOUND_EVERY, FOUND_EARLY = 16, 4
"""To find a median takes some ten microseconds; of a few observations each further one may correct it much."""

LARGE = 0.35
"""A change of the logarithm by more than this is large: a factor of 1.42."""

NOISY = 2.5
"""A jump is so many times as large as the mean error before: few values of a noisy unit agree by chance."""

TINY_NS = 1000.0
"""Where less than a microsecond was shipped, what a unit takes longer is learned: a factor would be one of noise."""

RANGE, BETTER = 2.0, 0.8
"""A constant is learned in place of a factor if the shipped times differ enough to tell one from the other (the longest
is twice the shortest), and its errors are smaller by this factor."""


class Change(NamedTuple):
    """How a time differs from the shipped one: ``factor * time + offset``, the offset in seconds."""

    factor: float = 1.0
    offset: float = 0.0


AS_SHIPPED = Change()


class UnitHistory:
    """The last observations of a unit, each a pair of nanoseconds: shipped, and taken.

    What follows from them is found anew after each 16 observations, after each 4 while there are fewer than 31, and at
    once where the last few agree on a jump.

    `change`: how the unit differs from what was shipped. `usual_ns`: the mean of the shipped times. `noise_ns`: how far
    an observation lies from the estimate in the mean. `observed`: how many observations there were. `newest`: the
    number of the answer with the last one. `shared`: the logarithm of what all units shared when the change was found.
    `constant`: whether the unit can only differ by a constant, as one that is observed together with others, whose
    times are in the pairs.

    Examples
    --------
    >>> history = UnitHistory(10_000.0, AS_SHIPPED)
    >>> [history.add(10_000.0, 40_000.0, number) for number in range(3)]
    [False, False, True]
    >>> round(history.change.factor, 2)
    4.0
    """

    __slots__ = ("_constant", "_pairs", "_spread", "change", "newest", "noise_ns", "observed", "shared", "usual_ns")

    def __init__(self, shipped_ns: float, change: Change, shared: float = 0.0, constant: bool = False) -> None:
        self._pairs = [(shipped_ns, change.factor * shipped_ns + 1e9 * change.offset)] * WINDOW
        self.change, self._constant = change, constant
        self.observed = self.newest = 0
        self.shared, self.usual_ns, self.noise_ns = shared, shipped_ns, 0.0
        self._spread = 0.0

    def add(self, shipped_ns: float, took_ns: float, number: int, shared: float = 0.0) -> bool:
        """Add an observation in answer `number`; return whether what follows was found anew."""
        del self._pairs[: 1 - WINDOW]
        self._pairs.append((shipped_ns, took_ns))
        self.observed += 1
        self.newest = number
        if self.observed >= QUICK:  # fewer say nothing against what was expected
            self.shared = shared
        n_agree = self._n_agree()
        if n_agree:
            del self._pairs[:-n_agree]
        elif self.observed % (FOUND_EVERY if len(self._pairs) == WINDOW else FOUND_EARLY):
            return False
        self.change = factor, offset = _middle(self._pairs, self._constant)
        n = len(self._pairs)
        if not n_agree:  # a few values do not tell how much a unit varies
            self._spread = sum(abs(_log_error(pair, self.change)) for pair in self._pairs) / n
        self.usual_ns = sum(shipped for shipped, _ in self._pairs) / n
        self.noise_ns = sum(abs(took - factor * shipped - 1e9 * offset) for shipped, took in self._pairs) / n
        return True

    def _n_agree(self) -> int:
        """Return how many of the last observations agree on a change that is large, also beside how much all vary."""
        large = max(LARGE, NOISY * self._spread)
        error = _log_error(self._pairs[-1], self.change)
        if -large <= error <= large:  # mostly
            return 0
        least = [error * _log_error(pair, self.change) for pair in self._pairs[-SLOWER:]]
        if min(least[-QUICK:]) > 2.0 * large * abs(error):
            return QUICK
        return SLOWER if min(least) > large * abs(error) else 0


Pair = tuple[float, float]


def _middle(pairs: Sequence[Pair], constant: bool) -> Change:
    """Return the median change: a factor, or a constant where that fits better."""
    shortest, longest = min(pairs)[0], max(pairs)[0]
    offset = Change(1.0, 1e-9 * _median([took - shipped for shipped, took in pairs]))
    if constant or longest < TINY_NS:
        return offset
    factor = Change(_median([max(took, 0.0) / max(shipped, 1.0) for shipped, took in pairs]))
    if longest < RANGE * shortest:
        return factor
    errors = [sum(abs(_log_error(pair, change)) for pair in pairs) for change in (offset, factor)]
    return offset if errors[0] < BETTER * errors[1] else factor


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _log_error(pair: Pair, change: Change) -> float:
    """Return the logarithm of what was taken, divided by what was to be expected; all with a microsecond more."""
    shipped, took = pair
    expected = change.factor * shipped + 1e9 * change.offset
    return log((max(took, 0.0) + TINY_NS) / (max(expected, 0.0) + TINY_NS))
