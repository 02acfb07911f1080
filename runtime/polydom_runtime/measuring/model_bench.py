"""Real answers on this machine, each with a given model, timed in parts: dispatch, every unit, the model.

A model that is called over and over takes a fraction of its time in an answer. There, features have used the caches
since its last run, and after a sleep other programs have. So each model is timed where it runs: right after its
features, on real items, hot and after a sleep.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.engines import Engine, load_model
from polydom_runtime.bundles.models import InputRow
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.features import FeatureSpace, read_only
from polydom_runtime.policy.loaded_models import LoadedModel, Run
from polydom_runtime.policy.rehearsal import as_kept
from polydom_runtime.stages import Stage, stage_of

from .cost_samples import units_of
from .stopwatch import Stopwatch
from .timers import Timers

Order = tuple[int, ...]

QUANTILE = 0.9
"""A model states this quantile of its times."""

ENOUGH_ROUNDS = 20
"""With fewer rounds, the quantile of a model is found from its median and the spread of all models together."""


class Answers(NamedTuple):
    """Times of answers."""

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
    """Answers items with models that it is told to take, by the code of the predictor.

    `items`: all features must work on them. `orders`: the features of each model, in the order of its input columns.
    `run_of`: takes the number of a model, the input row and the number of columns; returns the function that runs the
    model. `dispatch`: answers an item without features and models; timed as dispatch before each answer. `timers`: the
    clocks and the sleep; those of this machine if not given. `seed`: seed of the random order.

    `stopwatch`: has seen all pauses.

    Raises `FeatureError` if a feature fails on one of the items. Raises `BundleFormatError` if a model cannot be run.
    """

    def __init__(
        self,
        space: FeatureSpace,
        items: Sequence[Any],
        orders: Sequence[Order],
        run_of: Callable[[int, InputRow, int], Run],
        *,
        dispatch: Callable[[Any], object] | None = None,
        timers: Timers | None = None,
        seed: int = 0,
    ) -> None:
        for item in items:
            space.extract_all(item)  # its error names the feature that fails, if one does
        rising = sorted(range(len(items)), key=lambda i: float(space.size(items[i])))
        self._items = [read_only(items[i]) for i in rising]
        self._space, self._dispatch, self._timers = space, dispatch, timers or Timers()
        self.stopwatch = Stopwatch(self._timers)
        self._n_units = len(units_of(space))
        ends = np.cumsum((0, *space.widths)).tolist()
        self._places = list(map(slice, ends, ends[1:]))
        values = np.zeros(ends[-1], dtype=np.float32)
        self._stages: list[Stage] = [stage_of(space, f, values, a) for f, (a, _) in enumerate(pairwise(ends))]
        self._values, self._row = values, InputRow(ends[-1])
        self._orders, self._models = list(orders), [self._loaded(n, o, run_of) for n, o in enumerate(orders)]
        self._rng = np.random.default_rng(seed)

    def _loaded(self, number: int, order: Order, run_of: Callable[[int, InputRow, int], Run]) -> LoadedModel:
        columns = np.concatenate([np.arange(self._places[f].start, self._places[f].stop) for f in sorted(order)])
        gather = self._values, columns, self._row.values[: len(columns)]
        run = run_of(number, self._row, len(columns))
        return LoadedModel((), 0.0, 0, sum(1 << f for f in order), run, gather)

    def hot(self, seconds: float, most: int) -> Answers:
        """Return answers that follow each other without a sleep: rounds of all models in random order, at least one.

        `seconds`: the time after which no further round begins. `most`: the most rounds.
        """
        return self._until(seconds, most, self._rounds(), lambda model: None, len(self._orders))

    def after_sleep(self, regime: Regime, asleep: float, seconds: float, most: int) -> Answers:
        """Return answers that each come after a sleep, with random models, at least one.

        `regime`: with ``rehearsed``, a small and a larger item are answered between the sleep and the answer. `asleep`:
        the seconds of each sleep. `seconds`: the time after which no further sleep begins. `most`: the most answers.
        """
        kept = as_kept(self._items) if regime == "rehearsed" else ()

        def before(model: int) -> None:
            self._timers.sleep(asleep)
            for item in kept:
                self._answer(model, item)

        return self._until(seconds, most, self._rounds(), before, 1)

    def _until(
        self, seconds: float, most: int, models: Iterator[int], before: Callable[[int], None], at_once: int
    ) -> Answers:
        """Answer until the time is over, or the most rounds of `at_once` answers are there; warm up with one round."""
        chosen: list[int] = []
        rows: list[Floats] = []
        for _ in range(len(self._orders)):
            self._answer(next(models), self._some_item())
        clock = self._timers.clock
        began = clock()
        while len(rows) < most * at_once and (not rows or (clock() - began) * 1e-9 < seconds):
            for _ in range(at_once):
                model = next(models)
                before(model)
                rows.append(self._answer(model, self._some_item()))
                chosen.append(model)
        return Answers(np.array(chosen), np.array(rows))

    def _rounds(self) -> Iterator[int]:
        while True:
            yield from self._rng.permutation(len(self._orders)).tolist()

    def _some_item(self) -> Any:
        return self._items[int(self._rng.integers(len(self._items)))]

    def _answer(self, model: int, item: Any) -> Floats:
        """Return the seconds of all parts of one answer."""
        row, steps, stopwatch = np.full(self._n_units + 1, np.nan), self._space.steps, self.stopwatch
        stopwatch.begin()
        if self._dispatch is not None:
            row[-2] = stopwatch.time(partial(self._dispatch, item)) * 1e-9
        shared: list[Any] = [None] * len(steps)
        for feature in self._orders[model]:
            step = self._space.features[feature].step
            if step is not None and shared[slot := steps.index(step)] is None:
                row[slot] = stopwatch.time(partial(_share, shared, slot, step.compute, item)) * 1e-9
            row[len(steps) + feature] = stopwatch.time(partial(self._stages[feature].run, item, shared)) * 1e-9
        with suppress(Exception):  # such as a feature that is not finite: this answer tells nothing about the model
            row[-1] = stopwatch.time(self._models[model].run) * 1e-9
        return row


def _share(shared: list[Any], slot: int, compute: Callable[[Any], Any], item: Any) -> None:
    shared[slot] = compute(item)


def run_exported(
    models: Sequence[bytes], n_classes: int, engines: Sequence[Engine], sure: bool = False
) -> Callable[[int, InputRow, int], Run]:
    """Return what makes a `ModelBench` run exported models, each by an engine; see `load_model`."""
    return lambda number, row, width: load_model(engines[number], models[number], row, width, n_classes, sure)


def model_quantiles(hot: Answers, n_models: int, quantile: float = QUANTILE) -> Floats:
    """Return a quantile of the time of each model, shape ``(n_models,)``.

    Raises `MeasurementError` if no model could be run on any item.
    """
    by_model = [hot.model_seconds[hot.models == number] for number in range(n_models)]
    by_model = [times[np.isfinite(times)] for times in by_model]
    if not any(map(len, by_model)):
        raise MeasurementError(
            "A model must run on at least one item. All failed. Look for features that are not finite on these items."
        )
    if min(map(len, by_model)) >= ENOUGH_ROUNDS:
        return np.array([np.quantile(times, quantile) for times in by_model])
    everything = np.concatenate(by_model)
    medians = np.array([np.median(times if len(times) else everything) for times in by_model])
    ratios = np.concatenate([times / median for times, median in zip(by_model, medians, strict=True)])
    return np.asarray(medians * np.quantile(ratios, quantile))


def added(answers: Answers, hot: Floats, quantile: float = QUANTILE) -> float:
    """Return how much longer than hot a model takes in some answers, at a quantile over all models; at least 0.

    `hot` (shape (n_models,)): the hot time of each model at this quantile.
    """
    beyond = answers.model_seconds - hot[answers.models]
    beyond = beyond[np.isfinite(beyond)]
    return max(0.0, float(np.quantile(beyond, quantile))) if len(beyond) else 0.0
