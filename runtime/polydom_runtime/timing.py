"""Timing features on this machine as the predictor runs them; the raw samples are kept."""

import gc
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .board import Board
from .bundle import Bundle, StepEntry, step_users
from .calibration import kernels, reference_models
from .clock import Clock, hardware_clock
from .cost_samples import CostSamples, Floats, units_of
from .costs import ZERO
from .costs_file import Header, Journal, same_measurement
from .exceptions import ItemError, MeasurementError
from .features import FeatureSpace, read_only
from .fingerprint import source_fingerprint
from .machine import Conditions, describe
from .pauses import collector_off, memory_kept
from .predictor import Predictor
from .stages import Stage
from .tails import relative_error

FEWEST_SIZES = 8
FEWEST_TICKS = 100
"""A call shorter than so many ticks of the timer is also timed in blocks."""

WARM_UP_ROUNDS, FEWEST_ROUNDS, MOST_ROUNDS = 2, 10, 5000
CHUNK_SECONDS = 0.5
"""Between two looks at the machine, and at most so much is lost to a kill."""

COOL_DOWN_SECONDS, MOST_COOL_DOWNS = 2.0, 10


def measure(
    space: FeatureSpace,
    items: Sequence[Any],
    *,
    n_sizes: int = 12,
    size_range: tuple[float, float] | None = None,
    rounds: int = MOST_ROUNDS,
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

    Each round times every (unit, item) once, in an order drawn anew, so that heat and load hit all alike; the first
    rounds warm up and are not kept. It stops when every unit's median is known to within `precision` and its quantile
    to within five times that, or when time is up.

    Parameters
    ----------
    space : FeatureSpace
    items : sequence
    n_sizes : int
        How many sizes, at least 8, evenly spread over log n; all there are if the items have fewer.
    size_range : (float, float), optional
        The sizes of interest; the items' own range if not given.
    rounds : int
        At most so many samples a unit and size.
    seconds : float
        At most so long, but not less than 10 rounds.
    quantile, precision : float
        What must be known how well.
    cpu : int, optional
        The processor to stay on; where the system likes if not given.
    seed : int
    clock : Clock
    board : Board, optional
    journal : Journal, optional
        Keeps the rounds as they come, and may bring those of an earlier run.
    stamp : dict, optional
        Further facts to stamp, plain data.
    progress : callable
        Told the fraction of the time or the rounds that is done.

    Raises
    ------
    ItemError
        If there are no items, one has an impossible size, or they do not cover `size_range`.
    FeatureError
        If a feature fails on one of the chosen items.
    MeasurementError
        If the journal is of another measurement, or `cpu` is not one to use.
    """
    if n_sizes < FEWEST_SIZES:
        raise ItemError(
            f"There must be at least {FEWEST_SIZES} sizes. Got {n_sizes}. Growth shows over many sizes only."
        )
    board, journal = board or Board(), journal or Journal()
    chosen = chosen_items(space, items, n_sizes, size_range)
    sizes = tuple(float(space.size(items[i])) for i in chosen)
    with collector_off(), memory_kept(), pinned(cpu):
        bench = _Bench(space, [items[i] for i in chosen], clock, seed)
        machine = describe(board, cpu, clock) | (stamp or {})
        bench.warm_up()
        earlier = journal.resumed()
        bench.loops = earlier[0].loops if earlier else bench.calibrated(machine["timer_tick_ns"])
        header = Header(units_of(space), sizes, bench.loops, bench.kernels, source_fingerprint(space), machine)
        parts = [] if earlier is None else earlier[1]
        if earlier is None:
            journal.begin(header)
        elif differ := same_measurement(earlier[0], header):
            raise MeasurementError(
                f"A measurement must go on with the same {' and '.join(differ)}. Got others. Start anew."
            )
        conditions = Conditions(board)
        stopped = _run(bench, header, parts, journal, conditions, rounds, seconds, quantile, precision, progress)
    after = conditions.summary(machine)
    journal.finish(after, stopped)
    return header.samples(np.concatenate(parts), after, stopped)


def _run(
    bench: "_Bench",
    header: Header,
    parts: list[Floats],
    journal: Journal,
    conditions: Conditions,
    rounds: int,
    seconds: float,
    quantile: float,
    precision: float,
    progress: Callable[[float], None],
) -> str:
    """Add chunks of rounds to `parts` until one of the reasons to stop holds; return it."""
    began, next_look = bench.clock(), FEWEST_ROUNDS
    while True:
        part = bench.chunk(rounds - sum(map(len, parts)))
        journal.append(part)
        parts.append(part)
        done, spent = sum(map(len, parts)), (bench.clock() - began) * 1e-9
        progress(min(max(done / rounds, spent / seconds), 1.0))
        if done >= rounds:
            return f"{done} rounds done"
        if spent >= seconds and done >= FEWEST_ROUNDS:
            return f"time was up after {done} rounds"
        if done >= next_look:
            if _known(header.samples(np.concatenate(parts), {}, ""), quantile, precision):
                return f"known to within {precision:.0%} after {done} rounds"
            next_look = math.ceil(1.3 * done)
        while conditions.have_moved() and conditions.pauses < MOST_COOL_DOWNS and spent < seconds:
            conditions.pauses += 1
            time.sleep(COOL_DOWN_SECONDS)
            bench.warm_up()
        gc.collect()


def _known(samples: CostSamples, quantile: float, precision: float) -> bool:
    errors = (relative_error(samples.of(unit), quantile) for unit in samples.units)
    return all(median <= precision and high <= 5.0 * precision for median, high in errors)


class _Bench:
    """The jobs of a measurement, and how to time each once."""

    def __init__(self, space: FeatureSpace, items: Sequence[Any], clock: Clock, seed: int) -> None:
        self.clock = clock
        models = reference_models()
        alone = {"timer": clock, "empty call": _nothing, **kernels()}
        self.kernels = (*models, *alone)
        by_item = [_jobs(space, item, clock) for item in items]
        self._cells = [jobs[unit] for unit in range(len(by_item[0])) for jobs in by_item]
        self._jobs: list[Callable[[], object]] = [*self._cells, *models.values()]
        self._alone: list[Callable[[], object]] = list(alone.values())
        self._rng = np.random.default_rng(seed)
        self.loops: tuple[int, ...] = (1,) * len(self._cells)

    def warm_up(self) -> None:
        for _ in range(WARM_UP_ROUNDS):
            for job in (*self._jobs, *self._alone):
                job()

    def calibrated(self, tick_ns: int) -> tuple[int, ...]:
        """Return for each cell how many calls in a row last long enough for the timer."""
        wanted = FEWEST_TICKS * tick_ns
        return tuple(max(1, min(-(-wanted // max(self._shortest(job), 1)), FEWEST_TICKS)) for job in self._cells)

    def _shortest(self, job: Callable[[], object]) -> int:
        return min(self._timed(job) for _ in range(5))

    def _timed(self, job: Callable[[], object]) -> int:
        start = self.clock()
        job()
        return self.clock() - start

    def chunk(self, most: int) -> Floats:
        """Return some rounds, as many as take half a second."""
        began = self.clock()
        rounds: list[Floats] = []
        while len(rounds) < most and (not rounds or (self.clock() - began) * 1e-9 < CHUNK_SECONDS):
            rounds.append(self._round())
        return np.array(rounds)

    def _round(self) -> Floats:
        """Return one time of each: cells, their blocks, models, then kernels, which run among themselves."""
        cells, clock, jobs, loops = len(self._cells), self.clock, self._jobs, self.loops
        row = np.full(cells + len(jobs) + len(self._alone), np.nan)
        for j in self._rng.permutation(len(jobs)).tolist():
            job = jobs[j]
            start = clock()
            job()
            row[j if j < cells else cells + j] = (clock() - start) * 1e-9
            if j < cells and (calls := loops[j]) > 1:
                start = clock()
                for _ in range(calls):
                    job()
                row[cells + j] = (clock() - start) * 1e-9 / calls
        for job in self._alone:  # so that each finds caches as these jobs leave them, not as the features do
            job()
        for j in self._rng.permutation(len(self._alone)).tolist():
            job = self._alone[j]
            start = clock()
            job()
            row[cells + len(jobs) + j] = (clock() - start) * 1e-9
        return row


def _nothing() -> None:
    """Do nothing: the cost of a call."""


@contextmanager
def pinned(cpu: int | None) -> Iterator[None]:
    """Stay on one processor."""
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


def checked_size(space: FeatureSpace, item: Any) -> float:
    """Return the size of an item; ItemError unless it is a positive, finite number."""
    try:
        n = float(space.size(item))
    except Exception as e:
        raise ItemError(f"The space's size function must work on every item. It raised {e!r}.") from e
    if not 0.0 < n < math.inf:
        raise ItemError(f"The size of an item must be a positive, finite number. Got {n}. Drop empty items first.")
    return n


def chosen_items(
    space: FeatureSpace, items: Sequence[Any], n_sizes: int, size_range: tuple[float, float] | None = None
) -> list[int]:
    """Return the positions of the items to measure on, smallest first; ItemError if they do not cover the range."""
    sizes = [checked_size(space, item) for item in items]
    if not sizes:
        raise ItemError("There must be at least one item. Got none.")
    low, high = size_range or (min(sizes), max(sizes))
    within = [i for i, n in enumerate(sizes) if low <= n <= high]
    if not (min(sizes) <= low and high <= max(sizes)) or not within:
        raise ItemError(
            f"The items must cover the sizes {low:g} to {high:g}. Got items of {min(sizes):g} to {max(sizes):g}. "
            "Give larger and smaller items, or another range of sizes."
        )
    return [within[i] for i in spread_by_size([sizes[i] for i in within], n_sizes)]


def spread_by_size(sizes: Sequence[float], count: int) -> list[int]:
    """Return positions of up to `count` items of different sizes, evenly spread over log n, smallest first.

    Never fewer than `count` while there are as many different sizes.

    >>> spread_by_size([100.0, 1.0, 90.0, 10.0], 3)
    [1, 3, 0]
    """
    different = {n: i for i, n in reversed(list(enumerate(sizes)))}
    rising = sorted(different)
    logs = np.log(rising)
    targets = np.linspace(logs[0], logs[-1], count)
    nearest = {int(np.abs(logs - t).argmin()) for t in targets}
    while len(nearest) < min(count, len(rising)):  # sizes in clumps: take the one farthest from those taken
        gaps: NDArray[np.float64] = np.abs(logs[:, None] - logs[sorted(nearest)]).min(axis=1)
        nearest.add(int(gaps.argmax()))
    return [different[rising[k]] for k in sorted(nearest)]


def _jobs(space: FeatureSpace, item: Any, clock: Clock) -> list[Callable[[], object]]:
    """Return what times each unit on one item, in the order of the units."""
    space.extract_all(item)  # says which feature fails, if one does
    item = read_only(item)
    values = [step.compute(item) for step in space.steps]
    row = np.zeros(max(space.widths), dtype=np.float32)
    slots = [-1 if f.step is None else space.steps.index(f.step) for f in space.features]
    stages = [Stage(f, slot, False, row, 0) for f, slot in zip(space.features, slots, strict=True)]
    nothing = Predictor(_without_models(space), space, clock=clock, keep_memory=False)
    return [
        *(partial(step.compute, item) for step in space.steps),
        *(partial(stage.run, item, values) for stage in stages),
        partial(nothing.predict_one, item),
    ]


def _without_models(space: FeatureSpace) -> Bundle:
    return Bundle(
        names=space.names,
        widths=space.widths,
        classes=(0, 1),
        sizes=(0.0, math.inf),
        budgets=(1.0, 1.0),
        alpha=1.0,
        tolerance=0.0,
        costs=(ZERO,) * len(space),
        steps=tuple(StepEntry(name, users, ZERO) for name, users in step_users(space)),
        dispatch=ZERO,
        prior=(0, 0.5),
    )
