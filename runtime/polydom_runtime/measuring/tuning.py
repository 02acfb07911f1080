"""Learning at leave: a node answers given items with its bundle, and finds its times before the first real item."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.agreement import agreeing_engines
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.clock import collector_off, memory_kept
from polydom_runtime.exceptions import ItemError, MeasurementError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.learning.learned_file import Learned, date_text
from polydom_runtime.learning.learned_times import LearnedTimes
from polydom_runtime.learning.learner import Learner
from polydom_runtime.learning.unit_history import WINDOW
from polydom_runtime.predictor import Predictor, Seams

from .answer_bench import ModelBench, model_quantiles, run_exported
from .item_sizes import drawn_items
from .measure import MAX_PERIOD
from .stopwatch import Timers

TUNED_ITEMS, ENGINE_ROUNDS, LEARNED_ANSWERS = 200, 500, 1000
"""The most items, rounds of all models with each engine, and answers in each regime."""

ENGINE_SHARE = 0.2
TIME_SHARES: dict[Regime, float] = {"hot": 0.2, "cold": 0.3, "rehearsed": 0.3}
"""The shares of the time: for the choice among engines, and in each regime."""

AT_ONCE, TRY_EVERY = 20, 5
"""Hot answers come back to back, so many at once, before they are learned from. After every five, each feature that was
not computed in so many answers is tried."""

SLACK = 0.1
"""Seconds after each answer in which plans may be laid out."""

FEW_SLEEPS = 10
"""A tuning must be long enough for this number of answers after a sleep."""

EngineChoice = tuple[int, Engine]
"""The number of a model, and one of the engines that can run it."""


def tune_bundle(
    bundle: Bundle,
    space: FeatureSpace,
    items: Sequence[Any],
    *,
    deadline: float | None = None,
    seconds: float = 30.0,
    period: float = 0.02,
    timers: Timers | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Learned:
    """Answer items with a bundle on this machine, hot and after sleeps, and return what a predictor learned from that.

    Every feature and model is tried besides. Of engines that give the same answers to the items, at most 200 of them,
    the quicker one is taken. `deadline`: that of the answers, in seconds; the longest of the bundle if not given.
    `MeasurementError` is raised if the bundle has no models, or `seconds` are too short for sleeps of `period` seconds.
    """
    timers, space = timers or Timers(), bundle.space_of(space)
    if not bundle.models:
        raise MeasurementError("A bundle must have models to be tuned. This one has none: it always gives the prior.")
    if not (0.0 < period <= MAX_PERIOD and seconds * TIME_SHARES["cold"] >= FEW_SLEEPS * period):
        raise MeasurementError(
            f"The period must be positive, at most {MAX_PERIOD:g} s, and the time enough for {FEW_SLEEPS} sleeps in "
            f"each regime. Got a period of {period:g} s, and {seconds:g} s in all. Give more seconds."
        )
    chosen = [items[i] for i in drawn_items(space, items, TUNED_ITEMS, 0)]
    if not chosen:
        raise ItemError("There must be at least one item. Got none.")
    with collector_off(), memory_kept():
        engines, runs = _models(bundle, space, chosen, timers, ENGINE_SHARE * seconds)
        start = Learned(index_sha256(bundle), bundle.identity.code, date_text(), 0, 1.0, 1.0, (), engines)
        node = _Node(start.applied(bundle), space, chosen, deadline, timers)
        for number, times in enumerate(runs):
            for seconds_of_run in times[-WINDOW:]:
                node.times.tried_model(number, node.times.middle, 1e9 * seconds_of_run)
        done = ENGINE_SHARE
        for regime, share in TIME_SHARES.items():
            progress(done)
            node.answer(regime, share * seconds, period)
            done += share
    return Learned.of(node.predictor.bundle, node.times, node.predictor.margin.value, start)


class _Node:
    """Answers random items, and learns from all answers."""

    def __init__(
        self, bundle: Bundle, space: FeatureSpace, items: Sequence[Any], deadline: float | None, timers: Timers
    ) -> None:
        self._items, self._size, self._timers, self._rng = items, space.size, timers, np.random.default_rng(0)
        self.predictor = Predictor(bundle, space, deadline=deadline, seams=Seams(clock=timers.clock))
        self.predictor.warm_up(items[0])
        self.times = LearnedTimes(bundle, self.predictor.deadline)
        self._work = self.predictor.own_work(self.times)
        self._learner = Learner(self.times, bundle.names, self._work, timers.clock)

    def answer(self, regime: Regime, seconds: float, period: float) -> None:
        """Answer in a regime, until the time is over or there are enough answers."""
        began = self._timers.clock()
        for k in range(LEARNED_ANSWERS):
            if k and (self._timers.clock() - began) * 1e-9 >= seconds:
                break
            if regime != "hot":
                self._timers.sleep(period)
            if regime == "rehearsed":
                self.predictor.rehearse()
            self.predictor.predict_one(self._items[int(self._rng.integers(len(self._items)))])
            if regime != "hot" or k % AT_ONCE == AT_ONCE - 1:  # hot ones back to back
                self._learn()
            if regime == "hot" and k % TRY_EVERY == TRY_EVERY - 1:
                self._try()
        self._learn()

    def _learn(self) -> None:
        self._learner.use(SLACK, self.predictor.take_unread(), None)

    def _try(self) -> None:
        """Compute the features that no answer computed lately."""
        item = self._items[int(self._rng.integers(len(self._items)))]
        for feature, name in enumerate(self.predictor.bundle.names):
            if self.times.answers - self.times.newest(name) < AT_ONCE:
                continue
            if (took_ns := self._work.took_ns(name, item)) is not None:
                self.times.tried(feature, self._size(item), took_ns)


def _models(
    bundle: Bundle, space: FeatureSpace, items: Sequence[Any], timers: Timers, seconds: float
) -> tuple[tuple[Engine, ...], list[Floats]]:
    """Return the quicker engine of each model, of those that give the same answers, and its seconds in hot answers."""
    rows, slices = np.array([space.extract_all(item) for item in items]), space.column_slices()
    choices: list[EngineChoice] = []
    for number, entry in enumerate(bundle.models):
        inputs = np.hstack([rows[:, slices[f]] for f in entry.features])
        engines = agreeing_engines(bundle.model_bytes(number), inputs, len(bundle.space.classes))
        choices += [(number, engine) for engine in engines]
    models, orders = zip(*((bundle.model_bytes(n), bundle.models[n].order) for n, _ in choices), strict=True)
    run_of = run_exported(
        models, len(bundle.space.classes), [engine for _, engine in choices], bundle.confidence is not None
    )
    bench = ModelBench(space, items, orders, run_of, timers=timers)
    hot = bench.hot(seconds, ENGINE_ROUNDS)
    slowest_first = np.argsort(-model_quantiles(hot, len(choices)), kind="stable").tolist()
    found = {choices[k][0]: k for k in slowest_first}  # the last one stays
    chosen = [found[number] for number in range(len(bundle.models))]
    times = [hot.model_seconds[hot.models == k] for k in chosen]
    return tuple(choices[k][1] for k in chosen), [each[np.isfinite(each)] for each in times]
