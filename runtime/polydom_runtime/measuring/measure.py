"""Timing features on this machine in the way that the predictor runs them; all raw samples are kept."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polydom_runtime.clock import Clock, collector_off, hardware_clock, memory_kept
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import ItemError, MeasurementError
from polydom_runtime.features import FeatureSpace, checked_space

from .answer_bench import AnswerBench
from .conditions import IDENTITY, Conditions, machine_facts
from .cost_samples import CostSamples, units_of
from .fingerprint import source_fingerprint
from .item_sizes import checked_items, chosen_items, drawn_items
from .journal import Journal
from .samples_so_far import SamplesHeader, SamplesSoFar
from .session import MAX_ITEMS, SHARE_OF_TIME, Session, StoppingRule
from .spread import spreads
from .stopwatch import Timers
from .unit_bench import UnitBench

MIN_SIZES, MAX_ROUNDS = 8, 5000

MAX_PERIOD = 60.0
"""Some ten answers are given after a sleep of this length in any case."""


def measure(
    space: FeatureSpace,
    items: Sequence[Any],
    *,
    n_sizes: int = 12,
    size_range: tuple[float, float] | None = None,
    rounds: int = MAX_ROUNDS,
    seconds: float = 60.0,
    quantile: float = 0.999,
    precision: float = 0.05,
    cpu: int | None = None,
    seed: int = 0,
    period: float = 0.02,
    clock: Clock = hardware_clock,
    timers: Timers | None = None,
    board: Board | None = None,
    journal: Journal | None = None,
    stamp: dict[str, Any] | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> CostSamples:
    """Time every shared step, feature, reference model and calibration kernel of this machine, as work without pauses.

    Each round times every pair of unit and item once, in a new random order, so that heat and load affect all alike.
    Some rounds at the start warm up and are not kept. The measurement stops when every unit's median is known to within
    `precision` and its quantile to within five times that, or when the rounds or the time are used up. After that, some
    hundred items are answered as they come, in up to 60 % of the time more: without sleeps, and, cold and rehearsed,
    after a sleep each.

    Parameters
    ----------
    space : FeatureSpace
    items : sequence
        The items to choose from.
    n_sizes : int
        The number of sizes, at least 8, evenly spread over log n; all sizes if the items have fewer.
    size_range : (float, float), optional
        The smallest and the largest size of interest; by default the range of the items.
    rounds : int
        The most samples for each unit and size.
    seconds : float
        Limit of the time; it does not end a measurement before 10 rounds.
    quantile, precision : float
        The high quantile of interest, and the relative error at which times are known well enough.
    cpu : int, optional
        The processor to stay on; by default the operating system chooses.
    seed : int
        Seed of the random order and of the choice of items.
    period : float
        The seconds of sleep before each answer that is cold or rehearsed.
    clock : Clock
    timers : Timers, optional
        Timers in place of `clock`, also with a processor clock and a way to sleep; by default those that suit `clock`.
    board : Board, optional
        The source of the facts about the machine; by default this machine.
    journal : Journal, optional
        Keeps the rounds while the measurement runs, and may return those of an earlier run; by default nothing is kept.
    stamp : dict, optional
        Further facts to keep with the samples, plain data.
    progress : callable
        Called with the fraction of the rounds or of the time that is used up.

    Raises
    ------
    ItemError
        If there are no items, one has an impossible size, or they do not cover `size_range`.
    FeatureError
        If a feature fails on one of the items of the sizes, or fails on another item only at times.
    MeasurementError
        If the journal belongs to another measurement, cannot be written, or `cpu` is not a processor that may be used.
    """
    space, items = checked_space(space), checked_items(items)
    _check(n_sizes, period, rule := StoppingRule(rounds, seconds, quantile, precision))
    board, journal = board or Board(), journal or Journal()
    chosen = [items[i] for i in chosen_items(space, items, n_sizes, size_range)]
    drawn = [items[i] for i in drawn_items(space, items, MAX_ITEMS, seed, size_range)]
    sizes = tuple(float(space.size(item)) for item in chosen)
    timers = timers or Timers.of(clock)
    try:
        with collector_off(), memory_kept(), pinned(cpu):
            bench = UnitBench(space, chosen, timers, seed)
            machine = machine_facts(board, cpu, timers.clock) | (stamp or {})
            bench.stopwatch.tick_ns = machine["timer_tick_ns"]
            bench.warm_up()
            earlier = journal.resumed()
            bench.loops = earlier.header.loops if earlier else bench.calibrated()
            header = SamplesHeader(
                units_of(space),
                sizes,
                bench.loops,
                bench.kernels,
                source_fingerprint(space),
                machine,
                tuple(bench.models),
                period,
            )
            measurement = _begun(journal, header, earlier)
            conditions = Conditions(board, machine, measurement.warnings)
            session = Session(bench, measurement, journal, conditions, timers, rule)
            session.take_rounds(lambda done: progress(done / (1.0 + SHARE_OF_TIME)))
            answers = AnswerBench(space, drawn, [*bench.models.values()], bench.stopwatch, timers, seed)
            session.take_answers(answers, lambda done: progress((1.0 + SHARE_OF_TIME * done) / (1.0 + SHARE_OF_TIME)))
        for spread in spreads(measurement.samples({}, "")):
            if spread.warning:
                conditions.warn(spread.warning)
        after, stopped = conditions.summary(), measurement.enough
        journal.finish(after, stopped)
    finally:
        journal.close()
    return measurement.samples(after, stopped)


def _check(n_sizes: int, period: float, rule: StoppingRule) -> None:
    if n_sizes < MIN_SIZES:
        raise ItemError(f"There must be at least {MIN_SIZES} sizes, for growth to show. Got {n_sizes}.")
    is_rule = rule.rounds >= 1 and rule.seconds > 0.0 and 0.0 < rule.quantile <= 1.0 and rule.precision >= 0.0
    if not (is_rule and 0.0 < period <= MAX_PERIOD):
        raise MeasurementError(
            f"Rounds, seconds and period must be positive, the period at most {MAX_PERIOD:g} s, the quantile above 0 "
            f"and at most 1. Got {rule.rounds}, {rule.seconds}, {period}, {rule.quantile}."
        )


def _begun(journal: Journal, header: SamplesHeader, earlier: SamplesSoFar | None) -> SamplesSoFar:
    """Return the earlier measurement if it has the same header, or begin a new one."""
    if earlier is None:
        journal.begin(header)
        return SamplesSoFar(header)
    if differ := _differences(earlier.header, header):
        raise MeasurementError(
            f"A measurement must be resumed with the same {' and '.join(differ)}. Got different ones. Start a new one."
        )
    return earlier


def _differences(old: SamplesHeader, new: SamplesHeader) -> list[str]:
    """Return the names of the facts that differ between two headers; if there are any, rounds must not be mixed."""
    stamps = (*IDENTITY, "pinned_cpu")
    names = {"units": "units", "sizes": "sizes", "kernels": "kernels", "fingerprint": "fingerprint", "asleep": "period"}
    differ = [name for field, name in names.items() if getattr(old, field) != getattr(new, field)]
    return differ + [name for name in stamps if old.machine.get(name) != new.machine.get(name)]


@contextmanager
def pinned(cpu: int | None) -> Iterator[None]:
    """Keep this thread on one processor, if any, within a ``with`` block; `MeasurementError` if it may not be used."""
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    if cpu not in before:
        raise MeasurementError(
            f"The processor must be one of {', '.join(map(str, sorted(before)))}. Got {cpu}. A container gets others "
            "by `docker run --cpuset-cpus=`."
        )
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
