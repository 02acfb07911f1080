"""The stopwatch, on a machine whose two clocks only the tests move."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from threading import Event

import pytest

from polydom_runtime.measuring.cost_samples import MAX_PAUSES, Pauses
from polydom_runtime.measuring.stopwatch import Stopwatch, Switches, Timers, pauses_now, thread_switches
from polydom_runtime.testing import ManualClock

US, MS = 1e-6, 1e-3


class Machine:
    """A processor that other programs may take away; every reading of a clock takes 50 ns."""

    def __init__(self) -> None:
        self.wall, self.thread = ManualClock(), ManualClock()
        self.switches, self.reading = Switches(0, 0), 50e-9

    @property
    def timers(self) -> Timers:
        return Timers(self._read(self.wall), self._read(self.thread), lambda: self.switches, self.sleep)

    def _read(self, clock: ManualClock) -> Callable[[], int]:
        def read() -> int:
            self.work(self.reading)
            return clock()

        return read

    def work(self, seconds: float) -> None:
        self.wall.advance(seconds=seconds)
        self.thread.advance(seconds=seconds)

    def pause(self, seconds: float) -> None:
        self.wall.advance(seconds=seconds)
        self.switches = Switches(self.switches.voluntary, self.switches.involuntary + 1)

    def sleep(self, seconds: float) -> None:
        self.wall.advance(seconds=seconds)
        self.switches = Switches(self.switches.voluntary + 1, self.switches.involuntary)

    def disturbed(self, work: float, pause: float) -> Callable[[], None]:
        def job() -> None:
            self.work(work / 2)
            self.pause(pause)
            self.work(work / 2)

        return job


def test_undisturbed_call_takes_what_the_wall_clock_says() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)

    assert stopwatch.time(lambda: machine.work(10 * US)) == 10_050  # one reading lies between
    taken = stopwatch.taken()
    assert taken.pauses.lengths == ()
    assert taken.pauses.processor_share == 1.0


def test_pause_in_a_call_is_told_from_its_work() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)

    assert stopwatch.time(machine.disturbed(10 * US, 4 * MS)) == 10_050
    taken = stopwatch.taken()
    assert taken.pauses.lengths == (4 * MS,)
    assert taken.pauses.in_calls == pytest.approx((4 * MS,), rel=1e-3)
    assert taken.pauses.timed == pytest.approx(10_050e-9)
    assert taken.switches == 1
    assert 10 * US < taken.pauses.watched < 11 * US


def test_short_call_with_a_pause_takes_no_less_than_a_tick_however_quick_the_clock_is_read() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)
    machine.reading = 0.0

    assert stopwatch.time(machine.disturbed(40e-9, 4 * MS)) == 1


def test_pause_between_two_calls_spoils_neither() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)
    stopwatch.time(lambda: machine.work(10 * US))
    machine.pause(MS)

    assert stopwatch.time(lambda: machine.work(20 * US)) == 20_050
    pauses = stopwatch.taken().pauses
    assert (pauses.lengths, pauses.in_calls) == ((MS,), ())
    assert pauses.timed == pytest.approx(30_100e-9)


def test_call_that_waits_by_itself_keeps_its_time() -> None:
    """Waiting for a sensor, a file or another thread belongs to the work: the thread gives the processor away."""
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)

    assert stopwatch.time(lambda: machine.sleep(3 * MS)) == 3_000_050
    assert stopwatch.taken().pauses.lengths == ()


def test_sleep_before_the_beginning_is_no_pause() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)
    machine.sleep(20 * MS)
    stopwatch.begin()
    stopwatch.time(lambda: machine.work(10 * US))

    taken = stopwatch.taken()
    assert taken.pauses.lengths == ()
    assert taken.pauses.watched < 20 * US


def test_clocks_that_run_at_slightly_different_speeds_show_no_pause() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)

    def job() -> None:
        machine.work(0.1)
        machine.wall.advance(seconds=50 * US)

    assert stopwatch.time(job) == 100_050_050
    assert stopwatch.taken().pauses.lengths == ()


def test_what_was_taken_is_not_taken_again() -> None:
    machine = Machine()
    stopwatch = Stopwatch(machine.timers)
    stopwatch.time(machine.disturbed(10 * US, MS))
    stopwatch.taken()

    assert stopwatch.taken().pauses == Pauses()
    assert stopwatch.taken().switches == 0


def test_manual_clock_measures_no_pauses() -> None:
    clock = ManualClock(step_ns=100)
    stopwatch = Stopwatch(Timers.of(clock))

    assert stopwatch.time(lambda: clock.advance(seconds=MS)) == 1_000_100
    assert stopwatch.taken().pauses.lengths == ()


def test_pauses_of_now_are_found_beside_other_work() -> None:
    """Every twentieth reading of the clock comes 2 ms late."""
    machine = Machine()
    readings = itertools.count()

    def clock() -> int:
        if next(readings) % 20 == 0:
            machine.pause(2 * MS)
        machine.work(10 * US)
        return machine.wall()

    pauses = pauses_now(replace(machine.timers, clock=clock))
    assert 0.05 < pauses.processor_share < 0.2
    assert pauses.lengths[0] == pytest.approx(2 * MS)
    assert pauses.watched + sum(pauses.lengths) == pytest.approx(0.25, rel=0.02)


def test_call_within_a_tick_takes_a_tick() -> None:
    clock = ManualClock()
    stopwatch = Stopwatch(Timers.of(clock))
    stopwatch.tick_ns = 20

    assert stopwatch.time(lambda: None) == 20


def test_switches_of_this_thread_are_counted() -> None:
    """A thread that waits gives the processor away, unless another program took it until the wait was over."""
    before = thread_switches()
    waits = itertools.count()
    while next(waits) < 1000 and thread_switches().voluntary < before.voluntary + 5:
        Event().wait(0.001)

    assert thread_switches().voluntary >= before.voluntary + 5


def test_longest_pauses_are_kept_and_their_share_is_told() -> None:
    pauses = Pauses.of(8.0, [0.5, 2.0, 1.5], 6.0, [0.5, 2.0]).plus(Pauses.of(1.0, [3.0], 0.5, [2.5]))

    assert pauses.lengths == (3.0, 2.0, 1.5, 0.5)
    assert pauses.processor_share == 9.0 / 16.0
    assert (pauses.in_calls, pauses.timed) == ((2.5, 2.0, 0.5), 6.5)
    many = Pauses.of(1.0, [1e-5] * (MAX_PAUSES + 5), 1.0, [1e-5] * (MAX_PAUSES + 5))
    assert len(many.lengths) == len(many.in_calls) == MAX_PAUSES
