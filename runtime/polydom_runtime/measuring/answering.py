"""The part of a measurement that answers many items: hot in a few rounds, then cold and rehearsed after sleeps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.clock import Clock
from polydom_runtime.exceptions import FeatureError

from .answers import AnswerBench
from .measurement import Measurement

MAX_ITEMS = 300
"""Items as they come: enough for contents, and sizes such as those with large prime factors, to show."""

ASLEEP_ANSWERS = 300
"""What cold adds is nearly the same for all items, so one answer to each does. With half as many, the choice of
quantiles, which is made on one half of them and checked on the other, often breaks the promise on later items."""

MIN_ANSWERS, MAX_HOT_ROUNDS = 10, 5
SHARE_OF_TIME, HOT_SHARE = 0.6, 0.4
"""The answers may take this share of the time of the rounds at the sizes, the hot ones this share of that."""

CHUNK_SECONDS = 0.5
"""Seconds of a chunk of answers: the machine is checked and the answers are written after each chunk."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many answers there are at most, and how long they may take."""

    hot_rounds: int
    asleep_answers: int
    seconds: float
    hot_seconds: float
    """For all of them, and for those without a sleep."""

    @classmethod
    def of(cls, rounds: int, seconds: float) -> "Limits":
        """Return those that suit a measurement of so many rounds and seconds."""
        asleep = max(MIN_ANSWERS, min(rounds, ASLEEP_ANSWERS))
        budget = SHARE_OF_TIME * seconds
        return cls(min(rounds, MAX_HOT_ROUNDS), asleep, budget, HOT_SHARE * budget)


class Answering:
    """Answers the items of a bench in all regimes, as long as the limits allow.

    `measurement`: has the answers of an earlier run, if there was one, and gets the new ones through `keep`. `keep`:
    takes a regime and a chunk of answers in it.

    `n_failed`: items that were left out, since a feature failed on them.
    """

    def __init__(
        self,
        bench: AnswerBench,
        measurement: Measurement,
        limits: Limits,
        clock: Clock,
        keep: Callable[[Regime, Floats], None],
    ) -> None:
        self._bench, self._measurement, self._limits, self._clock = bench, measurement, limits, clock
        self._keep = keep
        self._asleep = measurement.header.asleep
        self._chunk: dict[Regime, list[Floats]] = {}
        self._began = self._chunk_began = clock()
        self.n_failed = 0

    def hot(self) -> None:
        """Answer the items in a few rounds without sleeps; of slow ones fewer, but each at least once more."""
        limits, done = self._limits, self._positions("hot")
        first = list(dict.fromkeys(done))
        is_first_round, n_done = len(done) == len(first), len(done)
        following = max(first, default=-1) + 1
        while True:
            spent = self._spent()
            enough_items = spent > limits.hot_seconds / 2 and len(first) >= MIN_ANSWERS
            is_first_round = is_first_round and following < len(self._bench) and not enough_items
            if is_first_round:
                if self._answered_first(following):
                    first.append(following)
                    n_done += 1
                following += 1
                continue
            is_round_done = not first or n_done % len(first) == 0
            if n_done >= limits.hot_rounds * len(first) or (is_round_done and spent >= limits.hot_seconds):
                break
            self._answer(first[n_done % len(first)], "hot")
            n_done += 1
        self._keep_chunk()

    def asleep(self) -> None:
        """Answer items after a sleep each, in turn without and with a rehearsal, beginning with those of `hot`."""
        limits, items = self._limits, list(dict.fromkeys(self._positions("hot")))
        self._bench.learn_usual_times(self._measurement.answers_in("hot"))
        regimes: tuple[Regime, ...] = ("cold", "rehearsed")
        done = {regime: len(self._positions(regime)) for regime in regimes}
        for k in range(min(done.values()), limits.asleep_answers if items else 0):
            if k >= MIN_ANSWERS and self._spent() >= limits.seconds:
                break
            for regime in regimes:
                if done[regime] <= k:  # else an earlier run wrote one regime and was killed before the other
                    self._answer(items[k % len(items)], regime)
        self._keep_chunk()

    def _positions(self, regime: Regime) -> list[int]:
        return [int(position) for position in self._measurement.answers_in(regime)[:, 0]]

    def _spent(self) -> float:
        return (self._clock() - self._began) * 1e-9

    def _answered_first(self, position: int) -> bool:
        """Answer an item for the first time; tell whether no feature failed."""
        try:
            self._answer(position, "hot")
        except FeatureError:
            self.n_failed += 1
            return False
        return True

    def _answer(self, position: int, regime: Regime) -> None:
        self._chunk.setdefault(regime, []).append(self._bench.answer(position, regime, self._asleep))
        if (self._clock() - self._chunk_began) * 1e-9 >= CHUNK_SECONDS:
            self._keep_chunk()

    def _keep_chunk(self) -> None:
        for regime, answers in self._chunk.items():
            self._keep(regime, np.array(answers))
        self._chunk = {}
        self._chunk_began = self._clock()
