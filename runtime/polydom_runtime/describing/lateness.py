"""How late an answer can be. Features and models cannot be interrupted, so it is late by one of them at most."""

from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds


class LongestStep(NamedTuple):
    """The feature, with its shared step, or the model that has the longest worst case."""

    name: str
    seconds: float
    """The worst case of this one alone, with dispatch and the allowance for pauses."""
    size: float
    """The item size."""

    def __str__(self) -> str:
        return f"{self.name}, {format_seconds(self.seconds)} at size {self.size:g}"


def longest_step(bundle: Bundle, n: float | None = None) -> LongestStep:
    """Return the feature or the model that may run longest without a look at the timer, at a given size.

    The guard reads the timer before each feature, and starts it only if the time that it rarely exceeds still fits. So
    an answer is late only by the time that one feature or model takes beyond its guarded time. That is less than
    `seconds` as long as the worst case holds. Within one process nothing bounds the time beyond the worst case; see
    `polydom_runtime.supervision.supervisor`.

    `n`: the item size; the largest measured one if not given.

    Examples
    --------
    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_runtime.bundles.bundle import BundleSpace, Prior, Promise
    >>> from polydom_runtime.bundles.bundle_times import BundleTimes
    >>> from polydom_runtime.unit_times import UnitTimes
    >>> times = UnitTimes.given({"mean": CostFunction.of(1e-6, linear=1e-9)}, dispatch=CostFunction.of(1e-6))
    >>> bundle = Bundle(BundleSpace(("mean",), (1,), (0, 1)), BundleTimes.of(times),
    ...                 Promise((1.0, 1000.0), (1.0, 1.0)), Prior(0, 0.5))
    >>> print(longest_step(bundle))
    mean, 3 µs at size 1000
    """
    n = bundle.promise.sizes[1] if n is None else n
    worst = bundle.times.worst
    pause = worst.dispatch(n)
    steps = {name: worst.of_set(1 << i)(n) for i, name in enumerate(bundle.names)}
    models = {f"model of {m.name(bundle.names)}": pause + m.seconds for m in bundle.models}
    name, seconds = max((steps | models).items(), key=lambda pair: pair[1])
    return LongestStep(name, seconds, n)
