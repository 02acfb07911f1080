"""The times of answers by a worker: with the hand-over to it, and back."""

from collections.abc import Mapping
from dataclasses import replace

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.costs import CostFunction
from polydom_runtime.learning.learned_times import Changes, LearnedTimes


def with_hand_over(bundle: Bundle, seconds: Mapping[Regime, float], *, typical: bool = False) -> Bundle:
    """Return the bundle with the time of a hand-over and its reply added to dispatch, in each regime.

    `typical`: whether to add it to typical times too. The supervisor learns from whole answers; a worker compares
    typical times with its own work only.
    """
    hot = bundle.plus_dispatch(CostFunction.of(seconds["hot"]))
    regimes = {
        name: there._replace(times=there.times.plus_dispatch(CostFunction.of(seconds[name])))
        for name, there in bundle.regimes.items()
    }
    if not typical:
        hot = replace(hot, times=hot.times._replace(typical=bundle.times.typical))
        regimes = {
            name: there._replace(times=there.times._replace(typical=bundle.regimes[name].times.typical))
            for name, there in regimes.items()
        }
    return replace(hot, regimes=regimes)


class WorkerTimes(LearnedTimes):
    """The times that a supervisor has learned, for the plans of its workers.

    `seconds`: the time of a hand-over and its reply by regime. `budget`: the seconds in which a worker must be done.
    """

    by_worker = True

    def __init__(self, bundle: Bundle, seconds: Mapping[Regime, float], budget: float) -> None:
        super().__init__(with_hand_over(bundle, seconds, typical=True), budget)
        self._own = bundle

    def bundle(self, regime: Regime, changes: Changes) -> Bundle:
        """Return the bundle with the times of one regime, changed; the typical times are those of the worker's work."""
        learned, own = super().bundle(regime, changes), self._own.at(self.budget, regime).times.typical
        typical = replace(learned.times.typical, before=own.before, after=own.after)
        return replace(learned, times=learned.times._replace(typical=typical))
