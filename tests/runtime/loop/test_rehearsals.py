"""Loops that rehearse: early enough to be ready when the item is due, and never at the cost of an item."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_runtime.loop.loop_counts import LoopSummary
from polydom_runtime.loop.monitor import Monitor
from polydom_runtime.loop.rehearsals import CROWDED, CROWDED_OUT, NO_ROOM, REST
from polydom_runtime.loop.wakeups import SlackCollector, Sleeper
from polydom_runtime.prediction import Prediction
from polydom_runtime.testing import ManualClock
from tests.draws import draws

US, MS = 1_000, 1_000_000
PERIOD, DEADLINE = 10 * MS, 2 * MS
NO_COLLECTOR = SlackCollector(pending=lambda: 0, off=nullcontext)


class Stage:
    """A predictor that rehearses, on a clock that moves by 10 ns at each reading."""

    def __init__(
        self,
        takes: Callable[[int], int] = lambda number: 300 * US,
        work: Callable[[int], int] = lambda number: 100 * US,
        oversleep: Sequence[int] = (0,),
        deadline: int = DEADLINE,
    ) -> None:
        self.clock = ManualClock(step_ns=10)
        self.deadline = deadline * 1e-9
        self.rehearsed: list[tuple[int, int]] = []
        self.answers: list[Prediction] = []
        self.calls: list[int] = []
        self._takes, self._work, self._oversleep, self._sleeps = takes, work, oversleep, 0
        self.waits = 0

    def sleep(self, seconds: float) -> None:
        late = self._oversleep[self._sleeps % len(self._oversleep)]
        self._sleeps += 1
        self.clock.advance(seconds=seconds + late * 1e-9)

    def warm_up(self, item: Any) -> None:
        pass

    def rehearse(self) -> None:
        began = self.clock()
        self.clock.advance(seconds=self._takes(len(self.rehearsed)) * 1e-9)
        self.rehearsed.append((began, self.clock()))

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        called = self.clock()
        self.calls.append(called)
        self.clock.advance(seconds=self._work(len(self.calls) - 1) * 1e-9)
        arrived = called if arrived_ns is None else arrived_ns
        elapsed = self.clock() - arrived
        met = elapsed <= self.deadline * 1e9
        self.answers.append(Prediction(item, (), 1.0, elapsed, met, "planned", 1.0, called - arrived))
        return self.answers[-1]

    def run(self, source: Any, **options: Any) -> tuple[Monitor, LoopSummary]:
        monitor = Monitor(
            source,
            self,
            PERIOD * 1e-9,
            lambda number, item, prediction: None,
            clock=self.clock,
            sleeper=Sleeper(self.clock, self.sleep, waits=lambda: self.waits, preemptions=lambda: 0),
            collector=NO_COLLECTOR,
            **options,
        )
        return monitor, monitor.run()

    def arriving(self, times: Sequence[int]) -> Iterator[int]:
        """Yield one item to warm up with, then an item at each time: wait for those that have not come yet."""
        yield -1
        start = self.clock.now_ns // PERIOD * PERIOD
        for number, time in enumerate(start + after for after in times):
            if self.clock.now_ns < time:
                self.waits += 1
                self.clock.now_ns = time
            yield number

    @property
    def gaps(self) -> list[int]:
        """The time from the end of the last rehearsal before each answer to its call."""
        ends = [end for _, end in self.rehearsed]
        return [call - max((end for end in ends if end <= call), default=-PERIOD) for call in self.calls]


def test_each_item_finds_code_that_was_just_rehearsed() -> None:
    stage = Stage()
    _, summary = stage.run(range(50))

    assert max(stage.gaps[1:]) < 400 * US  # less than another rehearsal takes
    assert summary.counts.answered == 50
    assert summary.rehearsals.made >= 49
    assert summary.rehearsals.p50_ns == pytest.approx(300 * US, rel=0.02)
    assert 0.02 < summary.rehearsals.share < 0.2


def test_item_is_answered_when_it_is_due_although_the_loop_rehearses() -> None:
    stage = Stage(oversleep=(0, 50 * US, 200 * US))
    stage.run(range(50))

    assert max(answer.waited_ns for answer in stage.answers[3:]) < 5 * US


@given(
    takes=st.lists(st.integers(0, 12 * MS), min_size=1, max_size=9),
    work=st.lists(st.integers(0, 15 * MS), min_size=1, max_size=9),
    oversleep=st.lists(st.integers(0, 12 * MS), min_size=1, max_size=5),
    overrun=st.sampled_from(["skip", "catch up", "latest"]),
)
@settings(max_examples=draws(10, 30))
def test_every_item_is_accounted_for_whatever_rehearsals_take(
    takes: list[int], work: list[int], oversleep: list[int], overrun: Any
) -> None:
    stage = Stage(lambda k: takes[k % len(takes)], lambda k: work[k % len(work)], oversleep)
    _, summary = stage.run(range(30), overrun=overrun)

    counts = summary.counts
    assert counts.answered + counts.dropped == 30
    assert counts.late == sum(not answer.deadline_met for answer in stage.answers)
    assert all(answer.waited_ns >= 0 for answer in stage.answers)


def test_rehearsals_get_the_time_that_they_need_after_a_few_items() -> None:
    stage = Stage(takes=lambda number: 3 * MS)
    stage.run(range(20))

    assert max(answer.waited_ns for answer in stage.answers[1:]) < 5 * US


def test_rehearsals_that_turn_out_too_long_are_counted_as_skipped() -> None:
    _, summary = Stage(takes=lambda number: 9 * MS).run(range(20))

    assert summary.rehearsals.skipped_since == {NO_ROOM: 19}  # the first item came after those that are timed


@pytest.mark.parametrize("deadline", [PERIOD, PERIOD - 200 * US])
def test_period_without_room_has_no_rehearsals(deadline: int) -> None:
    stage = Stage(deadline=deadline)
    monitor, summary = stage.run(range(20))

    assert not monitor.rehearsals.fit
    assert (summary.counts.answered, summary.counts.skipped) == (20, 0)
    assert not [begin for begin, _ in stage.rehearsed if begin > stage.calls[0]]


def test_loop_that_may_not_rehearse_does_not() -> None:
    stage = Stage()
    _, summary = stage.run(range(20), rehearse=False)

    assert (stage.rehearsed, summary.rehearsals.made, summary.rehearsals.share) == ([], 0, 0.0)


def test_rehearsal_that_raises_is_counted_and_delays_nothing() -> None:
    stage = Stage(takes=lambda number: 1 // 0)
    _, summary = stage.run(range(20))

    assert summary.counts.answered == 20
    assert summary.counts.failures["rehearsal"] >= 19
    assert summary.counts.errors["rehearsal"].startswith("ZeroDivisionError")


def test_loop_without_items_stops_rehearsing_and_goes_on_with_the_next_item() -> None:
    stage = Stage()

    def source() -> Iterator[int | None]:
        yield from range(5)
        for _ in range(100):
            yield None
        yield from range(5)

    _, summary = stage.run(source())

    quiet = [begin for begin, _ in stage.rehearsed if stage.calls[4] < begin < stage.calls[5]]
    assert (summary.counts.answered, summary.counts.idle) == (10, 101 - 1)
    assert {begin // PERIOD - stage.calls[4] // PERIOD for begin in quiet} <= set(range(6))
    assert max(stage.gaps[6:]) < 400 * US


def test_late_wake_ups_count_as_time_of_the_item() -> None:
    stage = Stage(work=lambda number: 1_800 * US, oversleep=(300 * US,))
    _, summary = stage.run(range(20), rehearse=False)

    assert {answer.waited_ns // US for answer in stage.answers[1:]} == {300}
    assert summary.counts.late == 19


def test_loop_rests_from_rehearsals_while_others_take_the_processor() -> None:
    taken = iter(range(10**6))
    stage = Stage()
    sleeper = Sleeper(stage.clock, stage.sleep, waits=lambda: 0, preemptions=lambda: next(taken))
    monitor = Monitor(
        range(700),
        stage,
        PERIOD * 1e-9,
        lambda number, item, prediction: None,
        clock=stage.clock,
        sleeper=sleeper,
        collector=NO_COLLECTOR,
    )
    summary = monitor.run()

    begun = sum(begin > stage.calls[0] for begin, _ in stage.rehearsed)
    assert 2 * CROWDED - 1 <= begun <= 2 * CROWDED  # some before the rest, and some after it
    assert summary.rehearsals.skipped_since == {CROWDED_OUT: summary.rehearsals.skipped}
    assert summary.rehearsals.skipped >= REST
    assert monitor.rehearsals.fit


def test_rehearsal_ends_before_an_item_that_the_source_waits_for_if_its_time_can_be_foreseen() -> None:
    """Items come in the middle of each period, up to 200 µs early or late."""
    came = [(k + 9) * PERIOD + PERIOD // 2 + (0, 100, -100)[k % 3] * US for k in range(60)]
    stage = Stage()
    stage.run(stage.arriving(came))

    assert min(stage.gaps[2:16]) > MS  # nothing is foreseen yet
    assert max(stage.gaps[20:]) < MS
    assert max(answer.waited_ns for answer in stage.answers[1:]) < 5 * US


@pytest.mark.parametrize("change", [-2 * MS, 2 * MS])
def test_item_that_comes_when_it_was_not_foreseen_is_answered_and_nothing_is_foreseen_then(change: int) -> None:
    came = [(k + 9) * PERIOD + PERIOD // 2 + (change if k >= 30 else 0) for k in range(45)]
    stage = Stage()
    _, summary = stage.run(stage.arriving(came))

    assert summary.counts.answered == 46
    assert max(stage.gaps[20:30]) < MS
    assert min(stage.gaps[32:]) > MS


def test_items_that_come_at_random_are_not_foreseen() -> None:
    came = [(k + 9) * PERIOD + PERIOD // 2 + (k * 7919) % 3000 * US for k in range(60)]
    stage = Stage()
    stage.run(stage.arriving(came))

    assert min(stage.gaps[2:]) > MS
    assert max(answer.waited_ns for answer in stage.answers[2:]) < 5 * US
