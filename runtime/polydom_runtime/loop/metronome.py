"""Items at a fixed period, one sleep before each, for answers that are only counted."""

from typing import TYPE_CHECKING

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.prediction import Learning, Rehearsing

from .rehearsals import Rehearsals, room_ns
from .wakeups import Schedule, Sleeper, check_period

if TYPE_CHECKING:
    from polydom_runtime.prediction import Answering


class Metronome:
    """Sleeps until the next item is due, after the predictor used the slack, and rehearses right before.

    The period is in seconds.
    """

    def __init__(
        self,
        predictor: "Answering",
        period: float,
        *,
        rehearse: bool = True,
        clock: Clock = hardware_clock,
        sleeper: Sleeper | None = None,
    ) -> None:
        check_period(period, predictor.deadline)
        self.period = period
        self._predictor, self._clock, self._sleeper = predictor, clock, sleeper or Sleeper(clock)
        self._schedule = Schedule(clock(), round(period * 1e9))
        self._next = 1
        room = room_ns(predictor, self._schedule.period_ns, rehearse)
        answer_kept = predictor.rehearse if isinstance(predictor, Rehearsing) else int
        self._rehearsals = Rehearsals(answer_kept, clock, room, self._sleeper.preemptions)

    @property
    def rehearses(self) -> bool:
        """Whether it rehearses: it was asked for, the predictor can, and the period leaves room."""
        return self._rehearsals.fit

    def start(self) -> None:
        """Let the first period begin now, after some rehearsals if it rehearses. The predictor must be warm."""
        self._rehearsals.learn(self._sleeper.until, self._schedule.period_ns)
        self._schedule, self._next = Schedule(self._clock(), self._schedule.period_ns), 1

    def wait(self) -> int:
        """Right after an answer, sleep until the next period that has not begun; return when its item is due."""
        self._rehearsals.answered()
        self._next = self._schedule.following(self._next - 1, self._clock(), "skip")
        due_ns = self._schedule.start_of(self._next)
        lead_ns = self._rehearsals.lead_ns
        if isinstance(self._predictor, Learning) and (left_ns := due_ns - lead_ns - self._clock()) > 0:
            self._predictor.use_slack(left_ns * 1e-9)
        self._sleeper.until(due_ns, early_ns=lead_ns, meanwhile=self._rehearsals.run if lead_ns else None)
        self._next += 1
        return due_ns
