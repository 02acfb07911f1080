"""Whole answers on this machine, each part timed: every unit, and the models; hot and after a sleep.

Called over and over, a model or unit takes a fraction of its time in an answer, where others have used the caches.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.engines import Engine, InputRow, load_model
from polydom_runtime.exceptions import FeatureError, MeasurementError
from polydom_runtime.features import FeatureSpace, read_only
from polydom_runtime.policy.loaded_models import LoadedModel, Run
from polydom_runtime.policy.rehearsal import as_kept
from polydom_runtime.stages import stage_of

from .cost_samples import AROUND, MODEL_QUANTILE, WAKING
from .stopwatch import Stopwatch, Timers
from .unit_bench import EmptyAnswer

ENOUGH_ROUNDS = 20
"""With fewer rounds, the quantile of a model is found from its median and the spread of all models together."""

Order = tuple[int, ...]
"""The features of a model, in the order of its input columns."""


class _Parts(NamedTuple):
    """The features and the models of an answer, in the order in which they run."""

    features: Sequence[int]
    models: Sequence[int]


class _Bench:
    """Answers items as a predictor does and times each part; a step runs before the first feature that uses it."""

    def __init__(
        self,
        space: FeatureSpace,
        models: Sequence[Callable[[], object]],
        empty: EmptyAnswer | None,
        timers: Timers,
        stopwatch: Stopwatch,
        may_fail: bool = False,
    ) -> None:
        self.models, self._excused = models, [Exception] * may_fail
        self.steps = [step.compute for step in space.steps]
        self.slots = [-1 if f.step is None else space.steps.index(f.step) for f in space.features]
        self.columns = space.column_slices()
        self.values = np.zeros(sum(space.widths), dtype=np.float32)
        self.stages = [stage_of(space, feature, self.values, at.start) for feature, at in enumerate(self.columns)]
        self._empty, self._sleep, self._stopwatch = empty, timers.sleep, stopwatch

    def answer(self, item: Any, parts: _Parts, before: Sequence[tuple[Any, _Parts]], asleep: float) -> Floats:
        """Sleep, answer the items before and this one; return the seconds of steps, features, `AROUND` and models."""
        if asleep:
            self._sleep(asleep)
        for other, its_parts in before:
            self._timed(other, its_parts)
        return self._timed(item, parts)

    def _timed(self, item: Any, parts: _Parts) -> Floats:
        time, stages, n_steps = self._stopwatch.time, self.stages, len(self.steps)
        around = n_steps + len(stages)
        models = around + len(AROUND)
        times = [np.nan] * (models + len(self.models))
        shared: list[Any] = [None] * n_steps
        self._stopwatch.begin()
        if self._empty is not None:
            times[around:models] = self._empty.timed(item, self._stopwatch)
        for feature in parts.features:
            slot = self.slots[feature]
            if slot >= 0 and math.isnan(times[slot]):
                times[slot] = time(partial(self._share, shared, slot, item)) * 1e-9
            times[n_steps + feature] = time(partial(stages[feature].run, item, shared)) * 1e-9
        for model in parts.models:
            with suppress(*self._excused):
                times[models + model] = time(self.models[model]) * 1e-9
        return np.array(times)

    def _share(self, shared: list[Any], slot: int, item: Any) -> None:
        shared[slot] = self.steps[slot](item)


class AnswerBench:
    """Answers items with all features in random order, then reference models.

    The first reference model always comes right after the features, like the model of an answer; the others follow in
    random order, and find its code warm. They leave the caches as no answer does, so each hot answer comes after one
    without them to the item before.

    The first feature after a sleep finds cold what all features need, much of it without a rehearsal. So the quickest
    feature comes first then, and its time beyond the usual counts as waking.
    """

    def __init__(
        self,
        space: FeatureSpace,
        items: Sequence[Any],
        models: Sequence[Callable[[], object]],
        stopwatch: Stopwatch,
        timers: Timers,
        seed: int,
    ) -> None:
        self._items = [*map(read_only, items)]
        self._kept = [*map(read_only, as_kept(sorted(items, key=space.size)))]
        self._sizes = [float(space.size(item)) for item in items]
        self._bench = _Bench(space, models, EmptyAnswer(space, timers.clock), timers, stopwatch)
        self._rng = np.random.default_rng(seed)
        self._last: list[Any] = []
        self._usual: dict[int, Floats] = {}
        self._quickest: int | None = None

    def learn_usual_times(self, hot: Floats) -> None:
        """Learn the usual times of units on each item from hot answers, ``(n_answers, 2 + n_units + n_models)``."""
        positions, n_steps = hot[:, 0], len(self._bench.steps)
        end = 2 + n_steps + len(self._bench.stages)
        self._usual = {int(p): np.median(hot[positions == p, 2:end], axis=0) for p in np.unique(positions)}
        if self._usual:
            usual = np.median([*self._usual.values()], axis=0)
            steps = [0.0 if slot < 0 else usual[slot] for slot in self._bench.slots]
            self._quickest = int(np.argmin(usual[n_steps:] + steps))

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def answer(self, position: int, regime: Regime, asleep: float) -> Floats:
        """Answer an item; return its position and size, then the seconds of each unit and each reference model."""
        item, parts = self._items[position], self._parts()
        before = {"hot": self._last, "rehearsed": self._kept, "cold": []}[regime]
        answers = [(other, self._parts()._replace(models=parts.models[:1])) for other in before]
        if regime != "hot" and self._quickest is not None:
            parts = parts._replace(features=sorted(parts.features, key=lambda feature: feature != self._quickest))
        try:
            seconds = self._bench.answer(item, parts, answers, 0.0 if regime == "hot" else asleep)
        except Exception as e:
            raise FeatureError(
                f"Every feature must work on every item that is measured. On one of size {self._sizes[position]:g} one "
                f"raised {e!r}. Leave this item out."
            ) from e
        self._last = [item]
        if regime != "hot" and position in self._usual:
            self._count_as_waking(seconds, parts.features[0], self._usual[position])
        return np.array([position, self._sizes[position], *seconds])

    def _count_as_waking(self, seconds: Floats, feature: int, usual: Floats) -> None:
        """Count as waking what a feature and its step took beyond their usual times."""
        slot, waking = self._bench.slots[feature], len(usual) + AROUND.index(WAKING)
        for unit in (len(self._bench.steps) + feature, *([slot] if slot >= 0 else [])):
            beyond = max(seconds[unit] - usual[unit], 0.0)
            seconds[unit] -= beyond
            seconds[waking] += beyond

    def _parts(self) -> _Parts:
        """Draw the order of features and models; before the sleep, so that drawing warms nothing."""
        features = self._rng.permutation(len(self._bench.stages)).tolist()
        others = self._rng.permutation(np.arange(1, len(self._bench.models))).tolist()
        return _Parts(features, [0, *others] if self._bench.models else [])


class ModelTimes(NamedTuple):
    """Times of answers with one model each."""

    models: np.ndarray[tuple[int], np.dtype[np.intp]]
    """Shape (n_answers,). The number of the model of each answer."""
    seconds: Floats
    """Shape (n_answers, n_units + 1). The units in the order of `units_of`, then the model; NaN where an answer has no
    such part, or its model failed."""

    @property
    def model_seconds(self) -> Floats:
        """The time of the model in each answer, shape ``(n_answers,)``."""
        return np.asarray(self.seconds[:, -1])


class ModelBench:
    """Answers random items with the features of one model each (`orders`), then this model.

    `run_of` takes the number of a model, the input row and its number of columns, and returns the function that runs
    the model.
    """

    def __init__(
        self,
        space: FeatureSpace,
        items: Sequence[Any],
        orders: Sequence[Order],
        run_of: Callable[[int, InputRow, int], Run],
        *,
        timers: Timers | None = None,
        seed: int = 0,
    ) -> None:
        for item in items:
            space.extract_all(item)  # its error names the feature that fails, if one does
        timers = timers or Timers()
        self._items = [read_only(item) for item in sorted(items, key=lambda item: float(space.size(item)))]
        self._orders, self._clock, self.stopwatch = orders, timers.clock, Stopwatch(timers)
        models: list[Callable[[], object]] = []
        # A model may fail, such as on a feature that is not finite: then an answer tells nothing about it.
        self._bench = _Bench(space, models, None, timers, self.stopwatch, may_fail=True)
        self._row = InputRow(len(self._bench.values))
        models += [self._loaded(number, order, run_of).run for number, order in enumerate(orders)]
        self._rng = np.random.default_rng(seed)

    def _loaded(self, number: int, order: Order, run_of: Callable[[int, InputRow, int], Run]) -> LoadedModel:
        columns = np.concatenate([np.arange(len(self._bench.values))[self._bench.columns[f]] for f in sorted(order)])
        gather = self._bench.values, columns, self._row.values[: len(columns)]
        return LoadedModel((), 0.0, 0, sum(1 << f for f in order), run_of(number, self._row, len(columns)), gather)

    def hot(self, seconds: float, most: int) -> ModelTimes:
        """Return answers without sleeps, in at most `most` rounds of all models that begin within `seconds`."""
        return self._until(seconds, most * len(self._orders), len(self._orders), (), 0.0)

    def after_sleep(self, regime: Regime, asleep: float, seconds: float, most: int) -> ModelTimes:
        """Return answers by random models after a sleep each; if ``rehearsed``, two other items come in between."""
        return self._until(seconds, most, 1, as_kept(self._items) if regime == "rehearsed" else (), asleep)

    def _until(self, seconds: float, most: int, at_once: int, before: Sequence[Any], asleep: float) -> ModelTimes:
        """Answer until the time is over or all answers are there, after one round to warm up."""
        chosen: list[int] = []
        rows: list[Floats] = []
        models = self._rounds()
        for _ in self._orders:
            self._answer(next(models), (), 0.0)
        began = self._clock()
        while len(rows) < most and (not rows or (self._clock() - began) * 1e-9 < seconds):
            for _ in range(at_once):
                chosen.append(model := next(models))
                rows.append(self._answer(model, before, asleep))
        return ModelTimes(np.array(chosen), np.array(rows))

    def _rounds(self) -> Iterator[int]:
        while True:
            yield from self._rng.permutation(len(self._orders)).tolist()

    def _answer(self, model: int, before: Sequence[Any], asleep: float) -> Floats:
        item, parts = self._items[int(self._rng.integers(len(self._items)))], _Parts(self._orders[model], (model,))
        times = self._bench.answer(item, parts, [(other, parts) for other in before], asleep)
        n_units = len(times) - len(self._orders)
        return np.append(times[:n_units], times[n_units + model])


def run_exported(
    models: Sequence[bytes], n_classes: int, engines: Sequence[Engine], sure: bool = False
) -> Callable[[int, InputRow, int], Run]:
    """Return the `run_of` of a `ModelBench` for exported models, each run by an engine; see `load_model`."""
    return lambda number, row, width: load_model(engines[number], models[number], row, width, n_classes, sure)


def model_quantiles(hot: ModelTimes, n_models: int) -> Floats:
    """Return the time that each model states, shape ``(n_models,)``; `MeasurementError` if none could be run."""
    by_model = [hot.model_seconds[hot.models == number] for number in range(n_models)]
    by_model = [times[np.isfinite(times)] for times in by_model]
    if not any(map(len, by_model)):
        raise MeasurementError(
            "A model must run on at least one item. All failed. Look for features that are not finite on these items."
        )
    if min(map(len, by_model)) >= ENOUGH_ROUNDS:
        return np.array([np.quantile(times, MODEL_QUANTILE) for times in by_model])
    everything = np.concatenate(by_model)
    medians = np.array([np.median(times if len(times) else everything) for times in by_model])
    ratios = np.concatenate([times / median for times, median in zip(by_model, medians, strict=True)])
    return np.asarray(medians * np.quantile(ratios, MODEL_QUANTILE))


def added_after_sleep(answers: ModelTimes, hot: Floats) -> float:
    """Return how much longer than hot a model takes, at the 0.9 quantile over all models; at least 0."""
    beyond = answers.model_seconds - hot[answers.models]
    beyond = beyond[np.isfinite(beyond)]
    return max(0.0, float(np.quantile(beyond, MODEL_QUANTILE))) if len(beyond) else 0.0
