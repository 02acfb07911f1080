"""The step by which an answer can be late."""

from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds


class LongestStep(NamedTuple):
    """The feature, with its shared step, or the model that has the longest worst case, at this item size."""

    name: str
    seconds: float
    """The worst case of this one alone, with dispatch and the allowance for pauses."""
    size: float

    def __str__(self) -> str:
        return f"{self.name}, {format_seconds(self.seconds)} at size {self.size:g}"


def longest_step(bundle: Bundle, n: float | None = None) -> LongestStep:
    """Return the feature or the model that may run longest without a look at the timer, at the size n or the largest.

    An answer is late only by the time that one feature or model takes beyond its guarded time: the guard reads the
    timer before each, and cannot interrupt it. Within one process nothing bounds the time beyond the worst case; see
    `polydom_runtime.supervision.supervisor`.
    """
    n = bundle.promise.sizes[1] if n is None else n
    worst = bundle.times.worst
    pause = worst.dispatch(n)
    steps = {name: worst.of_set(1 << i)(n) for i, name in enumerate(bundle.names)}
    models = {f"model of {m.name(bundle.names)}": pause + m.seconds for m in bundle.models}
    name, seconds = max((steps | models).items(), key=lambda pair: pair[1])
    return LongestStep(name, seconds, n)
