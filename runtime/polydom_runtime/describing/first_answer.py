"""The shortest time in which anything but the prior can answer."""

from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.costs import format_seconds
from polydom_runtime.unit_times import UnitTimes


class FirstAnswer(NamedTuple):
    """The set that fits the shortest deadlines, for the smallest items."""

    features: tuple[str, ...]
    dispatch: float
    feature: float
    model: float
    """The seconds that the node must have for each part: `feature` is of all features, with their steps."""
    accepted: float = 0.0
    """The shortest deadline in seconds that a node accepts: the worst case of dispatch alone."""

    @property
    def seconds(self) -> float:
        """The shortest deadline."""
        return max(self.dispatch + self.feature + self.model, self.accepted)

    def __str__(self) -> str:
        if self.seconds == self.accepted:
            return f"{format_seconds(self.accepted)}: shorter ones are refused, dispatch alone may take as long"
        parts = (("dispatch", self.dispatch), ("+".join(self.features), self.feature), ("its model", self.model))
        return f"{format_seconds(self.seconds)}: " + ", ".join(f"{name} {format_seconds(s)}" for name, s in parts)


def first_answer(bundle: Bundle, regime: Regime = "hot") -> FirstAnswer | None:
    """Return the quickest set that scores higher than the prior; None if there is none.

    As in the guard of the any-time policy, two sums are enough each: of guarded times, and of worst cases.

    Examples
    --------
    >>> from polydom_runtime.bundles.bundle import BundleSpace, Prior, Promise
    >>> from polydom_runtime.bundles.bundle_times import BundleTimes
    >>> from polydom_runtime.bundles.model_entry import ModelEntry
    >>> from polydom_runtime.costs import CostFunction
    >>> times = UnitTimes.given({"mean": CostFunction.of(1e-6, linear=1e-9)}, dispatch=CostFunction.of(2e-6))
    >>> promise = Promise(sizes=(1000.0, 9000.0), budgets=(1.0, 1.0))
    >>> bundle = Bundle(BundleSpace(("mean",), (1,), (0, 1)), BundleTimes.of(times), promise, Prior(0, 0.5),
    ...                 (ModelEntry((0,), 0.8, 5e-6, 1, b""),))
    >>> print(first_answer(bundle))
    9 µs: dispatch 2 µs, mean 2 µs, its model 5 µs
    """
    there = bundle.at(max(bundle.promise.budgets[0], 1e-9), regime)
    # A node refuses by its times hot, whatever the regime.
    accepted = bundle.times.worst.dispatch(bundle.promise.sizes[0])
    kinds = (there.times.guarded, there.times.worst) if there.adds_up and not there.is_greedy else (there.times.worst,)
    found = [
        _parts(there, number, times)._replace(accepted=accepted)
        for number, entry in enumerate(there.models)
        if entry.accuracy > there.prior.accuracy
        for times in kinds
    ]
    return min(found, key=lambda answer: answer.seconds, default=None)


def _parts(bundle: Bundle, number: int, times: UnitTimes) -> FirstAnswer:
    entry, n = bundle.models[number], bundle.promise.sizes[0]
    dispatch, model = times.dispatch(n), entry.seconds * times.model_ratio
    features = entry.cost(n) - entry.seconds if entry.cost is not None else times.of_set(entry.mask)(n)
    return FirstAnswer(tuple(bundle.names[i] for i in entry.order), dispatch, max(features - dispatch, 0.0), model)
