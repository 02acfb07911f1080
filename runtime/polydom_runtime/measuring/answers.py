"""Whole answers to items as they come, each unit timed: hot, cold after a sleep, or rehearsed after a sleep."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.features import FeatureSpace, read_only
from polydom_runtime.stages import stage_of

from .bench import predictor_without_models
from .stopwatch import Stopwatch
from .timers import Timers


class _Order(NamedTuple):
    """The random order of the features and of the models of an answer."""

    features: list[int]
    models: list[int]


class AnswerBench:
    """Answers items and times each unit: dispatch, then steps and features, then reference models.

    A step is computed right before the first feature that uses it, as in a predictor. The first reference model always
    comes right after the features, like the model of an answer; the others follow in random order, and find its code
    warm. They leave the caches as no answer does, so each hot answer comes after one without them to the item before.

    Without a rehearsal, the first feature after a sleep finds much cold that all features need, whichever it is. So the
    quickest feature comes first then, and what it takes beyond its usual time counts as dispatch, of which there is one
    in each answer.

    `items`: in the order in which they are answered. `kept`: the items that are answered to rehearse. `models`: runs of
    the reference models. `seed`: seed of the random order.
    """

    def __init__(
        self,
        space: FeatureSpace,
        items: Sequence[Any],
        kept: Sequence[Any],
        models: Sequence[Callable[[], object]],
        stopwatch: Stopwatch,
        timers: Timers,
        seed: int,
    ) -> None:
        self._items, self._kept, self._models = [*map(read_only, items)], [*map(read_only, kept)], models
        self._sizes = [float(space.size(item)) for item in items]
        self._stopwatch, self._sleep = stopwatch, timers.sleep
        self._steps = [step.compute for step in space.steps]
        row = np.zeros(max(space.widths), dtype=np.float32)
        self._stages = [stage_of(space, feature, row, 0) for feature in range(len(space))]
        self._slots = [-1 if f.step is None else space.steps.index(f.step) for f in space.features]
        self._dispatch = predictor_without_models(space, timers.clock).predict_one
        self._rng = np.random.default_rng(seed)
        self._last: list[Any] = []
        self._usual: dict[int, Floats] = {}
        self._quickest: int | None = None

    def learn_usual_times(self, hot: Floats) -> None:
        """Learn the usual times of units on each item from hot answers, shape ``(n_answers, 2 + n_units + n_models)``.

        Until then, cold answers count what their first feature takes as its own time.
        """
        positions, n_steps = hot[:, 0], len(self._steps)
        end = 2 + n_steps + len(self._stages)
        self._usual = {int(p): np.median(hot[positions == p, 2:end], axis=0) for p in np.unique(positions)}
        if self._usual:
            usual = np.median([*self._usual.values()], axis=0)
            steps = [0.0 if slot < 0 else usual[slot] for slot in self._slots]
            self._quickest = int(np.argmin(usual[n_steps:] + steps))

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def answer(self, position: int, regime: Regime, asleep: float) -> Floats:
        """Answer an item in a regime.

        `position`: the position of the item. `asleep`: the seconds of sleep before the answer, unless it is hot.

        The result (shape (2 + n_units + n_models,)): the position and the size of the item, then the seconds of each
        unit and of each reference model.

        Raises `FeatureError` if a feature fails.
        """
        item, order = self._items[position], self._order()
        before = {"hot": self._last, "rehearsed": self._kept, "cold": []}[regime]
        answers = [(other, self._order()._replace(models=order.models[:1])) for other in before]
        if regime == "cold" and self._quickest is not None:
            order.features.sort(key=lambda feature: feature != self._quickest)
        if regime != "hot":
            self._sleep(asleep)
        try:
            for other, its_order in answers:
                self._stopwatch.begin()
                self._timed(other, its_order)
            self._stopwatch.begin()
            times = self._timed(item, order)
        except Exception as e:
            raise FeatureError(
                f"Every feature must work on every item that is measured. On one of size {self._sizes[position]:g} one "
                f"raised {e!r}. Leave this item out."
            ) from e
        self._last = [item]
        seconds = np.array(times) * 1e-9
        if regime == "cold" and position in self._usual:
            self._count_as_dispatch(seconds, order.features[0], self._usual[position])
        return np.array([position, self._sizes[position], *seconds])

    def _count_as_dispatch(self, seconds: Floats, feature: int, usual: Floats) -> None:
        """Count as dispatch what a feature and its step took beyond their usual times."""
        slot = self._slots[feature]
        for unit in (len(self._steps) + feature, *([slot] if slot >= 0 else [])):
            beyond = max(seconds[unit] - usual[unit], 0.0)
            seconds[unit] -= beyond
            seconds[len(usual)] += beyond

    def _order(self) -> _Order:
        """Draw an order; before the sleep, so that drawing warms nothing."""
        features = self._rng.permutation(len(self._stages)).tolist()
        others = self._rng.permutation(np.arange(1, len(self._models))).tolist()
        return _Order(features, [0, *others] if self._models else [])

    def _timed(self, item: Any, order: _Order) -> list[int]:
        """Answer an item; return the nanoseconds of steps, features, dispatch and models."""
        time, stages, n_steps = self._stopwatch.time, self._stages, len(self._steps)
        times = [0] * (n_steps + len(stages) + 1 + len(self._models))
        shared: list[Any] = [None] * n_steps
        times[n_steps + len(stages)] = time(partial(self._dispatch, item))
        for feature in order.features:
            slot = self._slots[feature]
            if slot >= 0 and not times[slot]:
                times[slot] = time(partial(self._share, shared, slot, item))
            times[n_steps + feature] = time(partial(stages[feature].run, item, shared))
        for model in order.models:
            times[n_steps + len(stages) + 1 + model] = time(self._models[model])
        return times

    def _share(self, shared: list[Any], slot: int, item: Any) -> None:
        shared[slot] = self._steps[slot](item)
