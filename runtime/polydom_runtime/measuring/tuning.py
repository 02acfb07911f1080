"""Tuning: a finished bundle is timed on its device, in real answers, so that plans need no estimates of another one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.agreement import agreeing_engines
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.clock import collector_off, memory_kept
from polydom_runtime.device.board import Board
from polydom_runtime.device.tune import RegimeTune, Tune
from polydom_runtime.device.tune_file import this_machine
from polydom_runtime.exceptions import ItemError, MeasurementError
from polydom_runtime.features import FeatureSpace

from .answer_bench import ModelBench, ModelTimes, added_after_sleep, model_quantiles, run_exported
from .conditions import Conditions, machine_facts
from .cost_samples import MODEL_QUANTILE
from .item_sizes import drawn_items
from .measure import MAX_PERIOD
from .stopwatch import Timers
from .unit_bench import predictor_without_models

TUNED_ITEMS, TUNED_ROUNDS, TUNED_SLEEPS = 200, 500, 1000
TIME_SHARES: dict[Regime, float] = {"hot": 0.4, "cold": 0.3, "rehearsed": 0.3}

EngineChoice = tuple[int, Engine]
"""The number of a model, and one of the engines that can run it."""

FEW_SLEEPS = 10
"""A tuning must be long enough for this number of answers after a sleep."""


def tune_bundle(
    bundle: Bundle,
    space: FeatureSpace,
    items: Sequence[Any],
    *,
    seconds: float = 30.0,
    period: float = 0.02,
    timers: Timers | None = None,
    board: Board | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Tune:
    """Time dispatch, every unit and every model of a bundle in real answers on this machine: hot and after sleeps.

    Of engines that give the same answers to the items, at most 200 of them, the quicker one is taken.
    `MeasurementError` is raised if the bundle has no models, or `seconds` are too short for sleeps of `period`
    seconds.
    """
    timers, board, space = timers or Timers(), board or Board(), bundle.space_of(space)
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
    conditions = Conditions(board, machine := machine_facts(board, clock=timers.clock))
    with collector_off(), memory_kept():
        choices = _choices(bundle, space, chosen)
        bench = _bench(bundle, space, chosen, timers, choices)
        hot = bench.hot(TIME_SHARES["hot"] * seconds, TUNED_ROUNDS)
        conditions.seen = conditions.seen.plus(bench.stopwatch.taken())
        models, engines = _quickest(hot, choices)
        bench = _bench(bundle, space, chosen, timers, [*enumerate(engines)])
        regimes = {"hot": RegimeTune(_dispatch(hot), models, (0.0,) * len(bundle.times.worst.names), 0.0)}
        progress(TIME_SHARES["hot"])
        for regime in REGIMES[1:]:
            answers = bench.after_sleep(regime, period, TIME_SHARES[regime] * seconds, TUNED_SLEEPS)
            regimes[regime] = _after_sleep(answers, hot, models, len(space.steps), period)
            progress(TIME_SHARES["hot"] + TIME_SHARES[regime] * (len(regimes) - 1))
    conditions.seen = conditions.seen.plus(conditions.with_losses(bench.stopwatch.taken()))
    conditions.have_moved()
    by_name, warnings = {name: regimes[name] for name in REGIMES}, tuple(conditions.warnings)
    return Tune(index_sha256(bundle), this_machine(board), machine["began"], warnings, engines, by_name)


def _choices(bundle: Bundle, space: FeatureSpace, items: Sequence[Any]) -> list[EngineChoice]:
    """Return each model of a bundle with each engine that can run it and gives the same answers to the items."""
    rows, slices = np.array([space.extract_all(item) for item in items]), space.column_slices()
    found: list[EngineChoice] = []
    for number, entry in enumerate(bundle.models):
        inputs = np.hstack([rows[:, slices[f]] for f in entry.features])
        engines = agreeing_engines(bundle.model_bytes(number), inputs, len(bundle.space.classes))
        found += [(number, engine) for engine in engines]
    return found


def _quickest(hot: ModelTimes, choices: Sequence[EngineChoice]) -> tuple[tuple[float, ...], tuple[Engine, ...]]:
    """Return the time of each model with its quicker engine, and these engines."""
    times = model_quantiles(hot, len(choices)).tolist()
    slowest_first = sorted(zip(times, choices, strict=True), reverse=True)
    found = {number: (took, engine) for took, (number, engine) in slowest_first}  # the last one stays: the quickest
    models, engines = zip(*(found[number] for number in sorted(found)), strict=True)
    return models, engines


def _bench(
    bundle: Bundle, space: FeatureSpace, items: Sequence[Any], timers: Timers, choices: Sequence[EngineChoice]
) -> ModelBench:
    models = [bundle.model_bytes(number) for number, _ in choices]
    orders, engines = [bundle.models[number].order for number, _ in choices], [engine for _, engine in choices]
    run_of = run_exported(models, len(bundle.space.classes), engines, bundle.confidence is not None)
    dispatch = predictor_without_models(space, timers.clock).predict_one
    return ModelBench(space, items, orders, run_of, dispatch=dispatch, timers=timers)


def _after_sleep(
    answers: ModelTimes, hot: ModelTimes, models: Sequence[float], n_steps: int, period: float
) -> RegimeTune:
    constant = added_after_sleep(answers, np.array(models))
    units = [
        _unit_added(answers.seconds[:, unit], hot.seconds[:, unit]) for unit in range(answers.seconds.shape[1] - 2)
    ]
    added_to_units = *units[n_steps:], *units[:n_steps]
    return RegimeTune(_dispatch(answers), tuple(took + constant for took in models), added_to_units, period)


def _dispatch(answers: ModelTimes) -> tuple[float, float]:
    times = answers.seconds[:, -2]
    return float(np.median(times)), float(np.quantile(times, MODEL_QUANTILE))


def _unit_added(asleep: Floats, hot: Floats) -> float:
    """Return how much longer a unit takes in the median, over all items alike; 0 where it never ran."""
    if np.isnan(asleep).all() or np.isnan(hot).all():
        return 0.0
    return max(0.0, float(np.nanmedian(asleep) - np.nanmedian(hot)))
