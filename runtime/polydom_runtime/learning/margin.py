"""The margin: a factor on all planned times, controlled so that no more answers are late than promised.

This is adaptive conformal control (Gibbs and Candès 2021). Each late answer raises the logarithm of the margin by
STEP · (1 - share), each answer in time lowers it by STEP · share, within bounds. At the lower bound, answers in time
are saved for one late answer, which does not raise it: rare late answers that are no more than promised cost nothing.
So among any T answers in a row at most share · T + log(MOST) / STEP + 1 are late, whatever the times do, except those
that are late where the upper bound leaves less than a step: each other late answer uses up what was saved, or lifts the
margin, and it cannot be lifted further than that.

A pause makes an answer late whatever was planned. It is counted apart, and does not move the margin.
"""

import math
from collections.abc import Sequence

LEAST, MOST, STEP = 1.0, 4.0, 0.25
"""Below 1 there is nothing to win: plans are made with the times that gave the best scores when they were chosen."""

PAUSE = 20.0
"""A part of an answer that took longer than the whole deadline, and twenty times as long as it typically does, paused:
no margin makes room for it."""


class Margin:
    """Controls the margin for a promised share of late answers, from 0 to 1.

    `value`: the margin. `late`: the answers that were late through work. `paused`: those that were late through a
    pause. `beyond`: those that were late through work, and that no margin avoids: less than a step below the upper
    bound, or without a feature. There the promise cannot be kept.

    Examples
    --------
    >>> margin = Margin(0.01)
    >>> margin.add_late(paused=False)
    >>> round(margin.value, 3)
    1.281
    """

    __slots__ = ("_down", "_each", "_saved", "_up", "beyond", "late", "paused", "value")

    def __init__(self, share: float, value: float = 1.0) -> None:
        self._down, self._up = math.exp(-STEP * share), math.exp(STEP * (1.0 - share))
        self._each, self._saved = share / max(1.0 - share, share), 0.0  # shares of a late answer
        self.value = min(max(value, LEAST), MOST)
        self.late = self.paused = self.beyond = 0

    def add_in_time(self) -> None:
        """Lower the margin after an answer in time."""
        if self.value > LEAST:
            self.value = max(self.value * self._down, LEAST)
        elif self._saved < 1.0:
            self._saved = min(self._saved + self._each, 1.0)

    def add_late(self, *, paused: bool, lost: bool = False) -> None:
        """Raise the margin after an answer that was late through work, and not through a pause.

        `lost`: whether the answer was late although nothing was computed for it: that no margin can avoid either.
        """
        if paused:
            self.paused += 1
            return
        self.late += 1
        raised = self.value * self._up ** (1.0 - self._saved)
        self.beyond += lost or raised > MOST
        if not lost:
            self.value, self._saved = min(raised, MOST), 0.0


def is_paused(took: Sequence[float], usual: Sequence[float], deadline: float) -> bool:
    """Tell whether a part of an answer paused: see `PAUSE`. All times are in one unit, those of the parts in order.

    >>> is_paused([5.0, 300.0], [5.0, 30.0], 100.0), is_paused([5.0, 300.0], [5.0, 10.0], 100.0)
    (False, True)
    """
    return any(t > deadline and t > PAUSE * u for t, u in zip(took, usual, strict=True))
