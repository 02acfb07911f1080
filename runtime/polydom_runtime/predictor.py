"""Answering one item after another inside a deadline."""

import math
import os
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from .bundles.bundle import Bundle, Label
from .bundles.index_file import load_bundle
from .causes import Causes, error_text, shown
from .clock import Clock, hardware_clock, keep_freed_memory, own_usage
from .costs import format_seconds
from .exceptions import BundleMismatchError, FeatureError, ItemError
from .features import FeatureSpace, as_failure, members
from .learning.experience import Experience, runs_of
from .learning.margin import Margin
from .learning.slowdown import Slowdown
from .policy.deadline import checked_deadline, longest_wait_ns
from .policy.failures import FailureBook
from .policy.item_form import ItemForm
from .policy.loaded_models import LoadedModel, LoadedModels
from .policy.plan import Course, Plan, Plans, planner_of, reason_of
from .policy.states import State, reachable
from .prediction import OTHER_FORM, AnyPredictor, Policy, Prediction, answer_within, labels_of, policy_for
from .stages import Trace
from .turn import Turn, refuse, refuse_copy

if TYPE_CHECKING:
    from collections import deque

    from .bundles.bundle_times import Regime
    from .bundles.engines import Engine
    from .bundles.greedy import Walk
    from .bundles.index import Staircase
    from .explaining.explanation import Explanation
    from .learning.learned_file import Learned, Recalled
    from .learning.learned_times import LearnedTimes
    from .learning.learner import Learner
    from .learning.own_work import OwnWork
    from .learning.summary import LearningSummary
    from .policy.energy import EnergyBudget
    from .policy.loaded_models import RunOf
    from .policy.rehearsal import Kept, KeptItems
    from .trust.trust import Trust

new_tuple = tuple.__new__

ANSWER_NS = 2_000_000
"""The time for one answer in a rehearsal, if the deadline is longer: what cold code adds is less."""

ACCOUNTS = ("trace", "causes", "_learns", "_failures", "_items", "n_oversized", "_progress", "_runs")
"""The attributes that an answer changes, and a rehearsal must not."""


class Seams(NamedTuple):
    """What replays, workers and tests set in a `Predictor`; a node that only answers needs none of it.

    Parameters
    ----------
    clock : Clock
    adapt : bool
        Whether to learn from answers: how long units take here, and with which margin the promise holds.
    keep_memory : bool
        Whether this process keeps the memory that features free, as it did when their costs were measured; see
        `polydom_runtime.clock`.
    engine : {"onnxruntime", "numpy"}, optional
        Runs all models that it can. If not given, each model is run by the engine that the bundle states for it; if
        that is onnxruntime and there is none here, by numpy, if it can.
    regime : {"hot", "rehearsed", "cold"}, optional
        The regime whose times plans are made with. If not given, there is a plan for each regime that the bundle has
        times of, and for each item one is chosen: ``hot`` if the last answer ended less than a millisecond ago,
        ``rehearsed`` if the last rehearsal did, or else ``cold``.
    values : float32 array of shape (sum of widths,), optional
        The row for the features of the current item, such as memory that another process can read. A new one if not
        given.
    progress : int64 array of shape (1,), optional
        Set to the mask of the features computed so far, whenever one is done.
    run_of : callable, optional
        Takes the number of a model and returns the function that stands for it. The exported models run if not given.
    around : callable, optional
        Takes what `run_of` is, and returns what is called in its place: to note which model is loaded or run.
    slowdown : Slowdown, optional
        The estimate of how much slower than planned the machine is. A new one if not given.

    Examples
    --------
    >>> from polydom_runtime import ManualClock
    >>> Seams(clock=ManualClock(), adapt=False).keep_memory
    True
    """

    clock: Clock = hardware_clock
    adapt: bool = True
    keep_memory: bool = True
    engine: "Engine | None" = None
    regime: "Regime | None" = None
    values: NDArray[np.float32] | None = None
    progress: NDArray[np.int64] | None = None
    run_of: "RunOf | None" = None
    around: "Callable[[RunOf], RunOf] | None" = None
    slowdown: Slowdown | None = None


class Predictor:
    """Answers every item within the deadline, as well as the time allows. For one caller at a time: see `predict_one`.

    Parameters
    ----------
    bundle : Bundle
    space : FeatureSpace
        The space that the bundle was built with.
    deadline : float, optional
        Seconds from the arrival of the item to the return of `predict_one`. The longest deadline that the bundle was
        built for if not given. Outside of the range that the bundle was built for there is a warning, since the
        best models may be missing; from 60 s on it also asks whether milliseconds were meant.
    policy : {"anytime", "strict"}
        ``anytime`` plans again after each feature, with the time that is left then; ``strict`` plans once, by worst
        cases. See `policy_for` for the bundles that are always strict.
    early_stop : bool
        Whether to answer as soon as a model is sure enough, even if time is left. It saves energy and lowers the score
        a little; the bundle states by how much. The bundle must be built for it.
    energy : EnergyBudget, optional
        The energy that an item may use, a second budget beside the deadline.
    abstain_below : float, optional
        Above 0, at most 1: answers of a lower confidence are withheld; their label is None. The bundle must be built
        with `confidence`.
    accuracy_wanted : float, optional
        Above 0, at most 1, in place of `abstain_below`: the share of right answers among those that are given. The
        bundle has the threshold.
    runs : (int, int), optional
        A promise about late answers in a row, beside that of their share: ``(1, 20)`` for at most one among any twenty.
        After as many, answers are planned by worst cases until one more would be allowed.
    learned : Learned, optional
        What another predictor learned on this machine; see `learned`. Plans begin with it.
    seams : Seams
        What replays, workers and tests set, such as the clock.

    Attributes
    ----------
    bundle : Bundle
        The bundle with the times of all regimes.
    deadline : float
        The deadline in seconds.
    abstain_below : float
        The confidence below which no answer is given; 0 if each is.
    policy : {"anytime", "strict"}
    staircase : Staircase or Walk
        The feature set that worst cases allow at each size; for a greedy bundle the sequence that is followed. As
        `models` of the regime that is forced, or else of ``hot``.
    models : LoadedModels
    trace : Trace
        What was done for the last item, and when.
    runs : Runs or None
        The promise about late answers in a row.
    n_oversized : int
        Items that were larger than any measured one; their costs were extrapolated.
    causes : Causes
        Counts what failed, and logs the first failure of each feature, the tenth, the hundredth and so on.

    Raises
    ------
    BundleMismatchError
        If the bundle was built for another space, or without `early_stop` or `confidence` where that is asked for.
    ConfidenceError
        If `abstain_below` or `accuracy_wanted` is impossible, or both are given.
    BundleFormatError
        If a model that the deadline can reach cannot be run.
    DeadlineError
        If the deadline is missing, not positive, or shorter than dispatch alone takes; if there is no such policy or
        regime; or if `runs` is no promise.
    """

    def __init__(
        self,
        bundle: Bundle,
        space: FeatureSpace,
        *,
        deadline: float | None = None,
        policy: Policy = "anytime",
        early_stop: bool = False,
        energy: "EnergyBudget | None" = None,
        abstain_below: float | None = None,
        accuracy_wanted: float | None = None,
        runs: tuple[int, int] | None = None,
        learned: "Learned | None" = None,
        seams: Seams = Seams(),  # noqa: B008
    ) -> None:
        if not isinstance(space, FeatureSpace):
            raise BundleMismatchError(
                f"The space must be a FeatureSpace. Got {shown(space)}. Import the module that has it."
            )
        if not isinstance(bundle, Bundle):
            raise BundleMismatchError(
                f"The bundle must be a loaded one. Got {shown(bundle)}. Write Predictor.load(folder, space)."
            )
        self.policy: Policy = policy_for(bundle, policy)
        space = bundle.space_of(space)
        if seams.keep_memory:
            keep_freed_memory()
        seconds = checked_deadline(bundle, deadline)
        self.bundle = bundle if learned is None else (bundle := learned.applied(bundle))
        limit = seconds if energy is None else min(seconds, energy.seconds)
        if early_stop and not bundle.stops_early:
            raise BundleMismatchError(
                "To stop early a bundle must be built with early_stop. This one was built without."
            )
        self.abstain_below = 0.0
        if abstain_below is not None or accuracy_wanted is not None:
            from .policy.abstention import least_confidence  # only here, since most nodes give every answer

            self.abstain_below = least_confidence(bundle, limit, abstain_below, accuracy_wanted)
        self._tells_confidence = bundle.confidence is not None
        models = LoadedModels(bundle, seams.values, seams.run_of, early_stop, seams.engine, seams.around)
        kind, careful = planner_of(self.policy), runs is not None
        recalled = None if learned is None else learned.recalled(bundle, limit)
        plans = self._plans = Plans(
            *({*bundle.regimes, *(recalled.regimes if recalled else ())}, seams.regime),
            recalled.at if recalled else lambda regime: bundle.at(limit, regime),
            lambda timed, regime: Plan.slices(timed, space, models, limit, kind, energy, regime, careful),
            learns=seams.adapt,
        )
        self.staircase: Staircase | Walk = plans.hot.staircase
        self.models = plans.hot.models
        self.trace, self._course = Trace(), Course(plans.hot)
        self._items = self.n_oversized = 0
        self._clock = seams.clock
        self._early_stop = early_stop
        self._labels = labels_of(bundle)
        self._size = space.size
        self._no_steps = [None] * len(space.steps)
        self._turn = Turn()
        self.deadline = seconds
        self._deadline_ns, self._budget_ns = int(seconds * 1e9), int(limit * 1e9)
        self._spare_ns, self._longest_wait_ns = self._deadline_ns - self._budget_ns, longest_wait_ns(self._deadline_ns)
        self._largest = bundle.promise.sizes[1]
        self._progress = seams.progress
        self.runs = self._runs = runs_of(runs)
        self._space = space
        self._experience = Experience(bundle, seconds, seams.slowdown or Slowdown(), learned, recalled)
        self._learns = self._experience if seams.adapt else None
        self._failures = self._new_book()
        self.causes = Causes()
        self._last: Any = None
        self._form = ItemForm(bundle)
        self._unsteady, self._untried = bundle.references.unsteady_in(space)
        self._kept: KeptItems | None = None
        self._rehearsed_ns = -math.inf

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        space: FeatureSpace,
        *,
        deadline: float | None = None,
        policy: Policy = "anytime",
        early_stop: bool = False,
        energy: "EnergyBudget | None" = None,
        abstain_below: float | None = None,
        accuracy_wanted: float | None = None,
        runs: tuple[int, int] | None = None,
        learned: str | os.PathLike[str] | None = None,
        compare: bool = True,
        trust: "Trust | None" = None,
        seams: Seams = Seams(),  # noqa: B008
    ) -> "Predictor":
        """Read and check a bundle, and load the models that the deadline can reach.

        Features are computed on the reference items of the bundle, to notice that they are not those of the build.

        Parameters
        ----------
        folder : str or path
        space : FeatureSpace
        deadline, policy, early_stop, energy, abstain_below, accuracy_wanted, runs, seams
            As for `Predictor`.
        learned : str or path, optional
            The file of `save_learned`, or of ``polydom-node tune``: plans begin with what was learned. If it is not
            there, or not sound, or of another machine, they begin with the shipped times; in the latter cases a line
            on standard error says so.
        compare : bool
            Whether to compare features with those of the build.
        trust : Trust, optional
            See `load_bundle`.

        Raises
        ------
        BundleFormatError
            If the folder holds no sound bundle.
        BundleMismatchError, DeadlineError
            As for `Predictor`; the first one also if a feature gives other numbers than at the build.
        """
        bundle, kept = load_bundle(folder, trust), None
        if learned is not None:
            from .learning.learned_file import recalled_from  # only here, since most nodes have no such file

            kept = recalled_from(learned, bundle)
        predictor = cls(
            *(bundle, space),
            deadline=deadline,
            policy=policy,
            early_stop=early_stop,
            energy=energy,
            abstain_below=abstain_below,
            accuracy_wanted=accuracy_wanted,
            runs=runs,
            learned=None if kept is None else kept.learned,
            seams=seams,
        )
        if compare:
            bundle.check_features(space)
        return predictor

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse copies and pickles."""
        refuse_copy(self)

    def __repr__(self) -> str:
        return f"<Predictor {self.policy} within {format_seconds(self.deadline)} by {self.bundle!r}>"

    @property
    def slowdown(self) -> float:
        """How much slower than measured the machine is, as estimated after the last item; 1 if it is not slower."""
        return self._learns.slowdown.value if self._learns else 1.0

    @property
    def margin(self) -> Margin:
        """By how much all plans leave more time, so that no more answers are late than the bundle promises."""
        return self._experience.margin

    @property
    def failures(self) -> dict[str, int]:
        """Failures in a row by feature, where there are any."""
        return {name: k for name, k in zip(self.bundle.names, self._failures.streaks, strict=True) if k}

    @property
    def out(self) -> frozenset[str]:
        """The features that are out of the choice because they kept failing."""
        return frozenset(self.bundle.names[i] for i in members(self._failures.out))

    def expect_slowdown(self, at_least: float) -> None:
        """Plan for a machine that is slower than measured by at least this factor, until the next call."""
        if self._learns:
            self._learns.slowdown.expect(at_least)

    def report_failure(self, name: str) -> None:
        """Count a failure of a feature that happened in another process, such as a worker that it has ended.

        Raises
        ------
        FeatureError
            If the bundle has no such feature.
        """
        if name not in self.bundle.names:
            from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

            raise FeatureError(one_of("A feature", self.bundle.names, name))
        self._failures.hung(self.bundle.names.index(name), self._items)

    @property
    def loaded(self) -> dict[int, LoadedModel]:
        """The models in memory, by their numbers in the bundle."""
        return {number: plan.models.load(number) for plan in self._plans.made for number in plan.models.loaded}

    def leave_out(self, models: Collection[int]) -> None:
        """Answer without some models, by their numbers in the bundle, until the next call; O(states · models)."""
        self._plans.leave_out(models)

    def warm_up(self, item: Any) -> None:
        """Compute every feature and run every model on one item, so that the first answer finds warm code.

        Features that are unsteady, such as by a state, are left out. If the numbers of the item have another type than
        those of the build, features are compared with features of that type; there is a warning if they differ.
        """
        with self._turn:
            if self._form.is_first_of_type(item) and (doubt := self.bundle.type_doubt(self._space, item)):
                warnings.warn(doubt, stacklevel=2)
            plans = {id(plan): plan for plan in (self._plans.hot, self._plans.rehearsed, self._plans.cold)}.values()
            states, shared = [state for plan in plans for state in reachable(plan.root)], self._no_steps.copy()
            for move in {move.feature: move for state in states for move in state.ways}.values():
                with suppress(Exception):  # predict_one will tell which feature fails
                    if not self._unsteady >> move.feature & 1:
                        move.stage.run(item, shared)
            for model in self.loaded.values():
                with suppress(Exception):
                    model.run()
            real, muted = (self.causes, self._learns, self._runs), Causes(muted=True)
            self.causes, self._learns, self._runs = muted, None, None  # it tells nothing of answers
            self._failures = self._new_book().resting(self._unsteady)
            try:
                self._answer(item, self._clock(), 0)
            finally:
                self.causes, self._learns, self._runs = real
            self._failures = self._new_book()
            self.n_oversized = 0

    # Why the loop in `_compute` is as it is. It decides before each feature, and a feature may take only microseconds:
    # a decision must take less than one.
    # - What stays the same during an item is read from `self` once, into local names. The loop itself looks up only
    #   attributes of the state and the move, which have slots.
    # - Everything was weighed when the planner laid out the tables. A decision is one comparison if there is time for
    #   the best target, else a binary search among a few times; the move stands at the position that it returns. The
    #   slow search among all options (`State.detour`) is needed only while features are banned: those that failed for
    #   this item, or that are out because they kept failing.
    # - The clock is read once before each feature. This reading tells the time left, ends the feature before and is a
    #   mark in the trace. It is read again only after a failure and around a model that may stop early.
    # - `begun` is the time from which slowness is judged. A failure moves it on, since the time until a feature fails
    #   says nothing of how slow the machine is; so does a model that was asked in vain, which the plan has no time for.
    # - All code of features and models is called inside `except Exception`: whatever an item does, there is an answer.
    # - The loop is a function of its own, and what it hands over is stored in `_course` once, when it has ended.

    def predict_one(self, item: Any, *, arrived_ns: int | None = None, deadline: float | None = None) -> Prediction:
        """Return the answer for one item; never raises on account of the item, a feature or a model.

        Parameters
        ----------
        item : object
        arrived_ns : int, optional
            The time of the predictor's clock at which the item arrived: the deadline runs from then. By default, and at
            the latest, it runs from the call. So it does, with an `error` of the answer, if the time is of another
            clock: no integer, later than the call by more than a deadline, or earlier by more than a minute and 1000
            deadlines, which is late in any case.
        deadline : float, optional
            Seconds for this answer, at most those of the predictor, whose plans serve all shorter deadlines; 0 or less
            for a late one by the prior. The deadline of the predictor if not given.

        Raises
        ------
        DeadlineError
            If the deadline is longer than that of the predictor.
        PredictorInUseError
            If it is called while it is at work, by another thread or by a feature. Each thread needs a predictor.
        """
        start, waited = self._clock(), 0
        if arrived_ns is not None:
            waited = start - arrived_ns if type(arrived_ns) is int else -1
            if not 0 <= waited <= self._longest_wait_ns:
                from .policy.arrival import predict_arrived  # only here: most times are plain

                answer: Prediction = predict_arrived(self, item, arrived_ns, start, self._deadline_ns, deadline)
                return answer
        if deadline is not None:
            return answer_within(deadline, self, item, waited, start)
        turn = self._turn
        try:
            del turn.free
        except AttributeError:
            refuse()
        try:
            return self._answer(item, start, waited)
        finally:
            turn.free = True

    def _answer(self, item: Any, start: int, waited: int) -> Prediction:
        """Answer an item that waited for some nanoseconds before the call at `start`; in the caller's turn."""
        arrived = start - waited
        course, learns, plans = self._course, self._learns, self._plans
        course.plan = plan = plans.only or plans.at(start, self.trace.marks[-1], self._rehearsed_ns)
        course.begun, course.start = start, arrived
        if self._spare_ns:  # to wait takes time, and no energy
            course.start = min(arrived + self._spare_ns, start)
        if (runs := self._runs) is not None and runs.careful and plan.careful is not None:
            course.plan = plan = plan.careful
        course.slowdown = slowdown = 1.0 if learns is None else learns.slowdown.value * learns.margin.value
        self._items += 1
        self._last = item
        if self._progress is not None:
            self._progress[0] = 0
        state, course.reason = plan.root, ""
        try:  # here, since to call a function for it takes as long
            form = self._form
            if type(item) is not form.kind or item.dtype is not form.dtype or item.ndim != form.ndim or not item.size:
                form.check(item)
            self.trace.size = size = float(self._size(item))
            course.cell = bisect_left(plan.cells, size) if size > 0 else _bad_size(size)
        except BaseException as e:
            state = self._refuse(e, plan, course)
        state = self._compute(item, state, course)
        model, label = self._conclude(state, course)
        sure = None
        if self._tells_confidence:
            sure = model.confidence()
            if sure < self.abstain_below:
                label = None
        end = self._clock()
        self.trace.marks.append(end)
        took = end - arrived
        met = took <= self._deadline_ns
        reason, planned, error = course.reason, course.planned, ""
        if not reason:  # most answers are as planned, and have no need of further calls
            is_usual = planned is not None and planned.target == model.mask and self.trace.size <= self._largest
            reason = "planned" if is_usual else self._reason(state, model, course)
        else:
            error = self._tell(course)
        if label is None and not error and model.features:
            reason = "unsure"
        if runs is not None:
            runs.add(not met)
        if learns is not None:
            learns.add(course, self.trace, state, model, end, None if met else (self._items, waited), bool(error))
        if self._failures.any or not met:
            worked = state.mask & ~self.models.not_finite(state.mask)  # the others were noted where they failed
            self._failures.judge_trace(self.trace, worked, self._items, self._deadline_ns)
        given = label, model.features, model.accuracy, took, met, reason, slowdown, waited, error, sure, model.estimator
        return new_tuple(Prediction, given)  # in half the time of a call of the class

    def use_slack(self, seconds: float) -> None:
        """Do what can wait, in the time before the next item: learn, try units that no plan uses, lay out plans.

        A `Monitor` calls it by itself. Without such calls, only what all units share is learned.

        Parameters
        ----------
        seconds : float
            The slack; nothing is begun that would take longer.
        """
        learns = self._learns
        if learns is None or not learns.has_work(seconds, self._items):
            return
        end = self._clock() + int(seconds * 1e9)
        with self._turn:
            kept, tried = self._keep_last()
            failing = self._untried | self.failures.keys() if self._failures.any else self._untried
            learns.use_slack(seconds, self._new_learner, tried, failing)
        if kept.small is not None and self._clock() + min(self._deadline_ns, ANSWER_NS) < end:
            self.rehearse_with(kept.small.item)  # so that the caches hold what answers need, as without this work

    def _new_learner(self, recalled: "Recalled | None") -> "Learner":
        from .learning.learned_times import LearnedTimes
        from .learning.learner import Learner  # only here, since a node without slack needs none

        times = recalled.times if recalled else LearnedTimes(self.bundle, self._budget_ns * 1e-9)
        planned = recalled.planned if recalled else {}
        return Learner(times, self.bundle.names, self.own_work(times), self._clock, planned)

    def take_unread(self) -> "deque[tuple[Any, ...]]":
        """Return what answers told of times and is not learned yet, and forget it: the fields of a `Seen` each."""
        return self._experience.take_unread()

    def own_work(self, times: "LearnedTimes") -> "OwnWork":
        """Return what lays out the plans of this predictor by learned times, and runs single units."""
        from .learning.own_work import OwnWork

        return OwnWork(times, self._space, self._plans, self._clock)

    @property
    def learned(self) -> "Learned | None":
        """What was learned, here or before, for another predictor on this machine; None if there was no slack yet."""
        return self._experience.learned

    def learning(self) -> "LearningSummary":
        """Return what was learned so far, with the margin and how it came about; found when it is asked for."""
        return self._experience.summary()

    def save_learned(self, file: str | os.PathLike[str], *, period: float = 0.0, sync: bool = True) -> None:
        """Write what was learned to a file, as a whole or not at all, for `load`; nothing if there was no slack yet.

        Parameters
        ----------
        file : str or path
        period : float
            Seconds from one item to the next, which the file states; 0 if they come back to back.
        sync : bool
            Whether to wait until it is on the disk, where a power cut leaves it.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        self._experience.save(file, period, sync)

    def explain(self, item: Any) -> "Explanation":
        """Answer an item, and tell how the answer came about; it counts as any other answer."""
        from .explaining.explanation import Explanation, with_alternatives  # few nodes explain

        with self._turn:
            margin, paused, course = self.margin.value, self.margin.paused, self._course
            answer = self._answer(item, self._clock(), 0)
            found = Explanation.of(answer, self.trace, self.bundle.names, round(self.deadline * 1e9), course.planned)
        known = self._experience.known
        learned = known.times.answers if known and course.plan.regime in known.planned else None
        found = replace(found, margin=margin, learned=learned, paused=self.margin.paused > paused)
        return with_alternatives(found, course.plan.bundle, self.policy)

    def rehearse(self) -> None:
        """Make code warm again, right before an item comes: answer kept items through the same features and models.

        Until the first item came there is nothing to rehearse; `warm_up` counts as one. An answer in a rehearsal counts
        nowhere, and exceptions of features are swallowed. It takes as much energy as any other answer, and an
        `EnergyBudget` holds for each answer by itself.

        One small item is answered, several times if code was cold for long, and mostly a larger one. For both, copies
        of at most `polydom_runtime.policy.rehearsal.MAX_BYTES` of arrays are kept.
        """
        kept, _ = self._keep_last()
        kept.rehearse(lambda item: self.rehearse_with(item).accuracy, self._clock, self._deadline_ns)

    def _keep_last(self) -> "tuple[KeptItems, Kept | None]":
        """Keep the last item for rehearsals, if it is of a wanted size; return all kept, and what to try units on."""
        from .policy.rehearsal import KeptItems  # most nodes that answer back to back need none

        kept = self._kept = self._kept or KeptItems()
        tried, self._last = kept.offer(self._last, self.trace.size), None
        return kept, tried

    def keep_items_of(self, other: "AnyPredictor") -> None:
        """Take over the items that another predictor has kept for rehearsals, and its late answers in a row."""
        self._kept, self._last = getattr(other, "_kept", self._kept), None
        self.runs = self._runs = getattr(other, "runs", self.runs)

    def rehearse_with(self, item: Any) -> Prediction:
        """Answer one item as a rehearsal, by the plan for items that come after one; see `rehearse`.

        A long deadline is not used up: `ANSWER_NS` are enough. Features that failed last time are left out, and those
        that are unsteady, such as by a state.
        """
        with self._turn:
            real = {name: vars(self)[name] for name in ACCOUNTS}
            self.trace, self.causes, self._learns, self._runs = Trace(), Causes(muted=True), None, None
            self._failures, self._progress = self._failures.resting(self._unsteady), None
            self._rehearsed_ns = now = self._clock()
            try:
                answer = self._answer(item, now, max(self._deadline_ns - ANSWER_NS, 0))
            finally:
                vars(self).update(real)
            self._rehearsed_ns = self._clock()
        return answer

    def _refuse(self, error: BaseException, plan: Plan, course: Course) -> State:
        """Return the state without moves, for an item without a size, or unlike those of the build."""
        if not isinstance(failure := as_failure(error), Exception):
            raise error
        is_other = type(error) is ItemError
        self.trace.size, course.cell, course.reason = math.nan, 0, OTHER_FORM if is_other else "size failed"
        course.failures.append(("form", str(error)) if is_other else ("size", failure))
        return plan.nothing

    def _compute(self, item: Any, state: State, course: Course) -> State:
        """Compute features as long as a better answer is in time; return the state that is reached."""
        clock, cell, slowdown, early_stop = self._clock, course.cell, course.slowdown, self._early_stop
        start, begun, asked_ns = course.start, course.begun, 0
        deadline = start + self._budget_ns
        banned = self._failures.banned(self._items) if self._failures.any else 0
        shared, progress = self._no_steps.copy(), self._progress
        planned = last = number = None
        features: list[int] = []
        asked: list[int] = []
        marks = [begun]
        while True:
            now = clock()
            marks.append(now)
            left = (deadline - now) / slowdown
            used = now - begun
            worst, enough, move, ends, moves = state.rows[cell]
            if used > worst:
                # What was slower than its worst case so far will be slower still; unless the estimate said so already.
                left *= min(worst * slowdown / used, 1.0)
            if banned:
                move = state.detour(banned, self.trace.size, cell, left)
            elif left < enough:
                move = moves[bisect_right(ends, left)]
            if move is None:
                break
            if planned is None:
                planned = move
            last = move
            features.append(move.feature)
            try:
                move.stage.run(item, shared)
            except Exception as e:
                course.reason = self._failed(move.feature, e, course)
                banned |= 1 << move.feature
                begun += clock() - now
                continue
            state = move.after
            if progress is not None:
                progress[0] = state.mask
            if early_stop:
                number, is_sure, asked_ns = self._ask(state.model, course)
                begun += asked_ns
                if is_sure:
                    course.reason = "confident"
                    marks.append((now := clock()) - asked_ns)
                    break
                asked.append(asked_ns)
        trace = self.trace
        trace.features, trace.marks, course.asked = features, marks, asked
        course.planned, course.last, course.number, course.now = planned, last, number, now
        course.begun = begun if number is None else begun - asked_ns  # not in vain after all
        return state

    def _ask(self, model: LoadedModel, course: Course) -> tuple[int | float | None, bool, int]:
        """Ask a model that may stop early, if there is time; return its number, if it is sure, and how long it took."""
        if model.stop > 1.0:
            return None, False, 0
        began, number = self._clock(), None
        if (course.start + course.plan.latest_ns - began) / course.slowdown >= model.model_ns:
            with suppress(Exception):  # `_conclude` will find out what is wrong
                number = model.run()
        asked_ns = self._clock() - began
        if number is not None and model.confidence() >= max(model.stop, self.abstain_below):
            return number, True, asked_ns
        return number, False, asked_ns

    def _conclude(self, state: State, course: Course) -> tuple[LoadedModel, Label | float | None]:
        """Return the model that answers, and the label that it gives; the prior if no model can."""
        model, number, spent = state.model, course.number, course.now - course.start
        left_ns = (course.plan.latest_ns - spent) / course.slowdown
        if left_ns < model.model_ns and number is None and state.mask and spent <= self._budget_ns:
            model = self._quicker(state, left_ns, course)
        try:
            return model, self._labels[model.run() if number is None else number]
        except FloatingPointError:
            return self._without_failures(state.mask, left_ns, course)
        except Exception as e:
            return self._prior(e, course)

    def _quicker(self, state: State, left_ns: float, course: Course) -> LoadedModel:
        """Return a quicker model that is in time: as planned, or since a feature failed or took longer than it may."""
        models, planned = course.plan.models, course.planned
        for model, less_ns in state.answers:
            if model.model_ns <= left_ns and model.number not in models.out:
                course.begun -= less_ns  # slowness is judged by the time that the best model takes
                if planned is None or model.accuracy < planned.accuracy:
                    course.reason = "no time for the model"
                return model
        course.reason = "no time for the model"
        return models.best_loaded(state.mask, left_ns)

    def _prior(self, error: Exception, course: Course) -> tuple[LoadedModel, Label | float | None]:
        course.reason = "the model failed"
        course.failures.append(("the model", error))
        return self.models.prior, self._labels[self.models.prior.run()]

    def _without_failures(self, mask: int, left_ns: float, course: Course) -> tuple[LoadedModel, Label | float | None]:
        """Answer without the features that are not finite; the prior if no model can."""
        course.reason = "the model failed"
        broken = self.models.not_finite(mask)
        for feature in members(broken):
            course.reason = self._failed(feature, "Its values must be finite numbers.", course)
        model = course.plan.models.best_loaded(mask & ~broken, left_ns)
        try:
            return model, self._labels[model.run()]
        except Exception as e:
            return self._prior(e, course)

    def _reason(self, state: State, model: LoadedModel, course: Course) -> str:
        """Return how the answer relates to the plan that was made at the start; count an item that is too large."""
        reason = reason_of(state, model, course, self.bundle.names, self.out, self._budget_ns, self.policy == "anytime")
        if self.trace.size > self._largest:
            self.n_oversized += 1
            return "planned, larger than measured" if reason == "planned" else reason
        return reason

    def _failed(self, feature: int, error: Exception | str, course: Course) -> str:
        self._failures.failed(feature)
        name = self.bundle.names[feature]
        course.failures.append((name, error))
        return f"{name} failed"

    def _tell(self, course: Course) -> str:
        """Report what failed on the item; return the first failure in words, empty if nothing failed."""
        failures, course.failures = course.failures, []
        for part, error in failures:
            self.causes.add(part, error)
        return f"{failures[0][0]}: {error_text(failures[0][1])}" if failures else ""

    def _new_book(self) -> FailureBook:
        return FailureBook(len(self.bundle.names), own_usage if self._clock is hardware_clock else None)


if TYPE_CHECKING:  # checked by mypy here, not where a predictor is first handed over
    _: type[AnyPredictor] = Predictor


def _bad_size(size: float) -> int:
    raise ValueError(f"The size of an item must be a positive number. Got {size}.")
