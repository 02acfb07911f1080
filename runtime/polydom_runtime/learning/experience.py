"""What the answers of a node tell: at once for margin and shared slowness; the rest is kept until there is slack."""

from collections import deque
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.policy.loaded_models import UNTIMED, LoadedModel
from polydom_runtime.stages import Trace

from .margin import Margin, is_paused
from .slowdown import CALM, FADING, Slowdown

if TYPE_CHECKING:
    from polydom_runtime.policy.plan import Course
    from polydom_runtime.policy.rehearsal import Kept
    from polydom_runtime.policy.states import State

    from .learned_file import Learned, Recalled
    from .learner import Learner
    from .runs import Runs
    from .shortfall import Shortfall
    from .summary import LearningSummary

LEAST_SLACK_NS = 200_000
"""Less slack than this is not used."""

KEPT_LATE = 400
"""The late answers that are kept, to tell at which deadline as few would be late as promised."""

UNREAD = 64
"""The number of answers that are kept to learn from until there is slack."""


def runs_of(promise: tuple[int, int] | None) -> "Runs | None":
    """Return what keeps a promise about late answers in a row; see `Runs.of`. None if there is none."""
    if promise is None:
        return None
    from .runs import Runs  # only here, since most nodes promise no more than a share

    return Runs.of(promise)


class Experience:
    """What the answers of one predictor told so far.

    `deadline`: in seconds. `given`, `recalled`: what was learned before, and what plans began with. `slowdown`,
    `margin`: both hold for the next item. `unread`: the fields of a `Seen` each, for the learner. `learner`: None until
    there was slack. `is_slow`: whether work was slow since slack was used, and did not just pause.
    """

    __slots__ = (
        "_bundle",
        "_deadline",
        "_given",
        "_late",
        "_recalled",
        "_shortfall",
        "is_slow",
        "learner",
        "margin",
        "slowdown",
        "unread",
    )

    def __init__(
        self,
        bundle: Bundle,
        deadline: float,
        slowdown: Slowdown,
        given: "Learned | None" = None,
        recalled: "Recalled | None" = None,
    ) -> None:
        self._bundle, self._deadline = bundle, deadline
        self._given, self._recalled = given, recalled
        self.slowdown = slowdown
        self.margin = Margin(bundle.promise.late, recalled.margin if recalled else 1.0)
        self.unread: deque[tuple[Any, ...]] = deque(maxlen=UNREAD)
        self.learner: Learner | None = None
        self.is_slow = False
        self._late: deque[tuple[int, int]] = deque(maxlen=KEPT_LATE)
        self._shortfall: Shortfall | None = None

    def add(
        self,
        course: "Course",
        trace: Trace,
        state: "State",
        model: LoadedModel,
        end: int,
        late: tuple[int, int] | None,
        failed: bool,
    ) -> None:
        """Note what an answer tells, which ended at a time of the clock.

        `late`: of a late one its number, and the nanoseconds that it waited before the call; None if it was in time.
        """
        paused = False
        if late is None:
            self.margin.add_in_time()
        else:
            number, waited_ns = late
            paused = waited_ns > 1e9 * self._deadline or is_paused(*self._parts(course, trace, model), self._deadline)
            self.add_late(number, end - trace.marks[0] + waited_ns, paused=paused, lost=not trace.features)
        if not failed:
            asked = course.number is not None and course.reason != "confident"
            ran = UNTIMED if asked else model.number
            self.unread.append((course.plan.regime, trace.size, trace.features, trace.marks, ran, course.asked))
        estimate = self.slowdown
        if not state.mask:
            estimate.add(FADING * estimate.value, FADING * estimate.value)
        elif (ratio := (end - course.begun) / state.typical_ns[course.cell]) > CALM:
            least = min(took / max(usual, 1e-9) for took, usual in zip(*self._parts(course, trace, model), strict=True))
            estimate.add(ratio, least)
            self.is_slow |= not paused
        elif estimate.stirred:
            estimate.add(1.0)

    def add_late(self, number: int, took_ns: int, *, paused: bool, lost: bool = False) -> None:
        """Note that an answer was late; see `Margin.add_late`."""
        self.is_slow |= not paused  # work in slack would have other processes run first when the next item comes
        self.margin.add_late(paused=paused, lost=lost)
        if not paused:
            self._late.append((number, took_ns))

    def _parts(self, course: "Course", trace: Trace, model: LoadedModel) -> tuple[list[float], list[float]]:
        """Return the seconds that each part of an answer took, and those that it typically takes."""
        times = course.plan.bundle.times.typical
        size = trace.size if trace.size > 0.0 else self._bundle.promise.sizes[1]
        usual, done = [times.before(size)], 0
        for feature in trace.features:
            steps = zip(times.users, times.terms[times.n_features :], strict=True)
            due = [term(size) for users, term in steps if users >> feature & 1 and not users & done]
            usual.append(times.terms[feature](size) + sum(due) + (0.0 if done else times.waking(size)))
            done |= 1 << feature
        usual.append(model.model_ns * 1e-9 + times.after(size))
        return [1e-9 * (end - start) for start, end in pairwise(trace.marks)], usual

    def has_work(self, seconds: float, answers: int) -> bool:
        """Tell whether there is enough slack, and work for it; say first if so many answers broke the promise."""
        if self.margin.beyond:
            from .shortfall import Shortfall  # only here, since most nodes keep their promise

            self._shortfall = self._shortfall or Shortfall(self._bundle.promise.late, self._deadline)
            self._shortfall.tell(self.margin, self._late, answers)
        if seconds * 1e9 < LEAST_SLACK_NS:
            return False
        return self.learner is None or not self.learner.rests(len(self.unread), self.is_slow)

    def use_slack(
        self,
        seconds: float,
        new_learner: "Callable[[Recalled | None], Learner]",
        tried: "Kept | None",
        failing: Collection[str],
    ) -> None:
        """Do as `Learner.use`; `new_learner` makes the learner, when there is slack for the first time."""
        if self.learner is None:
            self.learner = new_learner(self._recalled)
        hurry, self.is_slow = self.is_slow, False
        if self.learner.use(seconds, self.unread, tried, failing, hurry):
            self.renew_slowdown()

    def renew_slowdown(self) -> None:
        """Estimate slowness against a new plan from now on."""
        self.slowdown = self.slowdown.renewed()

    def take_unread(self) -> "deque[tuple[Any, ...]]":
        """Return what was not learned from yet, and forget it here."""
        unread, self.unread = self.unread, deque(maxlen=UNREAD)
        return unread

    @property
    def known(self) -> "Learner | Recalled | None":
        """What has the times that were learned, and the changes that plans were made with."""
        return self.learner or self._recalled

    @property
    def learned(self) -> "Learned | None":
        """What was learned, here or before; None if there was no slack yet."""
        if self.learner is None:
            return self._given
        from .learned_file import Learned

        self.learner.read(self.unread)
        return Learned.of(self._bundle, self.learner.times, self.margin.value, self._given, self.learner.since)

    def summary(self) -> "LearningSummary":
        """Return what was learned so far, with the margin."""
        if self.learner is not None:
            self.learner.read(self.unread)
            return self.learner.summary(self.margin)
        from .summary import LearningSummary, moved_units

        rows = self._recalled.times.moved_rows() if self._recalled else ()
        return LearningSummary.of(self.margin, moved_units(rows, 0))

    def save(self, file: Any, period: float, sync: bool) -> None:
        """Write the file of what was learned, if there was slack; see `Predictor.save_learned`."""
        if self.learner is not None and (learned := self.learned) is not None:
            from .learned_file import write_learned

            write_learned(file, learned, period=period, sync=sync)
