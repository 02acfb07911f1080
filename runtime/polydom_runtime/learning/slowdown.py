"""How much slower the machine is than planned: what all units share, found within a few items."""

QUICK, SLOW = 5, 31
"""The estimate rises when three of the last five items are slow, and falls when most of the last thirty-one are quick.
A single pause changes nothing. After an item of which each part was slow, the next one is planned as slow as the part
that was slowed least."""

CALM = 1.4
"""A ratio up to this counts as 1: so much one answer may differ from another on a machine as it was measured."""

FADING = 0.7
"""An answer without features shows nothing, and counts as this share of the estimate. So features are tried again, the
quick ones first; if they were all tried at once, some would be late each time."""


class Slowdown:
    """Estimates the slow-down from the times that items took, divided by their typical times.

    The estimate is the larger of two running medians, and at least 1. So single pauses do not count; it rises quickly,
    since an answer would be late, and falls slowly. An item that was slow in all its parts counts at once, until the
    next one was not.

    On a machine that is not slower the medians are above 1 for a while now and then, and the times that plans are made
    with hold such spells already. So a ratio counts as 1 unless it exceeds `CALM`. What that does to a median is the
    same as to take the median first and then compare it.

    `stirred`: whether any of the last 31 ratios is above 1; if none is, a further ratio of 1 need not be added.

    Examples
    --------
    >>> slowdown = Slowdown()
    >>> for ratio in (1.0, 9.0, 1.0, 2.0, 2.0, 2.0):
    ...     slowdown.add(ratio)
    >>> slowdown.value
    2.0
    """

    __slots__ = ("_expected", "_least", "_next", "_planned", "_quiet", "_ratios", "_sudden", "stirred", "value")

    def __init__(self) -> None:
        self._ratios = [1.0] * SLOW
        self._next = 0
        self._least = self._expected = self._planned = self._sudden = 1.0
        self._quiet = SLOW
        self.value = 1.0
        self.stirred = False

    def renewed(self) -> "Slowdown":
        """Return an estimate for a new plan, which holds what was expected and seen so far.

        The plan may know a part of it only. So the last two items still count, and a further slow one raises it.
        """
        other = Slowdown()
        other._planned, other._expected = self._expected, self._expected
        for k in (self._next - 2, self._next - 1):
            other.add(self._ratios[k], self._sudden)
        return other

    def expect(self, at_least: float) -> None:
        """Keep the estimate at `at_least` or above until the next call; less by what the plan expects already."""
        self._expected = max(1.0, at_least)
        self._least = max(1.0, self._expected / self._planned)
        self._update()

    def add(self, ratio: float, each: float = 1.0) -> None:
        """Add an item's time divided by the typical one, or 1 if that is below the level at which it counts.

        `each`: the same of the part that was slowed least. O(1) while nothing is slow.
        """
        self._sudden = each if each > CALM else 1.0
        self._quiet = self._quiet + 1 if ratio <= 1.0 else 0
        self.stirred = self._quiet < SLOW
        ratios, k = self._ratios, self._next
        ratios[k] = ratio
        self._next = k + 1 if k + 1 < SLOW else 0
        if ratio > 1.0 or self.value > 1.0:
            self._update()

    def _update(self) -> None:
        ratios, k = self._ratios, self._next
        last = ratios[max(k - QUICK, 0) : k] + ratios[SLOW + min(k - QUICK, 0) :]
        self.value = max(self._least, self._sudden, sorted(last)[QUICK // 2], sorted(ratios)[SLOW // 2])
