"""The calls that a measurement times, and a round: each of them timed once, in random order."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle, BundleSpace, Prior
from polydom_runtime.bundles.bundle_times import BundleTimes
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.bundles.unit_times import UnitTimes, step_users
from polydom_runtime.clock import Clock
from polydom_runtime.costs import ZERO
from polydom_runtime.device.calibration import kernels, reference_models
from polydom_runtime.features import FeatureSpace, read_only
from polydom_runtime.predictor import Predictor, Seams
from polydom_runtime.stages import stage_of

from .cost_samples import AROUND, MIN_SECONDS
from .stopwatch import Stopwatch, Timers

MIN_TICKS = 100
"""A call shorter than this number of timer ticks is also timed in blocks of calls."""

WARM_UP_ROUNDS = 2
CHUNK_SECONDS = 0.5
"""Seconds of a chunk of rounds: the machine is checked and the rounds are written after each chunk."""


class UnitBench:
    """Times every unit on every item (one for each size, smallest first), and models and kernels, in random order."""

    def __init__(self, space: FeatureSpace, items: Sequence[Any], timers: Timers, seed: int) -> None:
        self.stopwatch = Stopwatch(timers)
        self.models = reference_models()
        self._clock = clock = timers.clock
        alone = {"timer": clock, "empty call": _nothing, **kernels()}
        self.kernels = (*self.models, *alone)
        by_item = [_jobs(space, item) for item in items]
        self._calls = [jobs[unit] for unit in range(len(by_item[0])) for jobs in by_item]
        self._empty, self._items = EmptyAnswer(space, clock), [*map(read_only, items)]
        answers = [partial(self._empty.predictor.predict_one, item) for item in self._items]
        self._jobs: list[Callable[[], object]] = [*self._calls, *answers, *self.models.values()]
        self._alone: list[Callable[[], object]] = list(alone.values())
        self._rng = np.random.default_rng(seed)
        self.loops: tuple[int, ...] = (1,) * (len(self._calls) + len(AROUND) * len(items))

    def warm_up(self) -> None:
        """Run every call twice, since first calls take longer."""
        for _ in range(WARM_UP_ROUNDS):
            for job in (*self._jobs, *self._alone):
                job()

    def calibrated(self) -> tuple[int, ...]:
        """Return, for each pair of unit and item, how many calls in a row last long enough for the timer.

        The parts of an answer are never timed in blocks: a block tells their sum only.
        """
        wanted = MIN_TICKS * self.stopwatch.tick_ns
        loops = (max(1, min(-(-wanted // max(self._shortest(job), 1)), MIN_TICKS)) for job in self._calls)
        return *loops, *(1,) * (len(AROUND) * len(self._items))

    def _shortest(self, job: Callable[[], object]) -> int:
        readings = [(self._clock(), job(), self._clock()) for _ in range(5)]
        return min(end - start for start, _, end in readings)

    def chunk(self, most: int) -> Floats:
        """Return the seconds of up to `most` rounds, about half a second of them; shape ``(n_rounds, n_columns)``."""
        began = self._clock()
        self.stopwatch.begin()
        rounds: list[Floats] = []
        while len(rounds) < most and (not rounds or (self._clock() - began) * 1e-9 < CHUNK_SECONDS):
            rounds.append(self._round())
        return np.array(rounds)

    def _round(self) -> Floats:
        """Return one time of each: units on items (cells), their blocks, models, then kernels, in seconds."""
        cells, time, jobs, loops, items = len(self.loops), self.stopwatch.time, self._jobs, self.loops, self._items
        calls, models = len(self._calls), 2 * cells
        row = np.full(models + len(self.models) + len(self._alone), np.nan)
        for j in self._rng.permutation(len(jobs)).tolist():
            job, k = jobs[j], j - calls
            if k >= len(items):
                row[models + k - len(items)] = time(job) * 1e-9
            elif k >= 0:
                row[j : cells : len(items)] = self._empty.timed(items[k], self.stopwatch)
            else:
                row[j] = time(job) * 1e-9
                if loops[j] > 1:
                    row[cells + j] = time(partial(_repeat, job, loops[j])) * 1e-9 / loops[j]
        # Run once untimed, so that kernels find the caches as kernels leave them, not as features leave them.
        for job in self._alone:
            job()
        for j in self._rng.permutation(len(self._alone)).tolist():
            row[models + len(self.models) + j] = time(self._alone[j]) * 1e-9
        return row


def _nothing() -> None:
    """Do nothing: the cost of a call."""


def _repeat(job: Callable[[], object], calls: int) -> None:
    for _ in range(calls):
        job()


def _jobs(space: FeatureSpace, item: Any) -> list[Callable[[], object]]:
    """Return a call of each step and feature on one item, in the order of the units."""
    space.extract_all(item)  # its error names the feature that fails, if one does
    item = read_only(item)
    values = [step.compute(item) for step in space.steps]
    row = np.zeros(max(space.widths), dtype=np.float32)
    stages = [stage_of(space, feature, row, 0) for feature in range(len(space))]
    return [
        *(partial(step.compute, item) for step in space.steps),
        *(partial(stage.run, item, values) for stage in stages),
    ]


class EmptyAnswer:
    """An answer without features and models: what is left of an answer are the parts around them."""

    def __init__(self, space: FeatureSpace, clock: Clock) -> None:
        self.predictor = predictor_without_models(space, clock)

    def timed(self, item: Any, stopwatch: Stopwatch) -> tuple[float, float, float]:
        """Answer an item; return the seconds of `AROUND`, without pauses. There is no feature that could be woken."""
        spent = stopwatch.time(partial(self.predictor.predict_one, item))
        begin, decision, end = self.predictor.trace.marks
        parts = [decision - begin, end - decision]
        # What the stopwatch did not count was a pause. Most likely it came in the longer part.
        parts[parts[0] < parts[1]] -= max(end - begin - spent, 0)
        before, after = (max(ns, stopwatch.tick_ns) * 1e-9 for ns in parts)
        return before, MIN_SECONDS, after


def predictor_without_models(space: FeatureSpace, clock: Clock) -> Predictor:
    """Return a predictor that always gives the prior."""
    steps, users = [step.name for step in space.steps], [mask for _, mask in step_users(space)]
    nothing = UnitTimes((*space.names, *steps), tuple(users), (ZERO,) * (len(space) + len(steps)))
    bundle = Bundle(
        space=BundleSpace(space.names, space.widths, (0, 1)),
        times=BundleTimes.of(nothing),
        promise=Promise(sizes=(0.0, math.inf), budgets=(1.0, 1.0)),
        prior=Prior(0, 0.5),
    )
    return Predictor(bundle, space, seams=Seams(clock=clock, keep_memory=False))
