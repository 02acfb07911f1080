"""The work that a learner decides on, done by the process and thread that answers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.clock import Clock
from polydom_runtime.features import FeatureSpace
from polydom_runtime.policy.plan import Plans
from polydom_runtime.stages import stage_of

from .learned_times import Changes, LearnedTimes, Unit


class OwnWork:
    """Lays out plans, and runs single units: features into a row of its own, models over whatever their row holds."""

    def __init__(self, times: LearnedTimes, space: FeatureSpace, plans: Plans, clock: Clock) -> None:
        self._times, self._space, self._plans, self._clock = times, space, plans, clock
        places = np.cumsum((0, *space.widths)).tolist()
        row = np.zeros(places[-1], dtype=np.float32)
        self._stages = [stage_of(space, feature, row, places[feature]) for feature in range(len(space))]

    @property
    def models(self) -> tuple[int, ...]:
        """The numbers of the models that may be tried: those in memory."""
        return self._plans.hot.models.loaded

    def renew(self, regime: Regime, changes: Changes) -> Iterator[None]:
        """Lay out the plan of a regime for changed times, in slices of work."""
        return self._plans.renew(regime, self._times.bundle(regime, changes))

    def took_ns(self, unit: Unit, item: Any) -> int | None:
        """Run a feature with its step, or a model, twice; return the nanoseconds of the second time, None if it fails.

        The first time warms it up. Features come between the two times of a model, as before that of an answer: right
        after itself it takes a third of the time.
        """
        try:
            self._space.size(item)
            if isinstance(unit, int):
                model = self._plans.hot.models.load(unit)
                run: Callable[[], object] = model.run
                between = [self._run_of(name, item) for name in model.features]
            else:
                run, between = self._run_of(unit, item), []
            run()
            for other in between:
                other()
            began = self._clock()
            run()
        except Exception:  # it is dealt with when an answer needs the unit
            return None
        return self._clock() - began

    def _run_of(self, name: str, item: Any) -> Callable[[], object]:
        stage, n_steps = self._stages[self._space.names.index(name)], len(self._space.steps)
        return lambda: stage.run(item, [None] * n_steps)
