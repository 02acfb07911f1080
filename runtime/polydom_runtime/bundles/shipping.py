"""What a bundle ships of the models that are best somewhere: its limits, what they left out, and the price."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NamedTuple

from polydom_runtime.codec.marks import In, Size
from polydom_runtime.codec.unsound import Unsound
from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.features import MAX_FEATURES

from .model_entry import EstimatorName, Score

MAX_LIMIT = 1 << 50
"""The largest limit, and the largest of what it is about."""

LimitedCount = Annotated[int, In(0, MAX_LIMIT)]
Grid = Annotated[tuple[float, ...], Size(0, 1000), In(0.0, HUGE)]

ROUNDING = 1e-9
"""Mean scores may be rounded by this much."""


class Limits(NamedTuple):
    """What all models of a bundle may be together; 0 is no limit."""

    max_models: LimitedCount = 0
    max_bytes: LimitedCount = 0
    """Their number, and the bytes of their files."""
    memory_bytes: LimitedCount = 0
    """The memory of the device."""

    def __str__(self) -> str:
        words = {
            f"{self.max_models} model{'s' * (self.max_models > 1)}": self.max_models,
            _amount(self.max_bytes): self.max_bytes,
            f"the device's memory of {_amount(self.memory_bytes)}": self.memory_bytes,
        }
        return " and ".join(text for text, limit in words.items() if limit)


NO_LIMITS = Limits()


def _amount(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.4g} MB" if size_bytes < 1e10 else f"{size_bytes / 1e9:.3g} GB"


class LeftOut(NamedTuple):
    """A set that is best somewhere, with an estimator, but has no model of it because of a limit."""

    mask: Annotated[int, In(1, 2**MAX_FEATURES - 1)]
    accuracy: Score
    cost: CostFunction
    estimator: EstimatorName = ""


class Amount(NamedTuple):
    """A number of models, the bytes of their files, and the mean score with a good choice of this number."""

    models: LimitedCount
    size_bytes: LimitedCount
    score: Score


@dataclass(frozen=True, slots=True)
class Shipping:
    """What is shipped. Nothing of it is known without a curve.

    Mean scores are over all pairs of `sizes` and `deadlines`, of the best set that fits by worst cases.
    """

    limits: Limits = NO_LIMITS
    n_left_out: LimitedCount = 0
    n_models: LimitedCount = 0
    """The number of models that the limits left out, and of all models of a bundle without limits."""
    score: Score = 0.0
    whole: Score = 0.0
    """The mean score of the bundle, and that without limits."""
    bound: Score = 0.0
    """No choice within the limits has a higher mean score."""
    left_out: Annotated[tuple[LeftOut, ...], Size(0, 10_000)] = ()
    curve: Annotated[tuple[Amount, ...], Size(0, 100)] = ()
    """By rising number of models; the last one is that of all."""
    sizes: Grid = ()
    deadlines: Grid = ()
    """Item sizes, each as likely as the others, and seconds."""

    def _check(self) -> None:
        if not self.curve:
            if self != Shipping():
                raise Unsound("have a curve, if anything is known of it", "none")
            return
        for name, values in (
            ("score, bound and whole", (self.score, self.bound, self.whole)),
            ("scores of the curve", [amount.score for amount in self.curve]),
            ("sizes", self.sizes),
            ("deadlines", self.deadlines),
        ):
            if not _rise(values):
                raise Unsound(f"have {name} that rise", values)
        if any(a.models >= b.models for a, b in pairwise(self.curve)):
            raise Unsound("have numbers of models that rise along the curve", [amount.models for amount in self.curve])
        if not len(self.left_out) <= self.n_left_out <= self.n_models or (self.n_left_out and not any(self.limits)):
            counts = len(self.left_out), self.n_left_out, self.n_models
            raise Unsound("leave out some of all models, because of a limit", (self.limits, counts))
        if len({not left.estimator for left in self.left_out}) > 1:
            raise Unsound("name the estimator of each set that is left out, or of none", "of some")

    def __str__(self) -> str:
        if not self.curve:
            return "it is not stated whether models were left out"
        if not self.n_left_out:
            return "no model was left out"
        other = "no other choice of these models scores more"
        if self.bound > self.score + ROUNDING:
            other = f"no choice of these models scores more than {self.bound:.4g}"
        return (
            f"{self.n_left_out} of {self.n_models} models were left out to keep {self.limits}: the mean score over "
            f"sizes and deadlines is {self.score:.4g} instead of {self.whole:.4g}, and {other}"
        )

    @property
    def scores(self) -> tuple[float, ...]:
        """All scores, to check their range."""
        known = (self.score, self.whole, self.bound) if self.curve else ()
        return *known, *(left.accuracy for left in self.left_out), *(amount.score for amount in self.curve)


def _rise(values: Sequence[float]) -> bool:
    """Return whether there are values, none of which is less than the one before, up to rounding."""
    return bool(values) and all(a - ROUNDING <= b for a, b in pairwise(values))
