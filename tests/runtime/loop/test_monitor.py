"""The loop with a fixed period: its arithmetic on a clock that tests move, and a real process that is told to stop."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.__main__ import main
from polydom_runtime.exceptions import DeadlineError, LoopError
from polydom_runtime.loop.loop_counts import LoopSummary, Miss
from polydom_runtime.loop.monitor import Monitor
from polydom_runtime.loop.stop import Stop
from polydom_runtime.loop.wakeups import SlackCollector, Sleeper
from polydom_runtime.prediction import Prediction
from polydom_runtime.testing import ManualClock
from tests.draws import draws

PERIOD = 100
"""Nanoseconds: the numbers of the tests are small, the arithmetic is the same."""

NO_COLLECTOR = SlackCollector(pending=lambda: 0, off=nullcontext)
"""Leaves the collector alone: to collect what pytest has takes longer than all else here."""


class Rig:
    """A predictor, a source and callbacks that take the nanoseconds that a test says, and remember when they began."""

    def __init__(self, work: Callable[[int], int] = lambda number: 0, oversleep: Sequence[int] = (0,)) -> None:
        self.clock = ManualClock()
        self.deadline = PERIOD * 1e-9
        self.starts: list[int] = []
        self.answers: list[tuple[int, Any]] = []
        self.misses: list[Miss] = []
        self.slack: list[int] = []
        self.asked: list[int] = []
        self._work = work
        self._oversleep = oversleep
        self._sleeps = 0

    def spend(self, ns: int) -> None:
        self.clock.advance(seconds=ns * 1e-9)

    def sleep(self, seconds: float) -> None:
        self._sleeps += 1
        self.spend(round(seconds * 1e9) + self._oversleep[self._sleeps % len(self._oversleep)])

    def warm_up(self, item: Any) -> None:
        pass

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        began = self.clock()
        self.starts.append(began)
        self.spend(self._work(len(self.starts) - 1))
        elapsed = self.clock() - began
        return Prediction(item, (), 1.0, elapsed, elapsed <= PERIOD, "planned")

    def monitor(self, source: Any, **options: Any) -> Monitor:
        return Monitor(
            source,
            self,
            PERIOD * 1e-9,
            options.pop("on_answer", lambda number, item, prediction: self.answers.append((number, item))),
            options.pop("on_miss", self.misses.append),
            clock=self.clock,
            sleeper=Sleeper(self.clock, self.sleep, waits=lambda: 0, preemptions=lambda: 0),
            collector=options.pop("collector", NO_COLLECTOR),
            on_slack=options.pop("on_slack", lambda seconds: self.slack.append(round(seconds * 1e9))),
            **options,
        )

    def run(self, source: Any, **options: Any) -> LoopSummary:
        return self.monitor(source, **options).run()

    def live(self, arrivals: Sequence[int], *, blocks: bool = False) -> Iterator[int | None]:
        """Yield each item, which is its time of arrival, when it has come; wait for it, or yield None until then."""
        for arrival in arrivals:
            while (missing := arrival - self.clock()) > 0:
                self.asked.append(self.clock())
                if blocks:
                    self.spend(missing)
                else:
                    yield None
            self.asked.append(self.clock())
            yield arrival

    def nothing(self) -> Iterator[None]:
        """Yield None once, so that the source ends in a period of its own."""
        yield None
        self.asked.append(self.clock())


works = st.lists(st.integers(0, 4 * PERIOD), min_size=1, max_size=20)
arrivals = st.lists(st.integers(0, 30 * PERIOD), min_size=1, max_size=20).map(sorted)
overruns = st.sampled_from(["skip", "catch up", "latest"])


@given(late=st.lists(st.integers(0, PERIOD // 2), min_size=1, max_size=7), work=st.integers(0, PERIOD // 2))
def test_wake_up_k_is_at_start_plus_k_periods_however_late_the_others_were(late: list[int], work: int) -> None:
    rig = Rig(lambda number: work, late)
    rig.run(range(50))

    offsets = [start - k * PERIOD for k, start in enumerate(rig.starts)]
    assert len(offsets) == 50
    assert all(0 <= offset <= PERIOD // 2 for offset in offsets)


def test_a_punctual_loop_is_exactly_on_its_grid() -> None:
    rig = Rig(lambda number: 7 * number % PERIOD)
    summary = rig.run(range(100))

    assert rig.starts == [k * PERIOD for k in range(100)]
    assert (summary.counts.answered, summary.counts.overruns, summary.lateness.max_ns) == (100, 0, 0)
    assert summary.ended == "the source ended"


@given(works, st.lists(st.integers(0, 3 * PERIOD), min_size=1, max_size=5))
def test_skip_never_begins_two_items_in_one_period(work: list[int], late: list[int]) -> None:
    rig = Rig(lambda number: work[number], late)
    rig.run(range(len(work)), overrun="skip")

    periods = [start // PERIOD for start in rig.starts]
    assert len(set(periods)) == len(work)


def test_skip_waits_for_the_next_period_that_has_not_begun() -> None:
    rig = Rig(lambda number: 250 if number == 1 else 10)
    summary = rig.run(range(4), overrun="skip")

    assert rig.starts == [0, 100, 400, 500]
    assert [item for _, item in rig.answers] == [0, 1, 2, 3]
    assert rig.misses == [Miss("late", 1, item=1), Miss("skipped", 2, 2)]
    assert (summary.counts.overruns, summary.counts.skipped, summary.counts.late) == (1, 2, 1)


@given(works)
def test_catch_up_answers_every_item_as_early_as_it_can(work: list[int]) -> None:
    rig = Rig(lambda number: work[number])
    summary = rig.run(range(len(work)), overrun="catch up")

    free, expected = 0, []
    for k, ns in enumerate(work):
        expected.append(max(k * PERIOD, free))
        free = expected[-1] + ns
    assert rig.starts == expected
    assert [item for _, item in rig.answers] == list(range(len(work)))
    assert summary.counts.skipped == summary.counts.dropped == 0


def test_catching_up_ends_when_the_source_has_nothing() -> None:
    """Otherwise the loop would ask it again and again for periods long gone."""
    rig = Rig(lambda number: 950 if number == 0 else 10)
    summary = rig.run(rig.live([0, 900, 1100]), overrun="catch up")

    assert rig.starts == [0, 950, 1100]
    assert (summary.counts.idle, summary.counts.skipped) == (9, 0)


@given(arrivals, works)
def test_latest_answers_the_newest_item_there_is_and_counts_the_dropped(times: list[int], work: list[int]) -> None:
    times = [PERIOD + t for t in times]  # so that the source shows at once that it is one that has nothing at times
    rig = Rig(lambda number: work[number % len(work)])
    summary = rig.run(rig.live(times), overrun="latest")

    newest = [max(t for t in times if t <= start) for start in rig.starts]
    assert [item for _, item in rig.answers] == newest
    assert summary.counts.answered + summary.counts.dropped == len(times)
    assert sum(miss.n for miss in rig.misses if miss.reason == "dropped") == summary.counts.dropped


def test_latest_takes_as_many_items_as_periods_have_begun_from_a_source_that_always_has_one() -> None:
    rig = Rig(lambda number: 250 if number == 1 else 10)
    summary = rig.run(range(7), overrun="latest")

    assert rig.starts == [0, 100, 350, 400, 500, 600]
    assert rig.answers == [(number, number) for number in (0, 1, 3, 4, 5, 6)]
    assert rig.misses == [Miss("late", 1, item=1), Miss("skipped", 2, 1), Miss("dropped", 3, 1, 2)]
    assert summary.counts.dropped == 1


def test_latest_is_not_held_up_by_a_source_that_never_runs_out() -> None:
    rig = Rig()

    def flood() -> Iterator[int | None]:
        yield None
        for k in range(200):
            rig.spend(10)
            yield k

    summary = rig.run(flood(), overrun="latest")

    assert summary.counts.answered >= 200 * 10 // PERIOD
    assert summary.counts.answered + summary.counts.dropped == 200


@given(arrivals, works, overruns, st.booleans(), st.lists(st.integers(0, 3 * PERIOD), min_size=1, max_size=5))
def test_every_period_and_every_item_is_accounted_for(
    times: list[int], work: list[int], overrun: Any, blocks: bool, late: list[int]
) -> None:
    rig = Rig(lambda number: work[number % len(work)], late)
    counts = rig.run(chain(rig.live(times, blocks=blocks), rig.nothing()), overrun=overrun).counts

    assert counts.answered + counts.dropped == len(times)
    assert counts.late == sum(miss.reason == "late" for miss in rig.misses)
    assert counts.skipped == sum(miss.n for miss in rig.misses if miss.reason == "skipped")
    if overrun == "catch up":
        assert counts.skipped == 0
    else:
        start = rig.starts[0] % PERIOD  # the grid begins anew with the first item
        assert counts.answered + counts.idle + counts.skipped == (rig.asked[-1] - start) // PERIOD


def test_a_stalled_source_leaves_periods_idle_and_a_burst_waits_its_turn() -> None:
    rig = Rig(lambda number: 10)
    summary = rig.run(rig.live([0, 310, 320, 330]), overrun="skip")

    assert rig.starts == [0, 400, 500, 600]
    assert (summary.counts.idle, summary.counts.skipped, rig.misses) == (3, 0, [])


def test_the_item_of_a_source_that_blocks_is_answered_when_it_comes() -> None:
    rig = Rig(lambda number: 10)
    summary = rig.run(rig.live([0, 310, 820], blocks=True), overrun="skip")

    assert rig.starts == [0, 310, 820]
    assert (summary.counts.idle, summary.counts.skipped, rig.misses) == (6, 0, [])


class Flaky:
    """A source that raises at some of the times that it is asked."""

    def __init__(self, rig: Rig, fails: set[int], end: int) -> None:
        self._rig, self._fails, self._end = rig, fails, end

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self._rig.asked.append(self._rig.clock())
        if (k := len(self._rig.asked) - 1) == self._end:
            raise StopIteration
        if k in self._fails:
            raise OSError("no sensor")
        return k


def test_a_source_that_raises_is_asked_again_ever_more_rarely() -> None:
    rig = Rig()
    summary = rig.run(Flaky(rig, {1, 2, 3, 4, 6}, 9))

    assert rig.asked == [0, 100, 200, 400, 800, 1600, 1700, 1800, 1900, 2000]
    assert [item for _, item in rig.answers] == [0, 5, 7, 8]
    assert summary.counts.failures == {"source": 5}
    assert summary.counts.errors == {"source": "OSError: no sensor"}
    assert summary.ended == "the source ended"


def test_back_off_ends_at_a_second_of_periods() -> None:
    rig = Rig()
    monitor = Monitor(Flaky(rig, set(range(1, 12)), 12), rig, 0.25, print, clock=rig.clock, sleeper=sleeper(rig))
    monitor.run()

    waits = [b - a for a, b in pairwise(rig.asked)]
    assert waits == [k * 250_000_000 for k in (1, 1, 2, *[4] * 9)]


def sleeper(rig: Rig) -> Sleeper:
    return Sleeper(rig.clock, rig.sleep, waits=lambda: 0, preemptions=lambda: 0)


def test_a_generator_that_raises_has_broken_for_good() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("no sensor")

    rig = Rig()
    summary = rig.run(broken())

    assert summary.ended == "the source broke"
    assert summary.counts.answered == 1


def test_what_raises_is_counted_and_the_loop_goes_on() -> None:
    def fail(*_: object) -> None:
        raise ValueError("not today")

    rig = Rig(lambda number: 150 if number == 0 else 0)
    rig.warm_up = lambda item: fail(item)  # type: ignore[method-assign]
    summary = rig.run(range(3), on_answer=fail, on_miss=fail, on_slack=fail)

    assert len(rig.starts) == summary.counts.answered == 3
    assert summary.counts.failures == {"predictor": 1, "on_answer": 3, "on_miss": 2, "on_slack": 2}


def test_answers_that_are_withheld_are_counted() -> None:
    class Doubting(Rig):
        def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
            return super().predict_one(item, arrived_ns=arrived_ns)._replace(label=item or None)

    summary = Doubting().run(range(3))

    assert (summary.counts.answered, summary.counts.abstained) == (3, 1)


def test_a_predictor_that_raises_costs_one_answer() -> None:
    rig = Rig(lambda number: [][number] if number == 1 else 0)
    summary = rig.run("abc")

    assert rig.answers == [(0, "a"), (2, "c")]
    assert rig.misses == [Miss("no answer", 1, item=1)]
    assert (summary.counts.unanswered, summary.counts.answered) == (1, 2)


def test_a_miss_is_told_after_the_answer_that_it_would_delay() -> None:
    rig = Rig(lambda number: 250 if number == 0 else 10)
    told: list[tuple[Miss, int]] = []
    rig.run(range(3), on_miss=lambda miss: told.append((miss, len(rig.answers))))

    assert told == [(Miss("late", 0, item=0), 1), (Miss("skipped", 1, 2), 2)]


@pytest.mark.parametrize(
    ("overrun", "starts", "skipped"),
    [
        ("skip", [0, 100, 36_000_200, 36_000_300], 360_000),
        ("latest", [0, 100, 36_000_150, 36_000_200, 36_000_300], 359_999),
        ("catch up", [0, 100, 36_000_150, 36_000_150, 36_000_150], 0),
    ],
)
def test_a_clock_that_jumps_ahead_is_told_once_and_the_grid_stays(
    overrun: Any, starts: list[int], skipped: int
) -> None:
    rig = Rig(lambda number: 36_000_050 if number == 1 else 0)

    def stop_after_the_last(*_: object) -> None:
        if len(rig.starts) >= len(starts):
            monitor.stop()

    monitor = rig.monitor(iter(int, None), overrun=overrun, on_answer=stop_after_the_last)
    summary = monitor.run()

    assert rig.starts == starts
    assert summary.counts.skipped == skipped
    assert [miss.n for miss in rig.misses if miss.reason == "skipped"] == [skipped] * bool(skipped)


def test_a_loop_that_is_woken_periods_late_goes_on_in_the_period_that_it_finds() -> None:
    rig = Rig(lambda number: 10, [0, 0, 330, 0])
    summary = rig.run(range(4), overrun="skip")

    assert rig.starts == [0, 100, 530, 600]
    assert (summary.counts.skipped, summary.counts.overruns) == (3, 0)


def test_the_first_item_warms_up_before_its_period_begins() -> None:
    rig = Rig(lambda number: 10)
    rig.warm_up = lambda item: rig.spend(12_345)  # type: ignore[method-assign]
    summary = rig.run(range(3))

    assert rig.starts == [12_345, 12_445, 12_545]
    assert (summary.counts.overruns, summary.counts.skipped, rig.misses) == (0, 0, [])


def test_slack_is_what_is_left_of_the_period_and_there_is_none_in_an_overrun() -> None:
    rig = Rig(lambda number: (30, 100, 250, 60)[number])
    rig.run(range(4))

    assert rig.slack == [70, 40]


@given(st.lists(st.tuples(st.integers(-50, 300), st.integers(0, 200), st.integers(0, 100)), max_size=30))
def test_garbage_is_collected_only_when_twice_the_longest_collection_fits(steps: list[tuple[int, int, int]]) -> None:
    clock = ManualClock()
    pending, took = 0, 0
    collected: list[int] = []

    def collect() -> None:
        collected.append(took)
        clock.advance(seconds=took * 1e-9)

    collector = SlackCollector(collect, lambda: pending, clock)
    for slack, takes, pending in steps:
        took = takes
        fits = slack > 2 * max(collected, default=0) and pending >= 50
        before = len(collected)
        collector.use(slack)
        assert len(collected) - before == fits
    assert collector.collections == len(collected)


def test_garbage_in_cycles_does_not_pile_up() -> None:
    class Node:
        alive = 0

        def __init__(self) -> None:
            self.me = self
            Node.alive += 1

        def __del__(self) -> None:
            Node.alive -= 1

    rig = Rig()
    most = 0

    def leave_cycles(*answer: object) -> None:
        nonlocal most
        for _ in range(20):
            Node()
        most = max(most, Node.alive)

    always_fits = SlackCollector(clock=rig.clock)
    summary = rig.run(range(100), on_answer=leave_cycles, collector=always_fits)

    assert most <= 200
    assert summary.counts.collections >= 20


def test_stop_lets_the_item_in_work_be_answered() -> None:
    def stop_in_the_fifth(number: int) -> int:
        if number == 4:
            monitor.stop()
        return 10

    rig = Rig(stop_in_the_fifth)
    monitor = rig.monitor(iter(int, None))

    assert monitor.run().ended == "stopped"
    assert len(rig.answers) == 5


def test_a_signal_leaves_a_source_that_blocks() -> None:
    rig = Rig()

    def source() -> Iterator[int]:
        yield 1
        monitor.on_signal(signal.SIGTERM, None)
        yield 2

    monitor = rig.monitor(source())

    assert monitor.run().ended == "stopped"
    assert rig.answers == [(0, 1)]


def test_a_signal_right_before_the_source_is_asked_leaves_it_alone() -> None:
    """The source would wait forever, and nobody sends a second signal."""
    rig = Rig()
    asked: list[int] = []

    def source() -> Iterator[int]:
        yield 1
        asked.append(1)

    class Signalled(Stop):
        def next_of(self, items: Iterator[Any]) -> Any:
            if rig.answers:
                monitor.on_signal(signal.SIGTERM, None)
            return super().next_of(items)

    monitor = rig.monitor(source(), stop=Signalled())

    assert monitor.run().ended == "stopped"
    assert (rig.answers, asked) == ([(0, 1)], [])


def test_a_signal_while_a_newer_item_is_asked_for_leaves_the_one_taken_to_be_answered() -> None:
    rig = Rig()

    def source() -> Iterator[int | None]:
        yield None
        yield 1
        monitor.on_signal(signal.SIGTERM, None)
        yield 2

    monitor = rig.monitor(source(), overrun="latest")

    assert monitor.run().ended == "stopped"
    assert rig.answers == [(0, 1)]


def test_a_long_sleep_heeds_a_stop() -> None:
    rig = Rig()
    monitor = Monitor([1, 2], rig, 3600.0, print, clock=rig.clock, sleeper=Sleeper(rig.clock, lambda s: nap(s)))
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        rig.spend(round(seconds * 1e9))
        if len(naps) == 3:
            monitor.stop()

    assert monitor.run().ended == "stopped"
    assert naps == [0.1, 0.1, 0.1]


class Recorder:
    """A watchdog that remembers when it was told what."""

    def __init__(self, clock: ManualClock, interval: float) -> None:
        self._clock, self.interval = clock, interval
        self.told: list[tuple[str, int]] = []

    def ready(self, status: str) -> None:
        self.told.append(("ready", self._clock()))

    def keep_alive(self) -> None:
        self.told.append(("alive", self._clock()))

    def close(self, clean: bool) -> None:
        self.told.append(("clean" if clean else "unclean", self._clock()))


@given(st.integers(1, 1000))
def test_keep_alives_are_as_close_as_the_watchdog_asks_while_the_loop_works_or_sleeps(interval: int) -> None:
    rig = Rig(lambda number: 40)
    watchdog = Recorder(rig.clock, interval * 1e-9)
    rig.run(range(20), watchdogs=[watchdog])

    kinds, times = zip(*watchdog.told, strict=True)
    assert (kinds[0], kinds[-1], set(kinds[1:-1]) - {"alive"}) == ("ready", "clean", set())
    gaps = [b - a for a, b in pairwise(times)]
    assert max(gaps) <= 1.5 * interval + 40 + PERIOD * (interval >= PERIOD)


def test_a_loop_that_is_stuck_falls_silent() -> None:
    rig = Rig(lambda number: 50_000 if number == 3 else 10)
    watchdog = Recorder(rig.clock, PERIOD * 1e-9)
    rig.run(range(6), watchdogs=[watchdog])

    stuck = rig.starts[3]
    assert not [told for told in watchdog.told if stuck < told[1] < stuck + 50_000]
    assert [told for told in watchdog.told if told[0] == "alive" and told[1] >= stuck + 50_000]


def test_a_watchdog_is_left_armed_when_the_loop_ends_by_an_error() -> None:
    rig = Rig()
    watchdog = Recorder(rig.clock, 1.0)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rig.run([1], on_answer=interrupt, watchdogs=[watchdog])
    assert [kind for kind, _ in watchdog.told] == ["ready", "unclean"]


def test_a_watchdog_that_fails_is_counted_and_told_again() -> None:
    rig = Rig()
    watchdog = Recorder(rig.clock, PERIOD * 1e-9)
    alive = watchdog.keep_alive

    def refuse() -> None:
        alive()
        if len(watchdog.told) == 2:
            raise ConnectionRefusedError

    watchdog.keep_alive = refuse  # type: ignore[method-assign]
    summary = rig.run(range(5), watchdogs=[watchdog])

    assert summary.counts.failures == {"watchdog": 1}
    assert len(rig.answers) == 5
    assert [kind for kind, _ in watchdog.told].count("alive") >= 4


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_period_is_refused(period: float) -> None:
    with pytest.raises(LoopError, match="period must be"):
        Monitor([], Rig(), period, print)


def test_an_unknown_policy_and_a_deadline_beyond_the_period_are_refused() -> None:
    with pytest.raises(LoopError, match="skip, catch up, latest"):
        Monitor([], Rig(), 1.0, print, overrun="sleep")  # type: ignore[arg-type]
    with pytest.raises(DeadlineError, match="longer than the period"):
        Monitor([], Rig(), 50e-9, print)


SPACE = "tests.runtime.node_space:space"

SOURCES = """
import ctypes, itertools, os, signal, sys, threading, time
import numpy as np

ITEM = np.arange(9.0)

def endless():
    try:
        yield from itertools.repeat(ITEM)
    finally:
        print("closed", file=sys.stderr)

def blocking():
    yield ITEM
    time.sleep(3600)

def elsewhere():
    # The signal reaches another thread, so that it does not interrupt the wait.
    yield ITEM
    threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM)).start()
    os.read(os.pipe()[0], 1)

def forked():
    # A process that outlives the loop, and has all its files open.
    if os.fork() == 0:
        os.close(1)
        os.close(2)
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.05)
        os._exit(0)
    yield ITEM

def stuck():
    # In C, where no signal is handled, and without the lock of the interpreter: only so can another thread say it.
    yield ITEM
    sys.setswitchinterval(3600)
    mutex, go = ctypes.create_string_buffer(64), threading.Lock()
    ctypes.PyDLL(None).pthread_mutex_lock(mutex)
    lock_again = ctypes.CDLL(None).pthread_mutex_lock
    go.acquire()
    threading.Thread(target=lambda: (go.acquire(), print("stuck", flush=True)), daemon=True).start()
    go.release()
    lock_again(mutex)

def idle():
    yield ITEM
    yield from itertools.repeat(None)
"""


def started(bundle: Path, folder: Path, items: str, *options: str, **environment: str) -> "subprocess.Popen[str]":
    (folder / "sources.py").write_text(SOURCES)
    command = [sys.executable, "-W", "ignore", "-m", "polydom_runtime", "run", str(bundle), SPACE]
    paths = (str(folder), str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", ""))
    return subprocess.Popen(
        [*command, "--items", items, *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )


def heed_signals() -> None:
    """Let a process end by signals, although these tests may run where they are ignored, as under ``nohup``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LOOPS: list[tuple[str, tuple[str, ...]]] = [
    ("sources:endless", ("--period", "1ms")),
    ("sources:endless", ("--period", "3600s")),
    ("sources:blocking", ("--period", "1ms")),
    ("-", ("--period", "1ms")),
    ("sources:endless", ()),
    ("sources:blocking", ()),
    ("-", ()),
    ("sources:endless", ("--supervised", "--deadline", "3600s")),  # a hand-over may take long on a busy machine
]
TOLD_TO_STOP = draws([*zip(LOOPS, SIGNALS * 3, strict=False)], [*product(LOOPS, SIGNALS)])
"""Loops and what tells them so: each signal with and without a period."""


@pytest.mark.parametrize(
    ("loop", "number"),
    TOLD_TO_STOP,
    ids=lambda value: value.name if isinstance(value, signal.Signals) else " ".join([value[0], *value[1]]),
)
def test_a_process_told_to_stop_closes_its_source_writes_its_summary_and_ends_well(
    loop: tuple[str, tuple[str, ...]], number: signal.Signals, bundle_folder: Path, tmp_path: Path
) -> None:
    (items, options), metrics = loop, tmp_path / "metrics.jsonl"
    with started(bundle_folder, tmp_path, items, "--metrics-json", str(metrics), *options) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        if items == "-":
            process.stdin.write("[1, 2, 3]\n")
            process.stdin.flush()
        first = process.stdout.readline()
        process.send_signal(number)
        *rest, last = process.stdout.read().splitlines()
        error = process.stderr.read()
        assert process.wait() == 0

    if items == "sources:endless":
        assert error.splitlines()[-1] == "closed"
    summary = json.loads(last)["summary"]
    answers = [json.loads(line) for line in (first, *rest)]
    assert summary["items"] == len(answers)
    assert json.loads(metrics.read_text().splitlines()[-1])["items"] == len(answers)
    assert [answer["item"] for answer in answers] == list(range(len(answers)))
    if "--period" in options:
        assert (summary["loop"]["ended"], summary["loop"]["answered"]) == ("stopped", len(answers))


@pytest.mark.parametrize("options", [(), ("--period", "1ms")], ids=["without a period", "period"])
def test_a_signal_that_interrupts_nothing_ends_the_wait(
    options: tuple[str, ...], bundle_folder: Path, tmp_path: Path
) -> None:
    with started(bundle_folder, tmp_path, "sources:elsewhere", *options) as process:
        out, _ = process.communicate()

    assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["summary"]["items"] == 1


def test_a_second_signal_ends_a_process_that_handles_none(bundle_folder: Path, tmp_path: Path) -> None:
    """Signals are sent until it ends: two at once may count as one."""
    with started(bundle_folder, tmp_path, "sources:stuck") as process:
        assert process.stdout is not None
        while process.stdout.readline() != "stuck\n":
            pass
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)

    assert process.returncode == -signal.SIGKILL


def test_a_process_that_the_source_left_behind_holds_up_nothing(bundle_folder: Path, tmp_path: Path) -> None:
    with started(bundle_folder, tmp_path, "sources:forked", "--quiet") as process:
        out, _ = process.communicate()

    assert process.returncode == 0
    assert json.loads(out)["summary"]["items"] == 1


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_a_source_that_breaks_is_a_failure_of_the_process(
    bundle_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(bundle_folder), SPACE, "--items", f"{__name__}:broken", "--period", "5ms"]) == 1
    out, error = capsys.readouterr()

    assert "OSError: no sensor" in error
    assert json.loads(out.splitlines()[-1])["summary"]["loop"]["ended"] == "the source broke"


def broken() -> Iterator[Any]:
    yield np.arange(9.0)
    raise OSError("no sensor")


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_a_line_that_cannot_be_read_is_counted_and_not_answered(
    bundle_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[1, 2]\nnonsense\n[3]\n")))
    assert main(["run", str(bundle_folder), SPACE, "--items", "-", "--period", "5ms"]) == 1
    out, error = capsys.readouterr()

    *answers, last = map(json.loads, out.splitlines())
    assert len(answers) == 2
    assert all(answer["reason"] != "size failed" for answer in answers)
    assert last["summary"]["unreadable"] == 1
    assert "Line 2" in error


def test_the_service_manager_and_the_device_are_told_from_beginning_to_end(bundle_folder: Path, tmp_path: Path) -> None:
    device = tmp_path / "watchdog"
    device.touch()
    address = f"polydom-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{address}")
        manager.settimeout(300.0)  # a process that failed says nothing
        options = ("--period", "1ms", "--watchdog", str(device))
        # The queue may hold ten messages only: keep-alives more frequent than two a second would fill it in a pause.
        told = {"NOTIFY_SOCKET": f"@{address}", "WATCHDOG_USEC": "1000000"}
        with started(bundle_folder, tmp_path, "sources:idle", "--quiet", *options, **told) as process:
            messages = [manager.recv(4096).decode()]
            while messages.count("WATCHDOG=1") < 2:
                messages.append(manager.recv(4096).decode())
            process.terminate()
            while not messages[-1].startswith("STOPPING=1"):
                messages.append(manager.recv(4096).decode())
            assert process.wait() == 0

    assert messages[0].startswith("READY=1\nSTATUS=")
    written = device.read_bytes()
    assert written.endswith(b"V")
    assert set(written[:-1]) <= {0}
