"""The cost of a feature set by a rule of the user, for parallel lanes, caches or any other cost that never falls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import BASIS, ZERO, CostFunction, total
from polydom_runtime.features import members

from .inputs import cost_function
from .set_costs import SetCosts

Combine = Callable[[Mapping[Any, CostFunction]], CostFunction]
"""A rule: takes the cost of each feature of a set, by name (by position without names); returns the cost of the set."""

MAX_KNOWN = 1 << 18
"""The largest number of sets whose costs are kept in memory: about 0.1 GB."""

CHAINS = 8
"""The number of chains from the empty to the full set that are checked at the start."""

MERE_ROUNDING = 1e-12
"""A weight may fall by this share, which is mere rounding."""


class CombinedCosts:
    """c(S, n) by a function of the costs of the features in S.

    `combine` takes the costs of the features in S by name (by position without `names`), in the order of the features.
    It must accept the empty set, and return the same cost each time for the same set. No weight may fall when a
    feature is added, since the searches rely on it. A cost that is not a CostFunction, such as the longer of two
    lanes, must be bounded by one, see `upper`.

    Raises `LatticeError`, here and later when a set is evaluated, if `combine` raises, returns something else, or lets
    a weight fall between two sets that differ by one feature. These are compared whenever both are known, and at the
    start on a few random chains from the empty to the full set, which finds most faults, not all.

    A camera and a microphone are processed at the same time, each on a core of its own, and dispatch takes 1. Beside
    both features of the camera, the loudness costs nothing; a sum would add its cost:

    >>> names = ("edges", "colours", "loudness", "pitch")
    >>> parts = [CostFunction.of(linear=w) for w in (2.0, 1.0, 1.0, 4.0)]
    >>> camera = {"edges", "colours"}
    >>> def lanes(costs):
    ...     left = sum((c for name, c in costs.items() if name in camera), ZERO)
    ...     right = sum((c for name, c in costs.items() if name not in camera), ZERO)
    ...     return upper([left, right]) + CostFunction.of(1.0)
    >>> costs = CombinedCosts(parts, lanes, names=names)
    >>> [costs(mask)(10.0) for mask in (0b0000, 0b0011, 0b0111, 0b1111)]
    [1.0, 31.0, 31.0, 51.0]
    """

    def __init__(self, features: Sequence[CostFunction], combine: Combine, names: Sequence[str] | None = None) -> None:
        self.features = tuple(features)
        self.combine = combine
        self.names: tuple[Any, ...] = tuple(range(len(self.features)) if names is None else names)
        if len(self.names) != len(self.features) or len(set(self.names)) != len(self.names):
            raise LatticeError(
                f"There must be one different name for each of the {len(self.features)} features. Got {self.names}."
            )
        self._known: dict[int, CostFunction] = {}
        self._check_chains()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    def __call__(self, mask: int) -> CostFunction:
        """Return the cost function of one set. Up to `MAX_KNOWN` of them are kept in memory."""
        cost = self._known.get(mask)
        if cost is None:
            cost = self._combined(mask)
            self._compare(mask, cost)
            if len(self._known) >= MAX_KNOWN:  # drop the oldest: its neighbours were compared long ago
                del self._known[next(iter(self._known))]
            self._known[mask] = cost
        return cost

    def weights(self, masks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of many sets, shape ``(n_sets, 6)``, with one call of `combine` for each new set."""
        return np.array([self(mask).weights for mask in masks.tolist()], dtype=np.float64).reshape(-1, len(BASIS))

    def _combined(self, mask: int) -> CostFunction:
        parts = {self.names[i]: self.features[i] for i in members(mask)}
        try:
            cost = self.combine(parts)
        except Exception as e:
            raise LatticeError(f"`combine` must work on every set. It raised {e!r} for {self._named(mask)}.") from e
        if not isinstance(cost, CostFunction):
            raise LatticeError(f"`combine` must return a CostFunction. Got {cost!r} for {self._named(mask)}.")
        return cost

    def _compare(self, mask: int, cost: CostFunction) -> None:
        """Raise LatticeError if a known set with one feature less costs more, or one with one feature more less."""
        for i in range(self.n_features):
            neighbour = mask ^ 1 << i
            other = self._known.get(neighbour)
            if other is None:
                continue
            small, large = (other, cost) if neighbour < mask else (cost, other)
            if any(a * (1.0 - MERE_ROUNDING) > b for a, b in zip(small.weights, large.weights, strict=True)):
                raise LatticeError(
                    "`combine` must not let a weight fall when a feature is added. "
                    f"Got {small.weights} for {self._named(mask & neighbour)} and {large.weights} for "
                    f"{self._named(mask | neighbour)}. Return a bound that rises, such as the `upper` of its parts."
                )

    def _check_chains(self) -> None:
        rng = np.random.default_rng(0)
        for order in [range(self.n_features), *(rng.permutation(self.n_features) for _ in range(CHAINS - 1))]:
            mask = 0
            self(mask)
            for i in order:
                mask |= 1 << int(i)
                self(mask)

    def _named(self, mask: int) -> str:
        return "{" + ", ".join(str(self.names[i]) for i in members(mask)) + "}"


def costs_of_sets(times: UnitTimes, model_seconds: float, combine: Combine | None = None) -> SetCosts | CombinedCosts:
    """Return the cost of any set: dispatch; unless it is empty, features (by `combine` or summed), steps, a model."""
    names, features = times.names[: times.n_features], times.features
    everyone = (1 << len(features)) - 1
    once = CostFunction.of(model_seconds) + times.waking  # whichever features are in the set
    if combine is None:
        shared = [(step.cost, step.users) for step in times.steps]
        return SetCosts(features, [*shared, (once, everyone)], times.dispatch)
    bit = {name: 1 << i for i, name in enumerate(names)}

    def whole(parts: Mapping[str, CostFunction]) -> CostFunction:
        mask = sum(bit[name] for name in parts)
        steps = [step.cost for step in times.steps if step.users & mask]
        return total([combine(parts), *steps, *([once] if mask else []), times.dispatch])

    return CombinedCosts(features, whole, names)


def upper(costs: Iterable[CostFunction]) -> CostFunction:
    """Return the least cost function with no weight below that of any given one, to bound the slowest of lanes.

    >>> print(upper([CostFunction.of(1, linear=2), CostFunction.of(3)]))
    3 s + 2 s·n
    """
    return cost_function(np.max([ZERO.weights, *(c.weights for c in costs)], axis=0))
