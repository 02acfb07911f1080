"""The loop with a fixed period: take an item, answer it, and be ready in time for the next."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import LoopError
from polydom_runtime.items.sources import Arrived
from polydom_runtime.prediction import Learning, Rehearsing

from .arrivals import Arrivals
from .feed import ItemFeed
from .loop_counts import End, LoopCounts, LoopSummary, Miss
from .rehearsals import Rehearsals, room_ns
from .stop import Stop, StopWaiting
from .wakeups import OVERRUNS, Overrun, Schedule, SlackCollector, Sleeper, check_period, precise_timers
from .watchdogs import Pulse, Watchdog

if TYPE_CHECKING:
    from polydom_runtime.prediction import Answering, Prediction


MAX_IDLE = 3
"""After more periods in a row without an item, the loop does not rehearse until the next item has come."""


def _ignore(*_: object) -> None:
    pass


class Monitor:
    """Answers the items of a source at a fixed period, from the first until the source ends or `stop` is called.

    Period k begins at start + k × period, without drift. In each period, the loop takes the next item from the source,
    and calls `on_answer` with the answer. Exceptions of callbacks are counted, and the loop goes on. A monitor runs
    once, in one thread.

    The item of a period is due when the period begins, and its deadline runs from then. So the time that is lost by
    waking up late and by reading the source is a part of the answer's time. There are three exceptions. An `Arrived`
    states its own time. If the source waited for the item, the item came when the source returned. If the loop was
    still busy with earlier items when the period began, the item is due once it is free.

    Code that slept is slow. So, if the period leaves room, the loop wakes up early and lets the predictor rehearse: it
    answers kept items until just before the next item is due; or is foreseen, if the source waits for items that come
    regularly.

    Parameters
    ----------
    source : iterable
        Items; None stands for "nothing yet" and leaves the period idle. While the source blocks, no watchdog is kept
        alive, and the periods that pass are idle; its item is answered when it comes. If the source raises, that is
        counted, and it is tried again later, less and less often. With StopIteration it has ended; a generator that has
        raised ends in this way, too.
    predictor : Predictor or SupervisedPredictor
        Or anything with its `deadline`, `warm_up` and `predict_one`, and with `rehearse` if it is to rehearse. It is
        warmed up with the first item, after which the current period begins again.
    period : float
        Seconds; not shorter than the predictor's deadline.
    on_answer : callable
        Called with the number of the item (of all that were taken, from 0), the item and the `Prediction`.
    on_miss : callable
        Called with each `Miss`, after the answer of the period, so that it delays no answer.
    overrun : str
        The period to go on with when the work on an item (callbacks included) ends after the next period has begun.
        ``skip``: the next period that has not begun yet; items that the source queues are answered later. ``catch up``:
        every period in turn, without a pause, until the source has no item or the loop is in time again. ``latest``: at
        once the period that began last, with the newest item. To find it, one item is taken for each period that has
        begun; from a source that yields None, all items up to the next None.
    on_slack : callable
        Called after each item with the seconds left in the period, or until the rehearsal for the next item, if there
        are any: for work that is not urgent.
    watchdogs : sequence of Watchdog
        Kept alive by the loop itself, between two items.
    rehearse : bool
        Whether to rehearse. It takes energy; without it, answers are planned with the times of cold code.
    clock : Clock
        The timer of the periods and of the predictor.
    sleeper : Sleeper, optional
        Sleeps until a period begins, by the same clock.
    collector : SlackCollector, optional
        Collects garbage in slack.
    stop : Stop, optional
        A way to stop for a program that handles signals by itself.

    """

    def __init__(
        self,
        source: Iterable[Any],
        predictor: "Answering",
        period: float,
        on_answer: Callable[[int, Any, "Prediction"], object],
        on_miss: Callable[[Miss], object] = _ignore,
        overrun: Overrun = "skip",
        *,
        on_slack: Callable[[float], object] = _ignore,
        watchdogs: Sequence[Watchdog] = (),
        rehearse: bool = True,
        clock: Clock = hardware_clock,
        sleeper: Sleeper | None = None,
        collector: SlackCollector | None = None,
        stop: Stop | None = None,
    ) -> None:
        check_period(period, predictor.deadline)
        if overrun not in OVERRUNS:
            from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

            raise LoopError(one_of("The overrun policy", OVERRUNS, overrun))
        self.counts = LoopCounts()
        self.clock = clock
        self._predictor, self._overrun = predictor, overrun
        self._on_answer, self._on_miss, self._on_slack = on_answer, on_miss, on_slack
        self.schedule = Schedule(0, round(period * 1e9))
        self._sleeper = sleeper or Sleeper(clock)
        self._stop = stop or Stop()
        self._feed = ItemFeed(source, self.schedule.period_ns, self.counts, clock, self._sleeper.waits, self._stop)
        self._collector = collector or SlackCollector()
        self._pulse = Pulse(watchdogs, clock, lambda error: self.counts.failed("watchdog", error))
        self._misses: list[Miss] = []
        self._asked_in = -1
        self._arrivals, self._waits = Arrivals(), False
        self._warm = False
        self._idle_in_a_row = self._free_ns = 0
        room = room_ns(predictor, self.schedule.period_ns, rehearse)
        self.rehearsals = Rehearsals(self._rehearse, clock, room, self._sleeper.preemptions)

    def stop(self) -> None:
        """End the loop after the current item. May be called from callbacks, signal handlers and other threads."""
        self._stop.requested = True

    def on_signal(self, signum: int, frame: object) -> None:
        """Stop the loop on a signal, even while the source blocks; a handler for `signal.signal` in its thread."""
        self._stop.on_signal(signum, frame)

    def run(self) -> LoopSummary:
        """Run the loop and return its result. Meanwhile garbage is collected only in slack."""
        pulse = self._pulse
        with self._collector.off(), precise_timers():
            try:
                pulse.ready(f"an answer every {format_seconds(self.schedule.period_ns * 1e-9)}")
                with suppress(StopWaiting):
                    self._loop()
            except BaseException:
                pulse.close(clean=False)
                raise
            pulse.close(clean=not self._feed.broke)
        return self.summary()

    def summary(self) -> LoopSummary:
        """Return the result of the loop so far."""
        self.counts.collections = self._collector.collections
        ended: End = "the source broke" if self._feed.broke else "the source ended" if self._feed.ended else "stopped"
        rehearsals = self.rehearsals.counts(self.clock() - self.schedule.start_ns)
        return LoopSummary(ended, self.counts, self._sleeper.lateness(), rehearsals)

    def _loop(self) -> None:
        self.schedule = Schedule(self.clock(), self.schedule.period_ns)
        self._free_ns = self.schedule.start_ns
        k = 0
        while self._is_time_for(k):
            k, answered = self._work(self._begun(k))
            if self._feed.ended:
                break
            self._use_slack(k)
            k = self._following(k, answered)
        self._tell_misses()

    def _is_time_for(self, k: int) -> bool:
        """Sleep until period k begins; return False if the loop was stopped."""
        start = self.schedule.start_of(k)
        if start > self.clock() and not self._stop.requested:
            nap_ns, lead_ns = self._pulse.nap_ns, self._lead_ns()
            meanwhile = self.rehearsals.run if lead_ns else None
            self._sleeper.until(start, self._goes_on, nap_ns=nap_ns, early_ns=lead_ns, meanwhile=meanwhile)
        return not self._stop.requested

    def _lead_ns(self) -> int:
        """Return how long before the period to wake up for a rehearsal; 0 if it would be useless."""
        # If the source waits for its items, code is cold again when an item comes: see `_rehearse_for_arrival`.
        useless = not self._warm or self._waits or self._idle_in_a_row > MAX_IDLE
        return 0 if useless else self.rehearsals.lead_ns

    def _rehearse(self) -> None:
        if isinstance(self._predictor, Rehearsing) and not self._stop.requested:
            self._call("rehearsal", self._predictor.rehearse)
            self._feed.rehearse()
            self.schedule.period_at(self.clock())

    def _rehearse_for_arrival(self) -> bool:
        """Rehearse until just before an item that the source will wait for, if its time can be told; return whether."""
        due, lead_ns = self._arrivals.next_ns, self.rehearsals.lead_ns
        if due is None or not lead_ns or due - lead_ns < self.clock():
            return False
        return self._sleeper.until(
            due, self._goes_on, nap_ns=self._pulse.nap_ns, early_ns=lead_ns, meanwhile=self.rehearsals.run
        )

    def _goes_on(self) -> bool:
        self._pulse.beat()
        return not self._stop.requested

    def _begun(self, k: int) -> int:
        """Return the period to answer when k is due: a later one if it has begun by now, except in catching up."""
        begun = self.schedule.period_at(self.clock())
        if self._overrun == "catch up" or begun <= k:
            return k
        self._skip(k, begun)
        return begun

    def _work(self, k: int) -> tuple[int, bool]:
        """Answer the next item, if there is one; return the period in which it came, and whether it came."""
        before = max(k, self.schedule.period_at(self.clock()))
        due, self._asked_in = k - self._asked_in, k
        is_foreseen = self._waits and self._rehearse_for_arrival()
        item = self._feed.ask(k)
        came = self.schedule.period_at(now := self.clock())
        self._waits = self._feed.blocked or (is_foreseen and self._feed.waited)
        if self._waits:
            self._arrivals.add(now)
        elif is_foreseen:  # it came earlier than was foreseen
            self._arrivals = Arrivals()
        arrived_ns = now if self._waits or came > before else max(self.schedule.start_of(k), self._free_ns)
        if came > before:  # the source blocked, so there was no item in the periods before
            self.counts.idle += came - k
            due, self._asked_in = 1, came
            k = came
        if item is None:
            self._idle_in_a_row += 1
            self.counts.idle += not self._feed.ended
            return k, False
        self._idle_in_a_row = 0
        if self._overrun == "latest":
            item, arrived_ns = self._newest(k, item, due, arrived_ns)
        self._answer(k, item, arrived_ns)
        return k, True

    def _newest(self, k: int, item: Any, due: int, arrived_ns: int) -> tuple[Any, int]:
        """Return the newest item and when it arrived; after half a period at most: items may come too fast to take."""
        give_up = self.clock() + self.schedule.period_ns // 2
        first, taken = self._feed.taken - 1, 1
        with suppress(StopWaiting):
            while (self._feed.polled or taken < due) and self.clock() < give_up:
                if (newer := self._feed.ask(k)) is None:
                    break
                item, taken = newer, taken + 1
                if self._feed.blocked:
                    arrived_ns = self.clock()
        if taken > 1:
            self.counts.dropped += taken - 1
            self._misses.append(Miss("dropped", k, taken - 1, first))
        return item, arrived_ns

    def _answer(self, k: int, item: Any, arrived_ns: int) -> None:
        number = self._feed.taken - 1
        if isinstance(item, Arrived):
            item, arrived_ns = item.item, item.arrived_ns
        if not self._warm:
            self._warm_up(k, item)
            arrived_ns = self._free_ns
        try:
            prediction = self._predictor.predict_one(item, arrived_ns=arrived_ns)
        except Exception as e:
            self.counts.failed("predictor", e)
            self.counts.unanswered += 1
            self._misses.append(Miss("no answer", k, item=number))
            return
        self.rehearsals.answered()
        self.counts.answered += 1
        self.counts.abstained += prediction.label is None
        self._call("on_answer", self._on_answer, number, item, prediction)
        if not prediction.deadline_met:
            self.counts.late += 1
            self._misses.append(Miss("late", k, item=number))

    def _warm_up(self, k: int, item: Any) -> None:
        """Run the code of an answer once, untimed, and let period k begin after that."""
        self._warm = True
        self._pulse.beat()
        with suppress(StopWaiting):
            self._call("predictor", self._stop.call, self._predictor.warm_up, item)
        self._pulse.beat()
        self._collector.use(1)  # always, however little slack there is: it measures how long a collection takes
        period_ns = self.schedule.period_ns
        self.rehearsals.learn(lambda end: self._sleeper.until(end, self._goes_on, nap_ns=self._pulse.nap_ns), period_ns)
        self._free_ns = self.clock()
        self.schedule = Schedule(self._free_ns - k * period_ns, period_ns)

    def _use_slack(self, k: int) -> None:
        self._tell_misses()
        self._pulse.beat()
        end = self.schedule.start_of(k + 1) - self._lead_ns()
        if (left := end - self.clock()) > 0:
            self._call("on_slack", self._on_slack, left * 1e-9)
            if isinstance(self._predictor, Learning):
                self._call("predictor", self._predictor.use_slack, max(end - self.clock(), 0) * 1e-9)
            self._collector.use(end - self.clock())

    def _following(self, k: int, answered: bool) -> int:
        """Return the period to go on with; without an item there is nothing to catch up with."""
        now = self._free_ns = self.clock()
        following = self.schedule.following(k, now, self._overrun if answered else "skip")
        if not answered:
            self.counts.idle += following - k - 1
        elif now > self.schedule.start_of(k + 1):
            self.counts.overruns += 1
            self._skip(k + 1, following)
        return following

    def _skip(self, first: int, end: int) -> None:
        if end > first:
            self.counts.skipped += end - first
            self._misses.append(Miss("skipped", first, end - first))

    def _tell_misses(self) -> None:
        misses, self._misses = self._misses, []
        for miss in misses:
            self._call("on_miss", self._on_miss, miss)

    def _call(self, name: str, function: Callable[..., object], *arguments: object) -> None:
        try:
            function(*arguments)
        except Exception as e:
            self.counts.failed(name, e)
