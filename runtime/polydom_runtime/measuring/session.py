"""The parts of a measurement: rounds at the sizes, then answers to many items, hot, and cold and rehearsed."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.tables import percent

from .answer_bench import AnswerBench
from .conditions import Conditions
from .cost_samples import CostSamples
from .journal import Journal
from .samples_so_far import SamplesSoFar
from .stopwatch import Timers
from .tails import relative_error
from .unit_bench import CHUNK_SECONDS, UnitBench

MIN_ROUNDS = 10
LOOK_AGAIN = 1.3
"""Precision is checked each time that the rounds have grown by this factor, since the check takes time, too."""

MAX_ITEMS = 1000
"""Items as they come: enough for contents, and sizes such as those with large prime factors, to show."""

ASLEEP_ANSWERS = 1000
"""The time that cold adds is nearly the same for all items, so one answer to each does. Of late answers, one in a
hundred or fewer, some hundred answers show too few to choose times by."""

MIN_ANSWERS, MAX_HOT_ROUNDS = 10, 10
SHARE_OF_TIME, HOT_SHARE = 0.6, 0.25
"""The answers may take this share of the time of the rounds at the sizes, the hot ones this share of that."""

COOL_DOWN_SECONDS, MAX_COOL_DOWNS = 2.0, 10


@dataclass(slots=True)
class StoppingRule:
    """Stops rounds when all times are known precisely enough, or the rounds or the time are used up."""

    rounds: int
    seconds: float
    """The time limit; it ends no measurement before 10 rounds."""
    quantile: float
    precision: float
    """Every unit's median must be known to within this fraction, its `quantile` to within five times that."""
    _next_look: float = field(default=MIN_ROUNDS, init=False)

    def fraction(self, done: int, spent: float) -> float:
        """Return the fraction of the rounds or of the time that is used up, whichever is larger."""
        return min(max(done / self.rounds, spent / self.seconds), 1.0)

    def reason(self, done: int, spent: float, samples: Callable[[], CostSamples]) -> str | None:
        """Return the reason to stop after `done` rounds and `spent` seconds, or None; `samples` returns those taken."""
        if done >= self.rounds:
            return f"{done} rounds done"
        if spent >= self.seconds and done >= MIN_ROUNDS:
            return f"time was up after {done} rounds"
        if done >= self._next_look:
            self._next_look = LOOK_AGAIN * done
            if self._is_known(samples()):
                return f"known to within {percent(self.precision)} after {done} rounds"
        return None

    def _is_known(self, samples: CostSamples) -> bool:
        errors = (relative_error(samples.of(unit), self.quantile) for unit in samples.units)
        return all(median <= self.precision and high <= 5.0 * self.precision for median, high in errors)


class Session:
    """Takes the rounds and answers that a measurement lacks; after each chunk, the machine is checked."""

    def __init__(
        self,
        bench: UnitBench,
        measurement: SamplesSoFar,
        journal: Journal,
        conditions: Conditions,
        timers: Timers,
        rule: StoppingRule,
    ) -> None:
        self._bench, self._measurement, self._journal, self._conditions = bench, measurement, journal, conditions
        self._timers, self._rule = timers, rule
        self._began = self._answers_began = self._chunk_began = timers.clock()
        self._chunk: dict[Regime, list[Floats]] = {}
        conditions.seen = measurement.seen

    def take_rounds(self, progress: Callable[[float], None]) -> None:
        """Add chunks of rounds until there is a reason to stop, and keep this reason."""
        header, parts, rule = self._measurement.header, self._measurement.rounds, self._rule
        while not self._measurement.enough:
            part = self._bench.chunk(max(rule.rounds - sum(map(len, parts)), 1))
            self._keep(part)
            header.samples(part, {}, "").check()  # so that a timer that stands still is reported now, not on the host
            done, spent = sum(map(len, parts)), self._spent(self._began)
            progress(rule.fraction(done, spent))
            stopped = rule.reason(done, spent, lambda: header.samples(np.concatenate(parts), {}, ""))
            if stopped:
                self._measurement.enough = stopped
                self._journal.enough(stopped)
            self._cool_down()

    def take_answers(self, bench: AnswerBench, progress: Callable[[float], None]) -> None:
        """Answer items hot, cold and rehearsed, as long as the limits allow."""
        seconds = SHARE_OF_TIME * self._rule.seconds
        self._answers_began = self._chunk_began = self._timers.clock()
        if not self._measurement.answers["cold"]:  # else an earlier run was through with hot ones
            self._answer_hot(bench, HOT_SHARE * seconds)
        progress(HOT_SHARE)
        self._answer_after_sleeps(bench, seconds)
        progress(1.0)

    def _answer_hot(self, bench: AnswerBench, seconds: float) -> None:
        """Answer the items in a few rounds without sleeps, without items on which a feature fails in the first one."""
        done, rounds = self._positions("hot"), min(self._rule.rounds, MAX_HOT_ROUNDS)
        first = list(dict.fromkeys(done))
        is_first_round, n_done, n_failed = len(done) == len(first), len(done), 0
        following = max(first, default=-1) + 1
        while True:
            spent = self._spent(self._answers_began)
            enough_items = spent > seconds / 2 and len(first) >= MIN_ANSWERS
            is_first_round = is_first_round and following < len(bench) and not enough_items
            if is_first_round:
                try:
                    self._answer(bench, following, "hot")
                    first.append(following)
                    n_done += 1
                except FeatureError:
                    n_failed += 1
                following += 1
                continue
            is_round_done = not first or n_done % len(first) == 0
            if n_done >= rounds * len(first) or (is_round_done and spent >= seconds):
                break
            self._answer(bench, first[n_done % len(first)], "hot")
            n_done += 1
        self._keep_answers()
        if n_failed:
            self._conditions.warn(f"{n_failed} of {len(bench)} items left out, since a feature failed on them")

    def _answer_after_sleeps(self, bench: AnswerBench, seconds: float) -> None:
        """Answer items after a sleep each, in turn without and with a rehearsal, beginning with those of `hot`."""
        items = list(dict.fromkeys(self._positions("hot")))
        bench.learn_usual_times(self._measurement.answers_in("hot"))
        regimes: tuple[Regime, ...] = ("cold", "rehearsed")
        done = {regime: len(self._positions(regime)) for regime in regimes}
        most = max(MIN_ANSWERS, min(self._rule.rounds, ASLEEP_ANSWERS)) if items else 0
        for k in range(min(done.values()), most):
            if k >= MIN_ANSWERS and self._spent(self._answers_began) >= seconds:
                break
            for regime in regimes:
                if done[regime] <= k:  # else an earlier run wrote one regime and was killed before the other
                    self._answer(bench, items[k % len(items)], regime)
        self._keep_answers()

    def _positions(self, regime: Regime) -> list[int]:
        return [int(position) for position in self._measurement.answers_in(regime)[:, 0]]

    def _answer(self, bench: AnswerBench, position: int, regime: Regime) -> None:
        answer = bench.answer(position, regime, self._measurement.header.asleep)
        self._chunk.setdefault(regime, []).append(answer)
        if self._spent(self._chunk_began) >= CHUNK_SECONDS:
            self._keep_answers()

    def _keep_answers(self) -> None:
        for regime, answers in self._chunk.items():
            self._keep(np.array(answers), regime)
            self._cool_down()
        self._chunk = {}
        self._chunk_began = self._timers.clock()

    def _keep(self, part: Floats, regime: Regime | None = None) -> None:
        """Write a chunk of rounds, or of answers in a regime, and add it to the measurement."""
        measurement, seen = self._measurement, self._conditions.with_losses(self._bench.stopwatch.taken())
        measurement.seen = self._conditions.seen = measurement.seen.plus(seen)
        self._journal.append(part, self._conditions.warnings, seen, regime)
        (measurement.answers[regime] if regime else measurement.rounds).append(part)

    def _cool_down(self) -> None:
        conditions, limit = self._conditions, self._rule.seconds
        while conditions.have_moved() and conditions.pauses < MAX_COOL_DOWNS and self._spent(self._began) < limit:
            conditions.pauses += 1
            self._timers.sleep(COOL_DOWN_SECONDS)
            self._bench.warm_up()
        gc.collect()

    def _spent(self, since_ns: int) -> float:
        return (self._timers.clock() - since_ns) * 1e-9
