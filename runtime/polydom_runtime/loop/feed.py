"""Asking a source of items, whatever it does."""

from collections.abc import Iterable
from typing import Any

from .loop_counts import LoopCounts

MAX_BACK_OFF_NS = 1_000_000_000
MAX_DOUBLINGS = 32


class StopWaiting(BaseException):
    """Raised by `Monitor.on_signal` to leave a source that blocks."""


class Feed:
    """Asks a source, whatever it does: after a failure again in the next period, then in 2, 4, 8, ... up to a second.

    Attributes
    ----------
    taken : int
        Items so far.
    waiting, ended, broke, polled : bool
        Whether it is being asked now; has no more; had none right after it raised; has ever had nothing yet.
    """

    def __init__(self, source: Iterable[Any], period_ns: int, counts: LoopCounts) -> None:
        self.taken = 0
        self.waiting = self.ended = self.broke = self.polled = False
        self._items = iter(source)
        self._counts = counts
        self._longest = max(1, MAX_BACK_OFF_NS // period_ns)
        self._in_a_row = 0
        self._not_before = 0

    def ask(self, k: int) -> Any:
        """Return the next item in period k; None if there is none now."""
        if self.ended or k < self._not_before:
            return None
        self.waiting = True
        try:
            item = next(self._items)
        except StopIteration:
            self.ended, self.broke = True, self._in_a_row > 0
            return None
        except Exception as e:
            self._counts.failed("source", e)
            self._not_before = k + min(1 << min(self._in_a_row, MAX_DOUBLINGS), self._longest)
            self._in_a_row += 1
            return None
        finally:
            self.waiting = False
        self._in_a_row = 0
        if item is None:
            self.polled = True
        else:
            self.taken += 1
        return item
