"""The work of a learning node between two answers: to learn from them, to try units, and to lay out plans."""

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.clock import Clock, hardware_clock

from .alarm import Alarm
from .learned_times import Changes, LearnedTimes, Seen, Unit
from .margin import Margin
from .summary import LearningSummary, moved_units
from .unit_history import QUICK

if TYPE_CHECKING:
    from polydom_runtime.policy.rehearsal import Kept

KEPT_NS = 200_000
"""So much of the slack is left when answers are read: it may take some ten microseconds each."""

BATCH, TRIALS = 16, 4
"""Work in slack makes the next answer slower, since it takes the caches of the processor. So it is done after each
16th answer only, with at most four trials, unless answers have become slow or a plan is in work."""

FIRST_SLICE_NS, SLICES = 1_000_000, 32
"""A slice of work is expected to take as long until some were seen, then as long as the longest of the last 32."""

TRY_SHARE, MOST_CREDIT_NS = 0.01, 1_000_000_000
"""Units are tried in at most 1 % of the time. What was not used of it is kept, up to a limit."""

TRIAL_SLACK = 1.5
"""A trial may take so many times as long as expected and still end in the slack."""

TRY_AFTER, LOOK_AFTER = 50, 8
"""A unit is tried if it was not observed in so many answers, the one that was not for longest first. If there is none,
it is looked for again after a few more."""

SURPRISING = 1.5
"""A unit that took so many times as long as expected, or the reverse, is tried again next, a few times."""

PLANS_AT_ONCE, BETWEEN_PLANS, REST, REMEMBERED = 3, 10, 200, 8
"""Between two plans of a regime there are 10 answers, after three plans twice as many each time, up to 200: for times
that change again and again, plans are made rarely, and for their middle. Plans are forgotten after eight times 200."""


class LearnerWork(Protocol):
    """The work that a learner decides on; see `polydom_runtime.learning.own_work`."""

    @property
    def models(self) -> Sequence[int]: ...  # noqa: D102
    def renew(self, regime: Regime, changes: Changes) -> Iterator[None]: ...  # noqa: D102
    def took_ns(self, unit: Unit, item: Any) -> int | None: ...  # noqa: D102


class Learner:
    """Learns the times of a node in its slack, tries what no plan uses, and lays out plans for what it learned.

    A unit is tried on the last item, outside of answers: a feature with its step, or a model. All of this is work for
    the thread that answers; it ends before the next item comes.

    `names`: those of the features. `work`: does what is decided here. `times`: what was learned. `n_plans`, `n_tried`:
    how many plans were laid out and units tried. `longest_slice_ns`: the longest work on a plan without a look at the
    clock, in processor time. `alarm`: tells of units that moved far. `since`: when it began, in
    seconds after the epoch.
    """

    def __init__(
        self,
        times: LearnedTimes,
        names: Sequence[str],
        work: "LearnerWork",
        clock: Clock,
        planned: dict[Regime, Changes] | None = None,
    ) -> None:
        # A pause in a slice says nothing of the next one.
        self._busy_ns: Callable[[], int] = time.thread_time_ns if clock is hardware_clock else clock
        self.times, self._names, self._does, self._clock = times, names, work, clock
        self.n_plans = self.n_tried = self.longest_slice_ns = 0
        self.planned = {} if planned is None else planned  # plans that are made later may still be noted in it
        self.alarm, self.since = Alarm(times), time.time()
        self._laid_out: dict[Regime, deque[int]] = {r: deque(maxlen=REMEMBERED) for r in REGIMES}
        self._work: Iterator[None] | None = None
        self._slices_ns = deque([FIRST_SLICE_NS], maxlen=SLICES)
        self._credit_ns, self._looked = 0.0, clock()
        self._tried: dict[Unit, int] = {}
        self._look = 0
        self._again: Unit | None = None
        self._surprises = 0

    def rests(self, unread: int, hurry: bool) -> bool:
        """Tell whether there is nothing to do yet: a few answers to learn from, which may wait, and no plan in work."""
        return unread < BATCH and not hurry and self._work is None

    def use(
        self,
        seconds: float,
        answers: deque[tuple[Any, ...]],
        kept: "Kept | None",
        failing: Collection[str] = (),
        hurry: bool = False,
    ) -> bool:
        """Take answers and learn from them, then go on with other work; return whether a new plan is in use.

        `seconds`: the slack. `answers`: the fields of a `Seen` each. `kept`: an item to try units on, none without
        one; those features are not tried that are `failing`. `hurry`: whether an answer was slow. Then a unit may be
        slow for the same reason, and is tried only if none was for long.
        """
        now = self._clock()
        self._credit_ns = min(self._credit_ns + TRY_SHARE * (now - self._looked), MOST_CREDIT_NS)
        self._looked = now
        end, n_plans = now + 1e9 * seconds, self.n_plans
        regimes = self.read(answers, end - KEPT_NS)
        self._work = self._work or self._layout_of(regimes)
        since = self.times.answers - max(self._tried.values(), default=0)
        if self._work is None and kept is not None and (not hurry or since >= 2 * BATCH):
            for _ in range(TRIALS):
                # One that surprises is tried again another time: this may be a slow moment.
                if not self._try_one(kept, failing, end - self._clock()) or self._again is not None:
                    break
        while self._work is not None and self._clock() + max(self._slices_ns) <= end:
            began = self._busy_ns()
            if next(self._work, self) is self:
                self._work = None
            self._slices_ns.append(self._busy_ns() - began)
            self.longest_slice_ns = max(self.longest_slice_ns, self._slices_ns[-1])
        return self.n_plans > n_plans

    def read(self, answers: deque[tuple[Any, ...]], end: float = math.inf) -> set[Regime]:
        """Take answers and learn from them, until a time of the clock; return their regimes."""
        regimes = set()
        while answers and self._clock() < end:
            seen = Seen(*answers.popleft())
            self.times.observe(seen)
            regimes.add(seen.regime)
        return regimes

    def summary(self, margin: Margin) -> LearningSummary:
        """Return what was learned so far, and what was done for it, with a margin."""
        return LearningSummary.of(
            margin,
            moved_units(self.times.moved_rows(), self.alarm.since),
            had_slack=True,
            answers=self.times.answers,
            plans=self.n_plans,
            tried=self.n_tried,
            longest_slice=1e-9 * self.longest_slice_ns,
        )

    def _layout_of(self, regimes: Iterable[Regime]) -> Iterator[None] | None:
        """Return the work to lay out the plan of one of the regimes, if it should be another by now."""
        for regime in regimes:
            if self._is_time(regime) and self.times.moved(regime, self.planned.get(regime, {})):
                return self._lay_out(regime)
        return None

    def _is_time(self, regime: Regime) -> bool:
        laid_out, now = self._laid_out[regime], self.times.answers
        recent = sum(number > now - REMEMBERED * REST for number in laid_out)
        return not laid_out or now - laid_out[-1] >= min(BETWEEN_PLANS << max(recent - PLANS_AT_ONCE, 0), REST)

    def _lay_out(self, regime: Regime) -> Iterator[None]:
        changes = self.times.changes(regime)
        yield from self._does.renew(regime, changes)
        self.planned[regime] = changes
        self._laid_out[regime].append(self.times.answers)
        self.n_plans += 1
        yield
        self.alarm.planned(regime)

    def _try_one(self, kept: "Kept", failing: Collection[str], slack_ns: float) -> bool:
        """Try the unit that was not observed for longest, of those that there is time for; tell whether one was tried.

        There must be credit for it.
        """
        answers = self.times.answers
        if answers < self._look and self._again is None:
            return False
        units: tuple[Unit, ...] = *self._names, *self._does.models
        newest = {unit: self._newest(unit) for unit in units if unit not in failing}
        due = [unit for unit, number in newest.items() if answers - number >= TRY_AFTER or unit == self._again]
        for unit in sorted(due, key=lambda unit: (unit != self._again, newest[unit])):
            needed_ns = self.times.trial_ns(unit, kept.size)
            if needed_ns > min(MOST_CREDIT_NS, slack_ns / TRIAL_SLACK):
                continue
            if needed_ns > self._credit_ns:
                return False
            self._tried[unit], self._again = answers, None
            self._try(unit, kept)
            return True
        self._look = answers + LOOK_AFTER
        return False

    def _newest(self, unit: Unit) -> int:
        return max(self.times.newest(unit), self._tried.get(unit, 0))

    def _try(self, unit: Unit, kept: "Kept") -> None:
        """Run a unit, and learn from that."""
        self.n_tried += 1
        began = self._clock()
        took_ns = self._does.took_ns(unit, kept.item)
        self._credit_ns -= self._clock() - began
        if took_ns is None:
            return
        if isinstance(unit, int):
            ratio = self.times.tried_model(unit, kept.size, took_ns)
        else:
            ratio = self.times.tried(self._names.index(unit), kept.size, took_ns)
        if 1.0 < SURPRISING * ratio < SURPRISING**2:
            self._surprises = 0
        elif self._surprises < QUICK:
            self._surprises += 1
            self._again = unit
        else:
            self._surprises = 0
