"""The work that a supervisor's learner decides on, done by other processes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.learning.learned_times import Changes, Unit

from .keeper import Keeper


class WorkersWork:
    """Lets the nursery lay out plans for workers to come, and a worker run single units.

    `models`: the numbers of the models in memory. `took_ns`: lets a worker run a unit on an item; returns how long it
    took, None if that is not known.
    """

    def __init__(self, keeper: Keeper, models: Sequence[int], took_ns: Callable[[Unit, Any], int | None]) -> None:
        self._keeper, self.models, self.took_ns = keeper, models, took_ns

    def renew(self, regime: Regime, changes: Changes) -> Iterator[None]:
        """Send the changes for the plan of a regime; that takes one slice."""
        self._keeper.learn(regime, changes)
        yield
