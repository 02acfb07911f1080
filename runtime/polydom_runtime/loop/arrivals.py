"""When the next item will come, of a source that waits for its items: so a rehearsal can end just before."""

from collections import deque
from itertools import pairwise

REMEMBERED = 16
"""The number of times between two arrivals that are remembered; before there are so many, nothing is foreseen."""

MOST_APART_NS = 500_000
"""The items come regularly if these times differ by no more: code stays warm for a millisecond after a rehearsal."""


EARLY_NS = 100_000
"""The next item may come so much sooner after the last one than any did before."""


class Arrivals:
    """Foresees the next arrival from the last ones, if they were regular.

    Examples
    --------
    >>> arrivals = Arrivals()
    >>> for k in range(17):
    ...     arrivals.add(k * 20_000_000 + (k % 2) * 100_000)
    >>> arrivals.next_ns - 320_000_000
    19800000
    """

    def __init__(self) -> None:
        self._came: deque[int] = deque(maxlen=REMEMBERED + 1)

    def add(self, now: int) -> None:
        """Note an arrival."""
        self._came.append(now)

    @property
    def next_ns(self) -> int | None:
        """The earliest time at which the next item should come; None if that cannot be told."""
        apart = [after - before for before, after in pairwise(self._came)]
        if len(apart) < REMEMBERED or max(apart) - min(apart) > MOST_APART_NS:
            return None
        return self._came[-1] + min(apart) - EARLY_NS
