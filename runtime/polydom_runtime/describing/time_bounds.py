"""The shortest time in which anything but the prior can answer, and the step by which an answer can be late."""

from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import APART, Regime
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import format_seconds

LONGER, HALVINGS = 10, 7
"""How often a longer deadline is tried in search of the first answer, and then the middle between two."""


class FirstAnswer(NamedTuple):
    """The set that fits the shortest deadlines, for the smallest items."""

    features: tuple[str, ...]
    dispatch: float
    waking: float
    feature: float
    model: float
    """`dispatch`, `waking`, `feature`, `model`: the seconds that the node must have for each part; `feature` is for all
    features, with their steps."""
    accepted: float = 0.0
    """The shortest deadline in seconds that a node accepts: the worst case of dispatch alone."""

    @property
    def seconds(self) -> float:
        """The shortest deadline."""
        return max(self.dispatch + self.waking + self.feature + self.model, self.accepted)

    def __str__(self) -> str:
        if self.seconds == self.accepted:
            return f"{format_seconds(self.accepted)}: shorter ones are refused, dispatch alone may take as long"
        names, times = ("dispatch", "waking", "+".join(self.features), "its model"), self[1:5]
        parts = (f"{name} {format_seconds(s)}" for name, s in zip(names, times, strict=True) if s or name != "waking")
        return f"{format_seconds(self.seconds)}: {', '.join(parts)}"


def first_answer(bundle: Bundle, regime: Regime = "hot") -> FirstAnswer | None:
    """Return the quickest set that scores above the prior, by guarded times or worst cases; None if there is none.

    Each deadline has its own guarded times, so the shortest one that is enough by its own is looked for.
    """
    low = high = max(bundle.promise.budgets[0], 1e-9)
    first = _first_at(bundle, regime, high)
    for _ in range(LONGER):
        if first is None or first.seconds <= high * APART:
            break
        low, high = high, first.seconds
        first = _first_at(bundle, regime, high)
    for _ in range(HALVINGS * (low < high)):
        middle = (low + high) / 2.0
        found = _first_at(bundle, regime, middle)
        if found is not None and found.seconds <= middle:
            first, high = found, middle
        else:
            low = middle
    return first


def _first_at(bundle: Bundle, regime: Regime, deadline: float) -> FirstAnswer | None:
    there = bundle.at(deadline, regime)
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
    dispatch, waking, model = times.dispatch(n), times.waking(n), entry.seconds * times.model_ratio
    whole = entry.cost(n) - entry.seconds if entry.cost is not None else times.of_set(entry.mask)(n)
    names, features = tuple(bundle.names[i] for i in entry.order), max(whole - dispatch - waking, 0.0)
    return FirstAnswer(names, dispatch, waking, features, model)


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
