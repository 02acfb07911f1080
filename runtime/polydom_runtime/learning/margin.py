"""The margin: a factor on all planned times, controlled so that no more answers are late than promised.

This is adaptive conformal control (Gibbs and Candès 2021) of a debt, counted in late answers. Each late answer raises
it by 1 - share, each answer in time lowers it by share, within bounds. Below zero it is what was saved: late answers
that are no more than promised cost nothing. Above zero the logarithm of the margin grows with its square, so that one
late answer too many costs little, and a row of them much. So among any T answers in a row at most share · T + DEBT +
SAVED are late, whatever the times do, except those that are late where the upper bound leaves less than a step.

A pause makes an answer late whatever was planned. It is counted apart, and does not move the margin.
"""

import math
from collections.abc import Sequence

LEAST, MOST = 1.0, 4.0
"""Below 1 there is nothing to win: plans are made with the times that gave the best scores when they were chosen."""

DEBT, SAVED = 5.5, 1.0
"""The largest debt, at which the margin is `MOST`, and the most that is saved: in late answers."""

PAUSE = 20.0
"""A part of an answer that took longer than the whole deadline, and twenty times as long as it typically does, paused:
no margin makes room for it."""


class Margin:
    """Controls the margin for a promised share of late answers, from 0 to 1.

    `value`: the margin. `late`: the answers that were late through work. `paused`: those that were late through a
    pause. `beyond`: those that were late through work, and that no margin avoids: less than a step below the upper
    bound of the debt, or without a feature. There the promise cannot be kept.

    Examples
    --------
    >>> margin = Margin(0.01)
    >>> for _ in range(3):
    ...     margin.add_late(paused=False)
    >>> round(margin.value, 3)
    1.498
    """

    __slots__ = ("_debt", "_share", "beyond", "late", "paused", "value")

    def __init__(self, share: float, value: float = 1.0) -> None:
        self._share = share
        self.value = min(max(value, LEAST), MOST)
        self._debt = DEBT * math.sqrt(math.log(self.value) / math.log(MOST))
        self.late = self.paused = self.beyond = 0

    def add_in_time(self) -> None:
        """Lower the margin after an answer in time."""
        if self._debt > -SAVED:
            self._owe(self._debt - self._share)

    def add_late(self, *, paused: bool, lost: bool = False) -> None:
        """Raise the margin after an answer that was late through work, and not through a pause.

        `lost`: whether the answer was late although nothing was computed for it: that no margin can avoid either.
        """
        if paused:
            self.paused += 1
            return
        self.late += 1
        raised = self._debt + 1.0 - self._share
        self.beyond += lost or raised > DEBT
        if not lost:
            self._owe(raised)

    def _owe(self, debt: float) -> None:
        self._debt = min(max(debt, -SAVED), DEBT)
        self.value = MOST ** (max(self._debt, 0.0) / DEBT) ** 2


def is_paused(took: Sequence[float], usual: Sequence[float], deadline: float) -> bool:
    """Tell whether a part of an answer paused: see `PAUSE`. All times are in one unit, those of the parts in order.

    >>> is_paused([5.0, 300.0], [5.0, 30.0], 100.0), is_paused([5.0, 300.0], [5.0, 10.0], 100.0)
    (False, True)
    """
    return any(t > deadline and t > PAUSE * u for t, u in zip(took, usual, strict=True))
