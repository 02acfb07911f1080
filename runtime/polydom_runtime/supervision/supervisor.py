"""Answers in time whatever a feature does: features and models run in a process that can be killed."""

import math
import os
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from polydom_runtime.bundles.bundle import Bundle, Label
from polydom_runtime.bundles.index_file import loaded
from polydom_runtime.causes import Causes, error_text
from polydom_runtime.clock import hardware_clock
from polydom_runtime.device.jitter import wake_up_jitter
from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.sources import space_of
from polydom_runtime.learning.experience import Experience, runs_of
from polydom_runtime.learning.margin import PAUSE, Margin, is_paused
from polydom_runtime.learning.slowdown import CALM, Slowdown
from polydom_runtime.policy.abstention import least_confidence
from polydom_runtime.policy.deadline import checked_deadline, longest_wait_ns
from polydom_runtime.policy.loaded_models import LoadedModel
from polydom_runtime.policy.rehearsal import Kept, KeptItems
from polydom_runtime.prediction import AnyPredictor, Policy, Prediction, answer_within, policy_for
from polydom_runtime.stages import Trace
from polydom_runtime.turn import Turn, refuse, refuse_copy

from .fallback import MIN_MARGIN_NS, Fallback, StageNames
from .keeper import Keeper
from .linux import check_calls, sleep
from .model_failures import ModelFailures, name_of_model
from .sealed_bundle import SealedBundle
from .shared_block import ItemHeader, write_item
from .worker import NOTHING, Link, Reply, Told, WrongReply

if TYPE_CHECKING:
    from polydom_runtime.explaining.explanation import Explanation
    from polydom_runtime.learning.learned_file import Learned, Recalled
    from polydom_runtime.learning.learned_times import Unit
    from polydom_runtime.learning.learner import Learner
    from polydom_runtime.learning.summary import LearningSummary
    from polydom_runtime.trust.trust import Trust

    from .worker_times import WorkerTimes

WAITED = "supervised: the item had waited for too long"
NO_TIME = "the deadline of the call leaves no time for a worker"
"""The reasons of answers to items that cannot be handed over in time; the second one tells of no fault."""

PLAN_S = 10.0
"""The time that workers may take at the start until they have the plan for what was learned before; then one without it
begins."""

START_S = 60.0
"""The time that the models may take to load, and then the first worker to start."""

WARM_UP_S = 30.0
"""The time that every feature and model may take on the item that workers are warmed up with."""

LATE_SHARE = 4
"""A late worker is given 1/4 of the next item's time to finish: a new worker would take longer to start."""

MAX_RESERVE = 0.25
"""The largest share of the deadline that is kept in reserve. If the system wakes it even later, answers are late."""

MAX_REHEARSAL_NS = 10_000_000
"""A rehearsal takes a millisecond or two. A worker that is not done by then is late, as with an item."""


_turns: "weakref.WeakSet[Turn]" = weakref.WeakSet()
"""Of all predictors of this process. A process that it forks must not use their workers, so nobody has a turn there."""


def _take_all() -> None:
    for turn in _turns:
        turn.take()


os.register_at_fork(after_in_child=_take_all)


class Due(NamedTuple):
    """When an item arrived, and when it was handed over: clock readings in nanoseconds."""

    arrived: int
    start: int


class SupervisedPredictor:
    """Answers every item within the deadline, even if a feature hangs or crashes. For one caller at a time.

    Features and models run in a worker process. If it has no answer shortly before the deadline, the supervisor runs
    the best model over the features that the worker has finished, or gives the prior. A late worker is kept if it is
    done soon after the next item comes; else it is killed, and a spare one takes over. After several such kills or
    crashes in a row in the same feature or model, workers leave it out, and try it again ever more rarely. A worker
    that sends anything but the reply to its item counts as one that died.

    Items should be arrays, which are copied as they are. Other items are pickled, and the time that this takes has no
    bound.

    Parameters
    ----------
    folder : str, path or Bundle
        The bundle; a loaded one must come from the disk.
    space : str
        ``MODULE:SPACE``, which the worker imports too.
    deadline : float, optional
        Seconds from the arrival of the item to the return of `predict_one`. The longest deadline that the bundle was
        built for if not given.
    policy, abstain_below, accuracy_wanted
        See `Predictor`.
    item_bytes : int
        Size of the largest item. Items take up only the memory that they need.
    reserve : float, optional
        How many seconds before the deadline the supervisor stops waiting for the worker. If not given, it is measured
        how late the system wakes this process.
    runs : (int, int), optional
        See `Predictor`.
    learned : Learned, optional
        See `Predictor`. What a process without workers learned holds for features and steps only.
    compare : bool
        Whether to compare features with those of the build, in a process of its own.
    trust : Trust, optional
        See `load_bundle`; not for a loaded one.
    reply : callable
        Called with a worker's link and a number of nanoseconds. Returns the worker's reply, or None if there is none
        within this time. A test can return early when the worker hangs, since no reply can come then.

    Attributes
    ----------
    bundle, policy, abstain_below, causes
        As of a `Predictor`.
    trace : Trace
        The worker's trace of the last item; without features if the supervisor answered.
    runs
        As of a `Predictor`, for whole answers, whoever gives them.
    counts : Counter
        Items by who answered and why: ``worker``; or the supervisor, since the worker was ``late`` or ``died``, since
        there was ``no worker``, since the item could be ``not passed`` on, since it had ``waited`` for too long, or
        since something ``failed`` in this process, such as memory.
    n_oversized : int
        Items, larger than any measured one, that a worker answered; their costs were extrapolated.
    restarts : int
        Workers that were lost: killed because they were stuck, or found dead.

    Raises
    ------
    BundleFormatError, BundleMismatchError, DeadlineError, ConfidenceError
        See `Predictor`.
    WorkerError
        If no worker can be started, a model hangs or crashes when it is loaded and tried, or a feature gives other
        numbers than at the build.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Bundle,
        space: str,
        *,
        deadline: float | None = None,
        policy: Policy = "anytime",
        item_bytes: int = 1 << 26,
        reserve: float | None = None,
        runs: tuple[int, int] | None = None,
        abstain_below: float | None = None,
        accuracy_wanted: float | None = None,
        learned: "Learned | None" = None,
        compare: bool = True,
        trust: "Trust | None" = None,
        reply: Callable[[Link, int], Reply | None] = Link.reply,
    ) -> None:
        check_calls()
        bundle = loaded(folder, trust)
        self.bundle = replace(bundle if learned is None else learned.applied(bundle), contents=())
        bundle = replace(bundle, models=self.bundle.models)  # which may run by other engines
        self._all = (1 << len(bundle.names)) - 1
        self._stages = StageNames(self.bundle.space_of(space_of(space)))
        self.deadline = checked_deadline(self.bundle, deadline)
        self.policy: Policy = policy_for(self.bundle, policy)
        self.abstain_below = least_confidence(bundle, self.deadline, abstain_below, accuracy_wanted)
        self._reply = reply
        cold = bundle.at(self.deadline, "cold")
        self._budget_ns = int(self.deadline * 1e9)
        self._longest_wait_ns = longest_wait_ns(self._budget_ns)
        self._reserve_ns = _reserve_ns(self._budget_ns, reserve)
        self.runs = runs_of(runs)
        # The worker must be done when the supervisor stops waiting.
        least = self.abstain_below or None
        order = {"space": space, "policy": policy, "abstain_below": least, "runs": runs, "compare": compare}
        width, seconds = sum(bundle.space.widths), self.deadline - self.reserve
        self._keeper = Keeper(SealedBundle(bundle), {"deadline": seconds, **order}, width, item_bytes)
        self._finalizer = weakref.finalize(self, self._keeper.close)
        self._link: Link | None = None
        # Numbers of messages begin at random: code of features that writes to the socket of a worker cannot guess one.
        self._sequence, self._items = int.from_bytes(os.urandom(7), "big"), 0
        self._last: Any = None
        self._kept = KeptItems()
        self.trace = Trace()
        self.causes = Causes()
        self.counts: Counter[str] = Counter()
        self.restarts = self.n_oversized = 0
        self._plan = self._slack_end = 0
        self._failures: dict[str, int] = {}
        self._out: frozenset[str] = frozenset()
        self._models = ModelFailures(bundle)
        try:
            self._fallback = Fallback(cold, self._keeper.wait_for_models(START_S))
            self._keeper.wait_for_first(START_S)
            self._experience = self._begin(learned)
        except BaseException:
            self.close()
            raise
        self._turn = Turn()
        _turns.add(self._turn)
        self._prior_label = self._fallback.labels[self._fallback.prior.run()]
        models = (math.ceil(model.seconds * 1e9) for model in cold.models)
        self._longest_ns = max(models, default=0)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse copies and pickles."""
        refuse_copy(self)

    @property
    def reserve(self) -> float:
        """Seconds before the deadline at which the supervisor stops waiting."""
        return self._reserve_ns * 1e-9

    @property
    def slowdown(self) -> float:
        """How much slower than planned the workers are, as estimated after their last answers; 1 if they are not."""
        return self._experience.slowdown.value

    @property
    def margin(self) -> Margin:
        """As of a `Predictor`; kept here, for whole answers: that a worker is late does not count if they are not."""
        return self._experience.margin

    @property
    def failures(self) -> dict[str, int]:
        """How many workers in a row each feature, and each model, has ended."""
        return {**self._failures, **self._models.failures}

    @property
    def out(self) -> frozenset[str]:
        """The features that are out of the choice, as the worker reports, and the models that are."""
        return self._out | self._models.out

    @property
    def worker_pid(self) -> int:
        """The process of the worker that was given the last item; 0 if there is none."""
        return self._link.pid if self._link else 0

    @property
    def nursery_pid(self) -> int:
        """The process that starts workers; 0 while there is none."""
        return self._keeper.nursery_pid

    @property
    def nursery_restarts(self) -> int:
        """How many times the process that starts workers had to be started again."""
        return max(self._keeper.nurseries - 1, 0)

    def warm_up(self, item: Any) -> bool:
        """Replace all workers by new ones that start warm, after every feature and model was run on one item.

        Returns
        -------
        bool
            Whether they start warm. They start cold if a feature hangs or crashes on the item.
        """
        with self._turn:
            with suppress(ItemError):  # the first item must not pay for the pages of the shared memory
                write_item(item, self._keeper.block.item)
            warm = self._keeper.warm_up(item, WARM_UP_S)
            if self._link is not None:
                self._link.kill()
            self._use(self._keeper.take(START_S))
        return warm

    def rehearse(self) -> None:
        """Make code warm again, right before an item comes: hand over kept items, which the worker answers.

        As `Predictor.rehearse`; it ends within `MAX_REHEARSAL_NS`. A worker that hangs or crashes in a rehearsal is one
        that is late or dies, and the kept items are forgotten.
        """
        with self._turn:
            self._rehearse()

    def _rehearse(self) -> None:
        self._keep_last()
        end = hardware_clock() + MAX_REHEARSAL_NS
        self._kept.rehearse(lambda item: self._rehearse_with(item, end), hardware_clock, self._budget_ns)

    def use_slack(self, seconds: float) -> None:
        """Do what can wait, in the time before the next item: learn, let a worker try units that no plan uses.

        As `Predictor.use_slack`. Plans are laid out by the process that starts workers, meanwhile; a worker with the
        new ones takes over here.

        Parameters
        ----------
        seconds : float
        """
        with self._turn:
            self._use_slack(seconds)

    def _use_slack(self, seconds: float) -> None:
        self._slack_end = hardware_clock() + int(seconds * 1e9)
        link = self._link
        if link is not None:
            try:
                if self._is_free(link, 0) and self._keeper.plan != link.plan:
                    self._change_over(link)
            except OSError:
                self._lose(link)
        if not self._experience.has_work(seconds, self._items):
            return
        tried = self._keep_last()
        if self._models.failing:
            tried = None
        failing = self._failures.keys() | self._out | self.bundle.references.unsteady_in(self._stages.space)[1]
        left = (self._slack_end - hardware_clock()) * 1e-9
        self._experience.use_slack(left, self._new_learner, tried, failing)

    def learning(self) -> "LearningSummary":
        """As `Predictor.learning`."""
        return self._experience.summary()

    @property
    def learned(self) -> "Learned | None":
        """As `Predictor.learned`, for supervised predictors."""
        return self._experience.learned

    def save_learned(self, file: str | os.PathLike[str], *, period: float = 0.0, sync: bool = True) -> None:
        """As `Predictor.save_learned`."""
        self._experience.save(file, period, sync)

    def _begin(self, learned: "Learned | None") -> Experience:
        """Begin with what was learned before: let workers have plans for it."""
        recalled = None
        if learned is not None:
            from polydom_runtime.learning.learned_file import Recalled  # only here: most nodes begin as shipped

            recalled = Recalled(learned, self.bundle, self._new_times())
            for regime in recalled.regimes:
                self._keeper.learn(regime, recalled.plan(regime))
            self._keeper.wait_for_plan(PLAN_S)
        return Experience(self.bundle, self.deadline, Slowdown(), learned, recalled)

    def _new_times(self) -> "WorkerTimes":
        from .worker_times import WorkerTimes

        return WorkerTimes(self.bundle, self._keeper.hand_over, self.deadline - self.reserve)

    def _new_learner(self, recalled: "Recalled | None") -> "Learner":
        from polydom_runtime.learning.learner import Learner  # only here, since a node without slack needs none

        from .workers_work import WorkersWork

        times, planned = (recalled.times, recalled.planned) if recalled else (self._new_times(), {})
        work = WorkersWork(self._keeper, self._keeper.models, self._took_ns)
        return Learner(times, self.bundle.names, work, hardware_clock, planned)

    def _change_over(self, link: Link) -> None:
        """Let a worker with newer plans take over from one without an item, and get warm if there is time."""
        if (new := self._keeper.take(0.0)) is not None:
            link.kill()
            self._use(new)
            if self._slack_end - hardware_clock() > MAX_REHEARSAL_NS:
                self._rehearse()

    def _use(self, link: Link | None) -> None:
        """Hand items to a worker from now on."""
        self._link = link
        if link is not None and link.plan != self._plan:
            self._plan = link.plan
            self._experience.renew_slowdown()  # it was one against the plans of the worker before

    def keep_items_of(self, other: AnyPredictor) -> None:
        """Take over the items that another predictor has kept for rehearsals, and its late answers in a row."""
        self._kept, self._last = getattr(other, "_kept", self._kept), None
        self.runs = getattr(other, "runs", self.runs)

    def _keep_last(self) -> Kept | None:
        tried, self._last = self._kept.offer(self._last, self.trace.size), None
        return tried

    def _rehearse_with(self, item: Any, end: int) -> float | None:
        """Let a worker answer a kept item; return the expected score, None if it does not in time."""
        reply = self._reply_beside(item, end)
        return None if reply is None or reply.answer is None else reply.answer.accuracy

    def _took_ns(self, unit: "Unit", item: Any) -> int | None:
        """Let a worker try a unit on an item; return how long it took, None if it failed or took all slack."""
        reply = self._reply_beside(item, self._slack_end, unit)
        return None if reply is None else reply.took_ns

    def _reply_beside(self, item: Any, end: int, unit: "Unit | None" = None) -> Reply | None:
        """Let a worker rehearse with a kept item, or try a unit on it; None if it is not done in time."""
        link = self._link
        try:
            if link is not None and not self._is_free(link, 0):
                return None  # still busy with the last item: the next one decides what becomes of it
            link = self._free_link(last=0)
            if link is None:
                return None
            self._ask(link, write_item(item, self._keeper.block.item), hardware_clock(), None, unit)
            reply = self._reply(link, end - hardware_clock())
        except (OSError, ItemError):
            reply = None
        if reply is None or (reply.answer is None and unit is None):
            self._kept = KeptItems()
            return None
        return reply

    def predict_one(self, item: Any, *, arrived_ns: int | None = None, deadline: float | None = None) -> Prediction:
        """Return the answer for one item in time; never raises on account of the item, a feature or a model.

        Parameters
        ----------
        item : object
        arrived_ns : int, optional
        deadline : float, optional
            `arrived_ns`, `deadline`: see `Predictor.predict_one`.

        Raises
        ------
        DeadlineError
            If the deadline is longer than that of the predictor.
        PredictorInUseError
            If it is called while it is at work, or in a process that was forked from the one that made it.
        """
        start = hardware_clock()
        if arrived_ns is None:
            arrived_ns = start
        elif type(arrived_ns) is not int or not 0 <= start - arrived_ns <= self._longest_wait_ns:
            from polydom_runtime.policy.arrival import predict_arrived  # only here: most times are plain

            answer: Prediction = predict_arrived(self, item, arrived_ns, start, self._budget_ns, deadline)
            return answer
        if deadline is not None:
            answer = answer_within(deadline, self, item, start - arrived_ns, start)
            return answer._replace(reason=NO_TIME) if answer.reason == WAITED else answer
        due, turn = Due(arrived_ns, start), self._turn
        try:
            del turn.free
        except AttributeError:
            refuse()
        try:
            return self._answer(item, due)
        except Exception as e:  # of this process, such as MemoryError
            self.causes.add("the supervisor", e)
            if (link := self._link) is not None and link.asked:  # its reply may be lost
                with suppress(Exception):
                    self._lose(link)
            return self._own(due, self._fallback.prior, "failed", f"supervised: {error_text(e)}")
        finally:
            turn.free = True

    def _answer(self, item: Any, due: Due) -> Prediction:
        start = due.start
        self._items += 1
        deadline = due.arrived + self._budget_ns
        last = deadline - self._reserve_ns
        if start >= last:
            return self._own(due, self._fallback.prior, "waited", WAITED)
        link = self._free_link(last)
        if link is None:
            return self._own(due, self._fallback.prior, "no worker", "supervised: no worker is ready")
        try:
            header = write_item(item, self._keeper.block.item)
        except ItemError as e:
            return self._own(due, self._fallback.prior, "not passed", f"supervised: {e}")
        model, label = self._fallback.prior, self._prior_label
        slowdown = self.slowdown * self.margin.value
        prepare_ns = 2 * self._reserve_ns + int(self._longest_ns * slowdown)  # it may wake up late twice
        try:
            self._ask(link, header, start, due.arrived)
            reply = self._reply(link, deadline - prepare_ns - hardware_clock())
            if reply is None:
                model, label = self._fallback.prepare(link, deadline, self._models.failing, slowdown)
                reply = self._reply(link, last - hardware_clock())
        except OSError as e:
            is_wrong = isinstance(e, WrongReply)
            did = "sent what is no reply" if is_wrong else "died"
            reason = f"supervised: the worker {did}{self._stages.within(link)}"
            model, label = self._fallback.prior, None
            if not is_wrong:  # or else what it has computed cannot be believed, either
                model, label = self._fallback.prepare(link, deadline, self._models.failing, slowdown)
            self._lose(link)
            return self._own(due, model, "died", reason, label)
        if reply is None:
            reason = f"supervised: {self._stages.name(link)} was not done in time"
            return self._own(due, model, "late", reason, label)
        self._last = item
        return self._of_worker(due, link, reply)

    def _ask(self, link: Link, header: ItemHeader, start: int, arrived: int | None, unit: "Unit | None" = None) -> None:
        self._sequence += 1
        told = Told(self.slowdown, self.margin.value, self.runs is not None and self.runs.careful)
        banned = self._models.banned(self._items)
        link.ask(self._sequence, start, arrived, unit, told, self._failures, banned, header)

    def explain(self, item: Any) -> "Explanation":
        """Answer an item, and tell how the answer came about; it counts as any other answer.

        The deadline that is told is the worker's, `reserve` before that of the answer; times are those of its plan for
        hot code. If the supervisor answered, the course of the worker is not known, and the reason says why.
        """
        from polydom_runtime.explaining.explanation import Explanation, with_alternatives  # few nodes explain

        with self._turn:
            margin, paused, now = self.margin.value, self.margin.paused, hardware_clock()
            answer = self._answer(item, Due(now, now))
        found = Explanation.of(answer, self.trace, self.bundle.names, self._budget_ns - self._reserve_ns)
        times, learned = self.bundle.at(self.deadline), None
        known = self._experience.known
        if known is not None and self._plan and (changes := known.planned.get("hot")):
            times, learned = known.times.bundle("hot", changes), known.times.answers
        return with_alternatives(
            replace(found, margin=margin, learned=learned, paused=self.margin.paused > paused), times, self.policy
        )

    def close(self) -> None:
        """End all processes, and wait for their end."""
        if self._link is not None:
            self._link.kill()
            self._link = None
        self._finalizer()

    def __enter__(self) -> "SupervisedPredictor":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _free_link(self, last: int) -> Link | None:
        """Return a worker without an item: the same as before unless that one is still busy or dead."""
        link = self._link
        if link is not None:
            try:
                if self._is_free(link, self._budget_ns // LATE_SHARE) and link.lives():
                    return link
            except OSError:
                pass
            self._lose(link)
        while (link := self._keeper.take((last - hardware_clock()) * 1e-9)) is not None:
            if link.lives():
                break
            self.restarts += 1
            link.kill()
        self._use(link)
        return link

    def _is_free(self, link: Link, nanoseconds: int) -> bool:
        """Tell whether a worker has no item, or ends one that it is late with within this time; learn from that."""
        if link.asked and (reply := self._reply(link, nanoseconds)) is not None and reply.marks:
            back_ns = 0.5e9 * self._keeper.hand_over[reply.seen[0]] if reply.seen else 0
            self._learn(reply, reply.marks[-1] + int(back_ns))
        return not link.asked

    def _lose(self, link: Link) -> None:
        """Kill a worker, if it lives, and count that as a failure of the model or the features it was busy with."""
        self._link = None
        if 0 <= (model := link.model) < len(self.bundle.models):  # read once, since the worker may go on
            self._models.ended(model, self._items)
            busy: tuple[str, ...] = (name_of_model(model),)
        else:
            busy = self._stages.features(link)
            self._failures.update({name: self._failures.get(name, 0) + 1 for name in busy})
        for name in busy:
            self.causes.add(name, "Its process crashed, was busy for too long, or sent what is no reply.")
        self.restarts += 1
        link.kill()

    def _of_worker(self, due: Due, link: Link, reply: Reply) -> Prediction:
        self.trace.size, self.trace.features, self.trace.marks = reply.size, reply.started, reply.marks
        if reply.answer is None:
            self._last = None
            reason = "supervised: the item can be made only where it comes from"
            return self._own(due, self._fallback.prior, "not passed", reason)
        for name in self._failures and self._stages.space.names_of(link.done & self._all):
            self._failures.pop(name, None)
        self._models.worked(reply.answer, self._items)
        self._out = frozenset(reply.out)
        if error := reply.answer.error:
            self.causes.add(*error.split(": ", 1))
        self.counts["worker"] += 1
        self.n_oversized += reply.size > self.bundle.promise.sizes[1]
        end = hardware_clock()
        self._learn(reply, end)
        elapsed, met, waited = self._judge(due, end)
        return reply.answer._replace(elapsed_ns=elapsed, deadline_met=met, waited_ns=waited)

    def _own(
        self, due: Due, model: LoadedModel, count: str, reason: str, label: Label | float | None = None
    ) -> Prediction:
        """Return an answer of the supervisor itself, by the model that ran last; `label` is that of a model."""
        told = self._prior_label if model is self._fallback.prior else label
        confidence = None if self.bundle.confidence is None else model.confidence()
        if confidence is not None and confidence < self.abstain_below:
            told = None
        self.counts[count] += 1
        slowdown, end = self.slowdown * self.margin.value, hardware_clock()
        self.trace.size, self.trace.features, self.trace.marks = math.nan, [], [due.start, end, end]
        elapsed, met, waited = self._judge(due, end)
        seen = elapsed, met, reason, slowdown, waited
        return Prediction(told, model.features, model.accuracy, *seen, confidence=confidence, estimator=model.estimator)

    def _learn(self, reply: Reply, end: int) -> None:
        """Note what a worker's answer, which was here at `end`, tells of times; the rest is for `use_slack`."""
        experience = self._experience
        if reply.ratio != NOTHING:
            experience.slowdown.add(reply.ratio)
            experience.is_slow |= CALM < reply.ratio < PAUSE
        if reply.seen is not None:
            regime, *last = reply.seen
            experience.unread.append((regime, reply.size, reply.started, [*reply.marks[:-1], end], *last))

    def _judge(self, due: Due, end: int) -> tuple[int, bool, int]:
        """Keep the promise: count an answer that ended at `end`; return how long it took, if it is in time, its wait.

        A worker that is late makes no answer late. One that is late is so by the time that the supervisor itself took
        after it had stopped waiting, which is a pause if it is far more than usual; or since the item had waited.
        """
        elapsed, waited = end - due.arrived, due.start - due.arrived
        if met := elapsed <= self._budget_ns:
            self.margin.add_in_time()
        else:
            usable_ns = self._budget_ns - self._reserve_ns
            paused = waited >= usable_ns or is_paused([elapsed - usable_ns], [MIN_MARGIN_NS], self._budget_ns)
            self._experience.add_late(self._items, elapsed, paused=paused)
        if self.runs is not None:
            self.runs.add(not met)
        return elapsed, met, waited


if TYPE_CHECKING:  # checked by mypy here, not where a predictor is first handed over
    _: type[AnyPredictor] = SupervisedPredictor


def _reserve_ns(budget_ns: int, seconds: float | None) -> int:
    """Return the reserve that is given, or else how late the system wakes this process."""
    if seconds is not None:
        return int(seconds * 1e9)
    late = wake_up_jitter(100, 1_000_000, sleep=sleep)
    return int(min(max(late.p99_ns, MIN_MARGIN_NS), MAX_RESERVE * budget_ns))
