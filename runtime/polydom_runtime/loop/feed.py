"""Taking items from a source that may block, fail or end."""

from collections.abc import Callable, Iterable
from typing import Any

from polydom_runtime.clock import Clock, hardware_clock

from .loop_counts import LoopCounts
from .stop import Stop
from .wakeups import own_waits

MAX_BACK_OFF_NS = 1_000_000_000
MAX_DOUBLINGS = 32

BLOCKED_NS = 1_000_000
"""A source that took longer, and slept meanwhile, has waited for its item. Otherwise it has worked on it."""


class ItemFeed:
    """Takes items from a source; counts its exceptions, and tries it again 1, 2, 4, ... periods later, at most 1 s.

    `broke`: the source ended right after it raised; `polled`: it has yielded None; `waited`: it slept before it gave
    an item; `blocked`: it did so for long enough that it waited for the item.
    """

    def __init__(
        self,
        source: Iterable[Any],
        period_ns: int,
        counts: LoopCounts,
        clock: Clock = hardware_clock,
        waits: Callable[[], int] = own_waits,
        stop: Stop | None = None,
    ) -> None:
        self.taken = 0
        self._stop = stop or Stop()
        self.ended = self.broke = self.polled = self.waited = self.blocked = False
        self._clock, self._waits = clock, waits
        self._items = iter(source)
        self._counts = counts
        self._longest = max(1, MAX_BACK_OFF_NS // period_ns)
        self._in_a_row = 0
        self._not_before = 0

    def rehearse(self) -> None:
        """Warm the slow part of `ask` that does not touch the source: a system call."""
        self._waits()
        self._clock()

    def ask(self, k: int) -> Any:
        """Return the next item, or None if there is none in period k; `StopWaiting` if the loop is to stop."""
        if self.ended or k < self._not_before:
            return None
        waits, began = self._waits(), self._clock()
        try:
            item = self._stop.next_of(self._items)
        except StopIteration:
            self.ended, self.broke = True, self._in_a_row > 0
            return None
        except Exception as e:
            self._counts.failed("source", e)
            self._not_before = k + min(1 << min(self._in_a_row, MAX_DOUBLINGS), self._longest)
            self._in_a_row += 1
            return None
        finally:
            self.waited = self._waits() > waits
            self.blocked = self.waited and self._clock() - began > BLOCKED_NS
        self._in_a_row = 0
        if item is None:
            self.polled = True
        else:
            self.taken += 1
        return item
