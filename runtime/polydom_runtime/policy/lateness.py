"""How late an answer can be: features in numpy and models cannot be interrupted, so by one step at most."""

from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds


class LongestStep(NamedTuple):
    """The feature, with its shared step, or the model that may take longest.

    Attributes
    ----------
    name : str
    seconds : float
        Its worst case alone, dispatch and what pauses may add included.
    size : float
        At which size.
    """

    name: str
    seconds: float
    size: float

    def __str__(self) -> str:
        return f"{self.name}, {format_seconds(self.seconds)} at size {self.size:g}"


def longest_step(bundle: Bundle, n: float | None = None) -> LongestStep:
    """Return the longest single step at a size, the largest measured one if not given.

    The guard looks at the timer between steps, and begins one only if what it seldom exceeds fits. So an answer is late
    only by what a single step takes beyond that, and by less than `seconds` if it stays within its worst case. What a
    step does beyond that is not bounded inside the process; see `polydom_runtime.supervision.supervisor`.

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
    models = {"model of " + "+".join(bundle.names[i] for i in m.order): pause + m.seconds for m in bundle.models}
    name, seconds = max((steps | models).items(), key=lambda pair: pair[1])
    return LongestStep(name, seconds, n)
