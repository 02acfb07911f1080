"""Limits of training: the number of feature sets, and the time."""

import math
import time
from collections.abc import Callable

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.inputs import ScoreSets, ask


class Spent(Exception):
    """The limits do not allow the next training."""


class LimitedScore:
    """A `score` that trains as long as the limits allow, and keeps all scores in `trained`.

    `least` sets, `what` in the message, are trained in any case, or `LatticeError` is raised. Above an `alpha` of 1 no
    score may be negative.
    """

    def __init__(
        self,
        score: ScoreSets,
        least: int,
        what: str,
        max_trainings: int | None,
        max_seconds: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_trainings is not None and max_trainings < least:
            raise LatticeError(f"'max_trainings' must pay for {what}: at least {least}. Got {max_trainings}.")
        if max_seconds is not None and not max_seconds > 0.0:
            raise LatticeError(f"'max_seconds' must be > 0. Got {max_seconds}.")
        self._score, self._least, self._clock = score, least, clock
        self._trainings = math.inf if max_trainings is None else max_trainings
        self._deadline = math.inf if max_seconds is None else clock() + max_seconds
        self.alpha = 1.0
        self.trained: dict[int, float] = {}

    def __call__(self, masks: list[int]) -> list[float]:
        """Train a batch, or the part of it that the limits allow; then raise `Spent`."""
        if len(self.trained) >= self._least and self._clock() >= self._deadline:
            raise Spent
        paid = masks[: int(min(self._trainings - len(self.trained), len(masks)))]
        scores = ask(self._score, paid, self.alpha) if paid else []
        self.trained.update(zip(paid, scores, strict=True))
        if len(paid) < len(masks):
            raise Spent
        return scores
