"""The rehearsals of a loop: each begins early enough to end just before the item is due."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polydom_runtime.clock import Clock
from polydom_runtime.histogram import Histogram
from polydom_runtime.prediction import Rehearsing

if TYPE_CHECKING:
    from polydom_runtime.prediction import Answering

REMEMBERED = 64
"""The longest of the last 64 rehearsals is ignored; the next one should take no longer than the rest."""

FIRST_GUESS_NS = 1_000_000
"""The expected time of the first rehearsal."""

FIRST_REHEARSALS, FIRST_SLEEP_NS = 3, 20_000_000
"""Rehearsals before the first item show how long they take: their number, and the longest sleep before each."""

CROWDED, WATCHED, REST = 8, 32, 500
"""If other programs took the processor between rehearsal and answer in 8 of the last 32 periods, there are no
rehearsals for 500 periods. While others wait, the system lets a process run for a few milliseconds at once, and a
rehearsal uses up a part of them."""

NO_TIME = "too little time was left before the item"
NO_ROOM = "the period leaves less time than a rehearsal takes"
CROWDED_OUT = "other programs took the processor too often"


def room_ns(predictor: "Answering", period_ns: int, wanted: bool) -> int:
    """Return the part of a period that the deadline leaves for a rehearsal; 0 if there are to be none."""
    can = wanted and isinstance(predictor, Rehearsing)
    return period_ns - round(predictor.deadline * 1e9) if can else 0


@dataclass(frozen=True, slots=True)
class RehearsalCounts:
    """The rehearsals of a loop."""

    made: int
    skipped: int
    """Periods without a rehearsal that should have had one."""
    skipped_since: dict[str, int]
    """The same by reason."""
    p50_ns: float
    p99_ns: float
    """`p50_ns`, `p99_ns`: quantiles of the time of a rehearsal, to within 2 %; NaN if there was none."""
    total_ns: int
    """The time of all, with the short waits for the items after them."""
    share: float
    """The share of the loop's time."""


class Rehearsals:
    """Rehearses before each item, if a rehearsal fits `room_ns`, the part of a period that the deadline leaves."""

    def __init__(
        self, rehearse: Callable[[], object], clock: Clock, room_ns: int, preemptions: Callable[[], int] = lambda: 0
    ) -> None:
        self._rehearse, self._clock, self._room_ns, self._preemptions = rehearse, clock, room_ns, preemptions
        self._crowded = deque([False] * WATCHED, maxlen=WATCHED)
        self._before: int | None = None
        self._rest = 0
        self._took = deque([FIRST_GUESS_NS], maxlen=REMEMBERED)
        self._late = deque([0], maxlen=REMEMBERED)
        self._times = Histogram()
        self._skipped: Counter[str] = Counter()
        self._total_ns = 0

    @property
    def fit(self) -> bool:
        """Whether rehearsals fit the period. If they do not, there are no more."""
        return self.usual_ns < self._room_ns

    @property
    def lead_ns(self) -> int:
        """How long before an item is due the loop should wake up to rehearse; 0 if there is no rehearsal."""
        if self._rest or not self.fit:
            return 0
        # Limited, since wake-ups of a busy machine are late by milliseconds: rehearsals would fill much of each period.
        late_ns = min(sorted(self._late)[-2:][0], self.usual_ns)
        return min(sorted(self._took)[-2:][0] + late_ns, self._room_ns)

    @property
    def usual_ns(self) -> int:
        """How long a rehearsal takes, without late wake-ups: a busy spell would end rehearsals for good."""
        return sorted(self._took)[len(self._took) // 2]

    def learn(self, until: Callable[[int], object], period_ns: int) -> None:
        """Find out how long rehearsals take by a few, each after a sleep; `until` sleeps until a time of the clock."""
        for _ in range(FIRST_REHEARSALS if self.fit else 0):
            wake_ns = self._clock() + min(period_ns, FIRST_SLEEP_NS)
            until(wake_ns)
            self.run(wake_ns, wake_ns)

    def run(self, asked_ns: int, due_ns: int) -> None:
        """Rehearse until an item is due, at least once if there is time.

        A wake-up later than `asked_ns` counts as time that a rehearsal needs. Both times are equal if no item is due.
        """
        began = now = self._clock()
        self._late.append(max(began - asked_ns, 0))
        self._before = self._preemptions()
        if asked_ns < due_ns < began + self.usual_ns:
            self._skipped[NO_TIME] += 1
            return
        while True:
            before = now
            self._rehearse()
            now = self._clock()
            if before == began:
                self._times.add(now - began)
                self._took.append(now - began)
            if due_ns - now <= now - before:  # another one would take as long and delay the item
                break
        self._total_ns += max(now, due_ns) - began

    def answered(self) -> None:
        """Note, at the end of the work on an item, whether other programs took the processor since the rehearsal."""
        if self._rest:
            self._rest -= 1
            self._skipped[CROWDED_OUT] += 1
        elif self._before is not None:
            self._crowded.append(self._preemptions() > self._before)
            if sum(self._crowded) >= CROWDED:
                self._crowded.extend([False] * WATCHED)
                self._rest = REST
        elif self._room_ns > 0 and not self.fit:
            self._skipped[NO_ROOM] += 1
        self._before = None

    def counts(self, loop_ns: int) -> RehearsalCounts:
        """Return the counts of a loop that has run for `loop_ns` nanoseconds."""
        p50, p99 = self._times.quantiles([0.5, 0.99])
        share = self._total_ns / loop_ns if loop_ns > 0 else 0.0
        skipped = dict(self._skipped.most_common())
        return RehearsalCounts(self._times.count, sum(skipped.values()), skipped, p50, p99, self._total_ns, share)
