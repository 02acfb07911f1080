"""The work of a learning node between two answers: to learn from them, to try units, and to lay out plans."""

from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.clock import Clock

from .learned_times import Changes, LearnedTimes, Seen, Unit

if TYPE_CHECKING:
    from polydom_runtime.policy.rehearsal import Kept

LEAST_SLACK_NS = 200_000
"""Less slack than this is not used."""

FIRST_SLICE_NS = 1_000_000
"""A slice of work is expected to take as long until one was seen, then as long as the longest of the last ones, less a
tenth for each use of slack since then."""

TRY_SHARE, MOST_CREDIT_NS = 0.01, 20_000_000
"""Units are tried in at most 1 % of the time. What was not used of it is kept, up to a limit."""

TRY_AFTER, LOOK_AFTER = 50, 8
"""A unit is tried if it was not observed in so many answers, the one that was not for longest first. If there is none,
it is looked for again after a few more."""

SURPRISING = 1.5
"""A unit that took so many times as long as expected, or the reverse, is tried again next."""

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

    A unit is tried on a kept item, outside of answers: a feature with its step, or a model. All of this is work for the
    thread that answers; it ends before the next item comes.

    `names`: those of the features. `work`: does what is decided here. `times`: what was learned. `n_plans`, `n_tried`:
    how many plans were laid out and units tried. `longest_slice_ns`: the longest work between two looks at the clock.
    """

    def __init__(self, times: LearnedTimes, names: Sequence[str], work: "LearnerWork", clock: Clock) -> None:
        self.times, self._names, self._does, self._clock = times, names, work, clock
        self.n_plans = self.n_tried = self.longest_slice_ns = 0
        self.planned: dict[Regime, Changes] = {}
        self._laid_out: dict[Regime, deque[int]] = {r: deque(maxlen=REMEMBERED) for r in REGIMES}
        self._work: Iterator[None] | None = None
        self._slice_ns = FIRST_SLICE_NS
        self._credit_ns, self._looked = 0.0, clock()
        self._tried: dict[Unit, int] = {}
        self._look = 0
        self._again: Unit | None = None

    def use(
        self, seconds: float, answers: deque[tuple[Any, ...]], kept: "Kept | None", failing: Collection[str] = ()
    ) -> bool:
        """Take answers and learn from them, then go on with other work; return whether a new plan is in use.

        `seconds`: the slack. `answers`: the fields of a `Seen` each. `kept`: an item to try units on, none without one;
        those features are not tried that are `failing`.
        """
        now = self._clock()
        self._credit_ns = min(self._credit_ns + TRY_SHARE * (now - self._looked), MOST_CREDIT_NS)
        self._looked = now
        end, n_plans = now + 1e9 * seconds, self.n_plans
        if end - now < LEAST_SLACK_NS:
            return False
        regimes = set()
        while answers and self._clock() + LEAST_SLACK_NS < end:
            seen = Seen(*answers.popleft())
            self.times.observe(seen)
            regimes.add(seen.regime)
        self._work = self._work or self._layout_of(regimes) or self._trial(kept, failing, end - self._clock())
        self._slice_ns = max(self._slice_ns * 9 // 10, LEAST_SLACK_NS)
        while self._work is not None and (now := self._clock()) + self._slice_ns <= end:
            if next(self._work, self) is self:
                self._work = None
            took = self._clock() - now
            self.longest_slice_ns = max(self.longest_slice_ns, took)
            self._slice_ns = max(took, self._slice_ns)
        return self.n_plans > n_plans

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

    def _trial(self, kept: "Kept | None", failing: Collection[str], slack_ns: float) -> Iterator[None] | None:
        """Return the work to try the unit that was not observed for longest, if there is credit and time for it."""
        times = self.times
        if kept is None or (times.answers < self._look and self._again is None):
            return None
        units: tuple[Unit, ...] = *self._names, *self._does.models
        newest = {unit: max(times.newest(unit), self._tried.get(unit, 0)) for unit in units if unit not in failing}
        unit = self._again if self._again in newest else min(newest, key=newest.__getitem__, default=0)
        expected_ns = 2.0 * times.expected_ns(("hot", unit), kept.size) if newest else 0.0
        is_due = newest and (times.answers - newest[unit] >= TRY_AFTER or unit == self._again)
        if not is_due or expected_ns > min(self._credit_ns, slack_ns):
            self._look = times.answers + LOOK_AFTER
            return None
        self._tried[unit], self._again = times.answers, None
        return self._try(unit, kept)

    def _try(self, unit: Unit, kept: "Kept") -> Generator[None]:
        """Run a unit twice, first to warm it up, and learn from the second time."""
        yield
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
        if not 1.0 < SURPRISING * ratio < SURPRISING**2:
            self._again = unit
