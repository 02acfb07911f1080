"""A predictor that answers by the bundle that its folder holds now."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import astuple
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import DIGEST_FILE
from polydom_runtime.bundles.model_entry import MODEL_FOLDER
from polydom_runtime.bundles.opened_folder import read_bounded
from polydom_runtime.causes import raised, report
from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.exceptions import BundleFormatError, PolyDomError, UpdateError
from polydom_runtime.learning.learned_file import Learned  # here, since it would take too long between two items
from polydom_runtime.learning.margin import Margin
from polydom_runtime.prediction import AnyPredictor, Learning, Policy, Prediction
from polydom_runtime.predictor import Predictor
from polydom_runtime.stages import Trace
from polydom_runtime.supervision.supervisor import SupervisedPredictor

from .background import Background, Pace
from .on_trial import NOT_KEPT, OnTrial, begin, note, on_trial, root_of, take_back
from .trial import AnswerCounts, Trial

if TYPE_CHECKING:
    from polydom_runtime.explaining.explanation import Explanation
    from polydom_runtime.learning.summary import LearningSummary

LOOK_EVERY_NS = 1_000_000_000

CLOSE_S = 1.0
"""The time that a load may go on when all is closed."""

PATIENCE = 200
"""After this number of items without enough time for a rehearsal, a new predictor takes over without one."""

Single = Predictor | SupervisedPredictor


class Reloads(NamedTuple):
    """New bundles by their fate: taken over, could not be used, or answered late or failed too often after it."""

    taken: int = 0
    refused: int = 0
    sent_back: int = 0
    error: str = ""
    """Why the last bundle was refused or sent back; empty if none was."""


def _of_current(name: str) -> Any:
    return property(attrgetter(f"current.{name}"))


class FollowingPredictor:
    """Answers by the bundle that a folder holds now, item by item. For one caller at a time.

    When the folder holds another bundle, a second thread makes a predictor for it. Between two items, in the loop's
    spare time, this rehearses and takes over: `on_slack` must be called there, as `Monitor` does. If it cannot be made,
    the running one stays. If its first answers are late, or fail, too often, the one before takes over again; also if
    it is a release that has ended the process too often (see `on_trial`).

    Parameters
    ----------
    predictor : Predictor or SupervisedPredictor
        The first one.
    folder : str or path
        Where its bundle is: a folder that is replaced in one step, or a link to one. If files are copied over the old
        ones, call `look` at the end.
    make : callable
        Makes a predictor for the bundle that the folder holds now, with the deadline of the first one. Called in the
        second thread, with what the running one has learned: the new one takes what its units share.
    trial : int
        How many answers decide whether a new bundle stays; 0 for no trial.
    on_change : callable
        Called with the predictor that has taken over, between two items.
    on_sent_back : callable
        Called with the SHA-256 of a bundle that was sent back and of the one that answers instead, in the second
        thread: to put the folder back, too.
    clock : Clock
    pace : Pace, optional
        The pace of the second thread.

    Attributes
    ----------
    current : Predictor or SupervisedPredictor
        The predictor that answers.
    reloads : Reloads
    record : AnswerCounts
        Counts of the answers of `current`.
    """

    bundle: Bundle = _of_current("bundle")
    policy: Policy = _of_current("policy")
    trace: Trace = _of_current("trace")
    slowdown: float = _of_current("slowdown")
    margin: Margin = _of_current("margin")
    n_oversized: int = _of_current("n_oversized")
    failures: Mapping[str, int] = _of_current("failures")
    out: frozenset[str] = _of_current("out")

    def __init__(
        self,
        predictor: Single,
        folder: str | os.PathLike[str],
        make: Callable[[Learned | None], Single],
        *,
        trial: int = 1000,
        on_change: Callable[[Single], object] = lambda _: None,
        on_sent_back: Callable[[str, str], object] = lambda *_: None,
        clock: Clock = hardware_clock,
        pace: Pace | None = None,
    ) -> None:
        self.current = predictor
        self.deadline = predictor.deadline
        self.reloads, self.record = Reloads(), AnswerCounts()
        self._digest_file = Path(folder) / DIGEST_FILE
        self._make, self._trial_items = make, trial
        self.on_change, self._on_sent_back = on_change, on_sent_back
        self._clock = clock
        self._pace = pace or Pace()
        self._seen = self._identity() if self._holds(predictor) else None  # it may have changed since the first load
        self._due_ns = 0
        self._room_s = 3.0 * self.deadline + 0.002  # a rehearsal takes less than two answers
        self._ready: tuple[Single, OnTrial | None] | None = None
        self._waited = 0
        self._trial: Trial | None = None
        self._before: tuple[Single, AnswerCounts] | None = None
        self._root = root_of(folder)
        self._begun: dict[str, OnTrial] = {}  # the starts that are counted for this process, by release
        self._known = on_trial(self._root).get(predictor.bundle.sha256) if self._root and trial else None
        self._is_loading = self._goes_back = False
        self._lock = Lock()  # of `reloads`
        self._counts, self._restarts = Counter[str](), 0
        self._background = Background(self._pace)
        if not trial:
            self._proved(predictor.bundle.sha256)

    def resume_trial(self, before: Single | None, *, counted: bool = True) -> None:
        """Go on with the trial of the first predictor, if its release is on trial; call it before the first item.

        `before`: the one to go back to. Without one, the release proves itself, and is never sent back. `counted`:
        whether this start is counted on the disk.
        """
        if self._known is not None:
            if counted:
                self._begun[self.bundle.sha256] = self._known
            self._before = None if before is None else (before, AnswerCounts(*self._known.before))
            self._begin(self.current, self._before or (self.current, AnswerCounts()))

    def look(self) -> None:
        """Load the bundle that the folder holds now, unless it is the running one. May be called by signal handlers."""
        if not self._is_loading and self._ready is None:
            self._is_loading = True
            self._seen = self._identity()
            learned = self.learned  # in this thread, which goes on learning
            self._background.do(lambda: self._load(learned))

    def on_slack(self, seconds_left: float) -> None:
        """Use the time between two items: look at the folder, and let a new predictor take over."""
        self._pace.offer(seconds_left)
        if (now := self._clock()) >= self._due_ns:
            self._due_ns = now + LOOK_EVERY_NS
            if self._identity() not in (self._seen, None):
                self.look()
        if self._trial is not None:
            self._judge(self._trial)
        elif self._goes_back:  # the trial was over before that was known
            self._goes_back = False
            self.look()
        if self._ready is not None:
            self._waited += 1
            if seconds_left >= self._room_s or self._waited > PATIENCE:
                self._take_over(*self._ready)

    def predict_one(self, item: Any, *, arrived_ns: int | None = None, deadline: float | None = None) -> Prediction:
        """Return the answer for one item, as the current predictor does."""
        try:
            answer = self.current.predict_one(item, arrived_ns=arrived_ns, deadline=deadline)
        except Exception as e:
            if not isinstance(e, PolyDomError):  # as by a lack of memory: it counts as a crash
                self._begun.pop(self.bundle.sha256, None)
            raise
        self.record.add(answer)
        return answer

    def explain(self, item: Any) -> "Explanation":
        """As the current predictor; the answer counts as any other."""
        found = self.current.explain(item)
        self.record.add(found.answer)
        return found

    def warm_up(self, item: Any) -> object:
        """As the current predictor; a bundle to go back to is warmed up, too."""
        if self._before is not None:
            self._before[0].warm_up(item)
        return self.current.warm_up(item)

    def rehearse(self) -> None:
        """As the current predictor."""
        self.current.rehearse()

    def use_slack(self, seconds: float) -> None:
        """As `Predictor.use_slack`, where the current predictor learns."""
        if isinstance(self.current, Learning):
            self.current.use_slack(seconds)

    @property
    def learned(self) -> Learned | None:
        """As `Predictor.learned`; None where the current predictor does not learn."""
        return getattr(self.current, "learned", None)

    def learning(self) -> "LearningSummary":
        """As `Predictor.learning`, of the current predictor."""
        return self.current.learning()

    def save_learned(self, file: str | os.PathLike[str], *, period: float = 0.0, sync: bool = True) -> None:
        """As `Predictor.save_learned`, where the current predictor learns."""
        if (save := getattr(self.current, "save_learned", None)) is not None:
            save(file, period=period, sync=sync)

    def expect_slowdown(self, at_least: float) -> None:
        """As `Predictor.expect_slowdown`, where the current predictor can."""
        if (expect := getattr(self.current, "expect_slowdown", None)) is not None:
            expect(at_least)

    def close(self) -> None:
        """Close all predictors that can be closed, and end the second thread; one that hangs ends with the process.

        This process came to a good end, so that its start does not count: the trial goes on in the next one.
        """
        self._background.close(CLOSE_S)
        while self._begun and self._root is not None:
            digest, begun = self._begun.popitem()
            goes_on = self._trial is not None and digest == self.bundle.sha256
            take_back(self._root, digest, begun, astuple(self.record) if goes_on else begun.answers)
        for predictor in (self.current, self._ready and self._ready[0], self._before and self._before[0]):
            _close(predictor)

    def supervised(self) -> tuple[Counter[str], int]:
        """Return `counts` and `restarts` of all supervised predictors so far, as of a `SupervisedPredictor`."""
        here = [p for p in (self.current, self._before and self._before[0]) if isinstance(p, SupervisedPredictor)]
        return sum((p.counts for p in here), self._counts), self._restarts + sum(p.restarts for p in here)

    def _identity(self) -> tuple[int, ...] | None:
        """Return numbers that change with the bundle in the folder; None if there is none now."""
        with suppress(OSError):
            index, models = os.stat(self._digest_file), os.stat(self._digest_file.with_name(MODEL_FOLDER))
            return index.st_dev, index.st_ino, index.st_mtime_ns, models.st_ino, models.st_mtime_ns
        return None

    def _take_over(self, new: Single, known: OnTrial | None) -> None:
        self._ready, self._waited = None, 0
        old, record = self.current, self.record
        with suppress(Exception):  # a rehearsal only
            new.keep_items_of(old)
            new.rehearse()
        self.current, self._known = new, known
        self._count("taken")
        # One that is taken over during a trial has the bundle before the trial to go back to.
        before, done = (self._before, old) if self._before is not None else ((old, record), None)
        if self._trial_items:
            self._before = before if known is None else (before[0], AnswerCounts(*known.before))
            self._begin(new, self._before)
        else:
            done, self.record = old, AnswerCounts()
            self._proved(new.bundle.sha256)
        if done is not None:
            self._background.do(lambda: self._retire(done))
        self.on_change(new)

    def _begin(self, new: Single, before: tuple[Single, AnswerCounts]) -> None:
        """Begin the trial of a predictor, or go on with that of an earlier process."""
        self.record = AnswerCounts(*self._known.answers) if self._known is not None else AnswerCounts()
        items = max(self._trial_items, self.record.items)  # several nodes may have answered more
        self._trial = Trial(new, before, items, self.record)

    def _judge(self, trial: Trial) -> None:
        """End a trial: keep the new predictor, or let the one before take over again."""
        back, new = self._before, self.current
        failure = trial.failure if back is not None else ""
        goes_back = back is not None and (failure != "" or self._goes_back)
        if not (goes_back or trial.is_over):
            return
        self._before = self._trial = None
        self._goes_back = False
        done = back[0] if back is not None else None
        if goes_back and back is not None:
            done, (self.current, self.record) = new, back
            self.on_change(self.current)
        else:
            self._proved(new.bundle.sha256)
        if failure:
            self._failed("sent_back", f"{new.bundle.sha256[:12]}: {failure}. The bundle before answers again")
            self._background.do(partial(self._on_sent_back, new.bundle.sha256, self.current.bundle.sha256))
        if done is not None:
            self._background.do(lambda: self._retire(done))

    def _proved(self, digest: str) -> None:
        """Let a release stay."""
        if (root := self._root) is not None:
            self._background.do(lambda: note(root, digest, None))

    def _failed(self, what: str, error: str) -> None:
        self._count(what, error)
        report(f"a new bundle was {what.replace('_', ' ')}. {error}")

    def _count(self, what: str, error: str | None = None) -> None:
        with self._lock:
            count, last = getattr(self.reloads, what) + 1, self.reloads.error if error is None else error
            self.reloads = self.reloads._replace(error=last, **{what: count})

    def _load(self, learned: Learned | None) -> None:
        try:
            before, new = self._before, None
            if before is not None and self._holds(before[0]):  # somebody rolled back during the trial
                self._goes_back = True
            elif not self._holds(self.current):
                known, new = self._made(learned)
            if new is not None and new.bundle.sha256 == self.current.bundle.sha256:
                _close(new)
                new = None
            self._ready = None if new is None else (new, known)
        except Exception as e:
            self._failed("refused", str(e) if isinstance(e, PolyDomError) else raised(e))
        finally:
            self._is_loading = False

    def _made(self, learned: Learned | None) -> tuple[OnTrial | None, Single]:
        """Make the next predictor. If it is of a release on trial, its start is counted before it can end the process.

        One that is refused has ended nothing.
        """
        if self._root is None or not self._trial_items:
            return None, self._make(learned)
        try:
            digest, known = begin(self._root, astuple(self._before[1] if self._before is not None else self.record))
        except UpdateError as e:
            report(f"{NOT_KEPT}. {e}")
            known = None
        if known is None:
            return None, self._make(learned)
        if known.failure:
            self._on_sent_back(digest, self.current.bundle.sha256)
            raise UpdateError(f"{digest[:12]}: {known.failure}. Install another bundle, or correct the cause.")
        self._begun[digest] = known
        try:
            new = self._make(learned)
            if digest != new.bundle.sha256:
                _close(new)
                raise UpdateError(f"{digest} was replaced meanwhile. It is looked at again.")
        except Exception:
            if self._begun.pop(digest, None) is not None:  # it is not closed meanwhile
                take_back(self._root, digest, known, known.answers)
            raise
        return known, new

    def _holds(self, predictor: Single) -> bool:
        with suppress(BundleFormatError):
            return read_bounded(self._digest_file, 4096)[:64] == predictor.bundle.sha256.encode()
        return False

    def _retire(self, predictor: Single) -> None:
        """Close a predictor that answers no more, when that delays no item."""
        self._pace.before_opening(sum(model.size_bytes for model in predictor.bundle.models))
        if isinstance(predictor, SupervisedPredictor):
            self._counts.update(predictor.counts)
            self._restarts += predictor.restarts
        _close(predictor)


def _close(predictor: Single | None) -> None:
    if isinstance(predictor, SupervisedPredictor):
        predictor.close()


if TYPE_CHECKING:
    _: type[AnyPredictor] = FollowingPredictor
