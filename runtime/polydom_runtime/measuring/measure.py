"""Timing features on this machine in the way that the predictor runs them; all raw samples are kept."""

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import ItemError, MeasurementError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.pauses import collector_off, memory_kept

from .bench import Bench
from .conditions import Conditions, describe
from .cost_samples import CostSamples, units_of
from .costs_file import SamplesHeader, same_measurement
from .fingerprint import source_fingerprint
from .item_sizes import chosen_items
from .journal import Earlier, Journal
from .stopping import StoppingRule

MIN_SIZES, MAX_ROUNDS = 8, 5000
COOL_DOWN_SECONDS, MAX_COOL_DOWNS = 2.0, 10


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
    clock: Clock = hardware_clock,
    board: Board | None = None,
    journal: Journal | None = None,
    stamp: dict[str, Any] | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> CostSamples:
    """Time every shared step, feature, reference model and calibration kernel of this machine.

    Each round times every pair of unit and item once, in a new random order, so that heat and load affect all alike.
    Some rounds at the start warm up and are not kept. The measurement stops when every unit's median is known to within
    `precision` and its quantile to within five times that, or when the rounds or the time are used up.

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
        Seed of the random order.
    clock : Clock
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
        If a feature fails on one of the chosen items.
    MeasurementError
        If the journal belongs to another measurement, cannot be written, or `cpu` is not a processor that may be used.
    """
    if n_sizes < MIN_SIZES:
        raise ItemError(f"There must be at least {MIN_SIZES} sizes, for growth to show. Got {n_sizes}.")
    if not (rounds >= 1 and seconds > 0.0 and 0.0 < quantile <= 1.0 and precision >= 0.0):
        raise MeasurementError(
            "Rounds and seconds must be positive, the quantile above 0 and at most 1. "
            f"Got {rounds}, {seconds}, {quantile}."
        )
    board, journal = board or Board(), journal or Journal()
    chosen = chosen_items(space, items, n_sizes, size_range)
    sizes = tuple(float(space.size(items[i])) for i in chosen)
    try:
        with collector_off(), memory_kept(), pinned(cpu):
            bench = Bench(space, [items[i] for i in chosen], clock, seed)
            machine = describe(board, cpu, clock) | (stamp or {})
            bench.tick_ns = machine["timer_tick_ns"]
            bench.warm_up()
            earlier = journal.resumed()
            bench.loops = earlier.header.loops if earlier else bench.calibrated()
            header = SamplesHeader(
                units_of(space), sizes, bench.loops, bench.kernels, source_fingerprint(space), machine
            )
            begun = _begun(journal, header, earlier)
            header, parts = begun.header, begun.rounds
            conditions = Conditions(board, machine, begun.warnings)
            rule = StoppingRule(rounds, seconds, quantile, precision)
            stopped = _run(bench, header, parts, journal, conditions, rule, progress)
        after = conditions.summary()
        journal.finish(after, stopped)
    finally:
        journal.close()
    return header.samples(np.concatenate(parts), after, stopped)


def _begun(journal: Journal, header: SamplesHeader, earlier: Earlier | None) -> Earlier:
    """Return the earlier measurement if it has the same header, or begin a new one."""
    if earlier is None:
        journal.begin(header)
        return Earlier(header)
    if differ := same_measurement(earlier.header, header):
        raise MeasurementError(
            f"A measurement must be resumed with the same {' and '.join(differ)}. Got different ones. Start a new one."
        )
    return earlier


def _run(
    bench: Bench,
    header: SamplesHeader,
    parts: list[Floats],
    journal: Journal,
    conditions: Conditions,
    rule: StoppingRule,
    progress: Callable[[float], None],
) -> str:
    """Add chunks of rounds to `parts` until there is a reason to stop; return that reason."""
    began = bench.clock()
    while True:
        part = bench.chunk(max(rule.rounds - sum(map(len, parts)), 1))
        journal.append(part, conditions.warnings)
        parts.append(part)
        header.samples(part, {}, "").check()  # so that a timer that stands still is reported now, not on the host
        done, spent = sum(map(len, parts)), (bench.clock() - began) * 1e-9
        progress(rule.fraction(done, spent))
        if stopped := rule.reason(done, spent, lambda: header.samples(np.concatenate(parts), {}, "")):
            return stopped
        while conditions.have_moved() and conditions.pauses < MAX_COOL_DOWNS and spent < rule.seconds:
            conditions.pauses += 1
            time.sleep(COOL_DOWN_SECONDS)
            bench.warm_up()
        gc.collect()


@contextmanager
def pinned(cpu: int | None) -> Iterator[None]:
    """Keep this thread on one processor within a ``with`` block; None changes nothing.

    Raises
    ------
    MeasurementError
        If this process may not use the processor.
    """
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    if cpu not in before:
        raise MeasurementError(f"The processor must be one of {sorted(before)}. Got {cpu}.")
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
