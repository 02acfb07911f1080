"""Rehearsals and arrivals in a loop that is short of time: late wake-ups, long work in slack, queues that block."""

from collections.abc import Callable, Iterator
from typing import Any

from polydom_runtime.loop.feed import ItemFeed
from polydom_runtime.loop.loop_counts import LoopCounts, LoopSummary
from polydom_runtime.loop.monitor import Monitor
from polydom_runtime.loop.rehearsals import NO_TIME, Rehearsals
from polydom_runtime.loop.wakeups import Sleeper
from polydom_runtime.prediction import Prediction
from polydom_runtime.testing import ManualClock

PERIOD, DEADLINE, ANSWER, USUAL_LATENESS = 10e-3, 1e-3, 100e-6, 50e-6
"""Seconds."""


class BusyLoop:
    """A loop whose predictor takes the seconds that a test says, and notes how long each item had waited."""

    def __init__(self, *, rehearsal: float = 1e-3, lateness: Callable[[int], float] = lambda n: USUAL_LATENESS) -> None:
        self.clock = ManualClock(step_ns=500)
        self.deadline = DEADLINE
        self.waited: list[int] = []
        self.rehearsed: list[int] = []
        self.sleeps = 0
        self._rehearsal, self._lateness = rehearsal, lateness

    def warm_up(self, item: Any) -> None:
        """Do nothing."""

    def rehearse(self) -> None:
        self.rehearsed.append(self.clock())
        self.clock.advance(seconds=self._rehearsal)

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        now = self.clock()
        waited = 0 if arrived_ns is None else now - arrived_ns
        self.waited.append(waited)
        self.clock.advance(seconds=ANSWER)
        elapsed = waited + round(ANSWER * 1e9)
        return Prediction(0, (), 1.0, elapsed, elapsed <= DEADLINE * 1e9, "planned", waited_ns=waited)

    def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        self.clock.advance(seconds=seconds + self._lateness(self.sleeps))

    def monitor(self, source: Any, **options: Any) -> Monitor:
        sleeper = Sleeper(self.clock, self.sleep, waits=lambda: 0, preemptions=lambda: 0)
        on_answer = options.pop("on_answer", lambda *_: None)
        period = options.pop("period", PERIOD)
        return Monitor(source, self, period, on_answer, clock=self.clock, sleeper=sleeper, **options)

    def run(self, source: Any, **options: Any) -> LoopSummary:
        return self.monitor(source, **options).run()


def test_a_rehearsal_that_would_delay_the_item_is_skipped() -> None:
    loop = BusyLoop(rehearsal=1e-3)
    rehearsals = Rehearsals(loop.rehearse, loop.clock, round(PERIOD * 1e9))
    rehearsals.learn(Sleeper(loop.clock, loop.sleep).until, round(PERIOD * 1e9))

    for left_ns, made in ((900_000, 3), (600_000, 3), (1_100_000, 4)):
        now = loop.clock()
        rehearsals.run(now - 100_000, now + left_ns)
        assert len(loop.rehearsed) == made
    counts = rehearsals.counts(1)
    assert (counts.skipped, counts.skipped_since) == (2, {NO_TIME: 2})


def test_rehearsals_go_on_after_a_busy_spell() -> None:
    loop = BusyLoop(lateness=lambda n: 5e-3 if n < 100 else USUAL_LATENESS)

    summary = loop.run(range(300), period=6e-3)

    assert summary.rehearsals.skipped > 50
    assert summary.rehearsals.made > 150


def test_late_wake_ups_do_not_make_rehearsals_fill_the_period() -> None:
    loop = BusyLoop(rehearsal=0.5e-3, lateness=lambda n: 6e-3 if n < 5 or n % 20 == 0 else USUAL_LATENESS)

    summary = loop.run(range(300))

    assert summary.rehearsals.made > 250
    assert 0.05 < summary.rehearsals.share < 0.2


def test_in_latest_an_item_that_a_later_call_waited_for_came_when_that_call_returned() -> None:
    loop = BusyLoop()

    def queue() -> Iterator[int]:
        for number in range(12):
            if number == 6:  # the second call of a period: one more item is expected, and comes 4 ms later
                loop.clock.advance(seconds=4e-3)
            yield number

    def overrun(number: int, item: Any, answer: Prediction) -> None:
        if number == 4:
            loop.clock.advance(seconds=2.5 * PERIOD)

    monitor = loop.monitor(queue(), on_answer=overrun, overrun="latest", rehearse=False)
    monitor._feed = ItemFeed(queue(), round(PERIOD * 1e9), monitor.counts, loop.clock, iter(range(1000)).__next__)
    summary = monitor.run()

    assert (summary.counts.dropped, summary.counts.late) == (1, 0)
    assert max(loop.waited) < 100_000


def test_a_source_that_worked_for_long_has_not_waited() -> None:
    clock = ManualClock()

    def slow() -> Iterator[int]:
        clock.advance(seconds=4e-3)
        yield 1

    for sleeps, blocked in ((lambda: 0, False), (iter(range(10)).__next__, True)):
        feed = ItemFeed(slow(), 10_000_000, LoopCounts(), clock, sleeps)
        assert (feed.ask(0), feed.blocked) == (1, blocked)
