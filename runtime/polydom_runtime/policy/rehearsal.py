"""The items of a rehearsal, which makes code warm again: the processor's caches lose it while a loop sleeps.

Warm code is nearly the same for items of all sizes, so small items do, and they are quick. A small item is answered
first, again if the code was still too cold to get as far as the last time. If that was quick, a larger item follows,
for the code and the memory that only larger items need.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from polydom_runtime.clock import Clock

T = TypeVar("T")

RECENT = 64
"""The number of recent item sizes that are remembered."""

SMALL, LARGER = 1 / 32, 1 / 4
"""The ranks of the kept items among the recent sizes."""

MAX_BYTES = 1 << 20
"""A larger array is not kept. To copy it takes long, and next to the time for such an item, cold code is little."""

REPEATS = 3
"""How often the small item is answered at most."""

BRIEF_NS = 1_000_000
"""No further answer is begun after this time, or half of the deadline if that is longer: it would warm little more."""


class Kept(NamedTuple):
    """An item that was kept, and its size."""

    item: Any
    size: float


class KeptItems:
    """A small and a larger one of the items that came.

    `small`, `larger`: they may be the same; None before the first item. `best`: the expected score that the small item
    reached in the last rehearsal.
    """

    __slots__ = ("_sizes", "best", "larger", "small")

    def __init__(self) -> None:
        self._sizes: deque[float] = deque(maxlen=RECENT)
        self.small: Kept | None = None
        self.larger: Kept | None = None
        self.best = float("inf")

    def offer(self, item: Any, size: float) -> Kept | None:
        """Keep an item if its size has one of the wanted ranks more nearly than the kept one; an array as a copy.

        Returns what units may be tried on: this item, since a kept one may be unlike most, or else the small one.
        """
        if item is None or not 0.0 < size < float("inf") or getattr(item, "nbytes", 0) > MAX_BYTES:
            return self.small
        self._sizes.append(size)
        small, larger = as_kept(sorted(self._sizes))
        is_small, is_larger = _is_nearer(size, self.small, small), _is_nearer(size, self.larger, larger)
        if is_small or is_larger:
            kept = Kept(item.copy("K") if isinstance(item, np.ndarray) else item, size)
            self.small, self.larger = kept if is_small else self.small, kept if is_larger else self.larger
        return Kept(item, size)

    def rehearse(self, answer: Callable[[Any], float | None], clock: Clock, deadline_ns: int) -> None:
        """Answer kept items, if there are any; one to four answers.

        `answer`: answers an item. Returns the expected score, or None if it could not: then the rehearsal ends.
        `deadline_ns`: the deadline of real items.
        """
        small, larger = self.small, self.larger
        if small is None:
            return
        end, reached = clock() + max(BRIEF_NS, deadline_ns // 2), 0.0
        for _ in range(REPEATS):
            score = answer(small.item)
            if score is None:
                return
            reached = max(reached, score)
            if reached >= self.best or clock() >= end:
                break
        self.best = reached
        if larger is not None and larger is not small and clock() < end:
            answer(larger.item)


def as_kept(by_size: Sequence[T]) -> tuple[T, T]:
    """Return the small and the larger item that would be kept of items by rising size; they may be the same."""
    return by_size[int(SMALL * len(by_size))], by_size[int(LARGER * len(by_size))]


def _is_nearer(size: float, kept: Kept | None, wanted: float) -> bool:
    return kept is None or abs(size - wanted) < abs(kept.size - wanted)
