"""Answering one item after another inside a deadline."""

import math
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bundles.bundle import Bundle, Label
from .bundles.greedy import Walk
from .bundles.index import Staircase
from .bundles.index_file import load_bundle
from .clock import Clock, hardware_clock
from .exceptions import BundleMismatchError, DeadlineError, FeatureError
from .features import FeatureSpace, members
from .pauses import keep_freed_memory
from .policy.anytime import AnytimePlanner
from .policy.deadline import checked_deadline
from .policy.energy import EnergyBudget
from .policy.failures import FailureBook
from .policy.loaded_models import LoadedModel, LoadedModels, Run
from .policy.planners import Planner, StrictPlanner
from .policy.slowdown import Slowdown
from .policy.states import Move, State, reachable
from .policy.trace import Trace
from .prediction import Policy, Prediction, labels_of


class Predictor:
    """Answers every item inside the deadline as well as time allows. For one thread at a time.

    Parameters
    ----------
    bundle : Bundle
    space : FeatureSpace
        The one that the bundle was built with.
    deadline : float, optional
        Seconds; the (largest) deadline that the bundle was built for if not given. Outside of the range that it was
        built for there is a warning, since the best models may be missing.
    policy : {"anytime", "strict"}
        Whether the plan is made anew after each feature with the time that is really left, or once by worst cases.
        Greedy bundles, and costs that are not sums, are always strict.
    early_stop : bool
        Whether an answer stands, whatever time is left, as soon as its model is sure enough: saves energy for a little
        score, which the bundle states. For bundles built so.
    energy : EnergyBudget, optional
        What an item may draw besides.
    adapt : bool
        Whether a slow-down of the machine is estimated and taken into account.
    clock : Clock
        The timer.
    keep_memory : bool
        Whether memory that features free stays in this process, as it did when their costs were measured; see
        `polydom_runtime.pauses`.
    values : float32 array of shape (sum of widths,), optional
        Where the features of the current item are put, each at its place: memory that another process can read.
    progress : int64 array of shape (1,), optional
        Kept at the mask of the features that are computed of the current item.
    run_of : callable, optional
        Returns what runs a model, by its number: for replays.

    Attributes
    ----------
    bundle : Bundle
    deadline : float
        In seconds.
    policy : {"anytime", "strict"}
    staircase : Staircase or Walk
        Which feature set is planned for which size by worst cases; of a greedy bundle the sequence that is walked.
    answers : LoadedModels
    trace : Trace
        What was done for the last item, and when.
    n_oversized : int
        Items answered that were larger than any measured one, on extrapolated costs.

    Raises
    ------
    BundleMismatchError
        If the bundle was built for another space.
    DeadlineError
        If the deadline is not positive, or shorter than dispatch alone takes; or there is no such policy.
    """

    def __init__(
        self,
        bundle: Bundle,
        space: FeatureSpace,
        *,
        deadline: float | None = None,
        policy: Policy = "anytime",
        early_stop: bool = False,
        energy: EnergyBudget | None = None,
        adapt: bool = True,
        clock: Clock = hardware_clock,
        keep_memory: bool = True,
        values: NDArray[np.float32] | None = None,
        progress: NDArray[np.int64] | None = None,
        run_of: Callable[[int], Run] | None = None,
    ) -> None:
        if not isinstance(space, FeatureSpace):
            raise BundleMismatchError(
                f"The space must be a FeatureSpace. Got {space!r}. Import the module that has it."
            )
        if policy not in ("anytime", "strict"):
            raise DeadlineError(f"The policy must be 'anytime' or 'strict'. Got {policy!r}.")
        space = bundle.space_of(space)
        if keep_memory:
            keep_freed_memory()
        seconds = checked_deadline(bundle, deadline)
        self.bundle = bundle
        limit = seconds if energy is None else min(seconds, energy.seconds)
        self.staircase: Staircase | Walk = bundle.index.at_deadline(limit)
        self.policy: Policy = "strict" if bundle.is_greedy or not bundle.adds_up else policy
        if early_stop and not bundle.stops_early:
            raise BundleMismatchError(
                "To stop early a bundle must be built with early_stop. This one was built without."
            )
        self._early_stop = early_stop
        self.answers = LoadedModels(bundle, values, run_of, early_stop)
        self.trace = Trace()
        self.n_oversized = 0
        self._clock = clock
        self._labels: Mapping[int | float, Label | float] = labels_of(bundle.space)
        self._size = space.size
        self._no_steps = [None] * len(space.steps)
        self.deadline = seconds
        self._deadline_ns, self._budget_ns = int(seconds * 1e9), int(limit * 1e9)
        self._largest = bundle.promise.sizes[1]
        self._closing_ns = int(0.5e9 * bundle.times.guarded.dispatch(bundle.promise.sizes[0]))
        self._progress = progress
        self._slowdown = Slowdown() if adapt else None
        self._failures = FailureBook(len(space))
        self._items = 0
        planner = AnytimePlanner if self.policy == "anytime" else StrictPlanner
        laid_out: Planner = planner(bundle, space, self.answers, self.staircase, energy)
        self._root, self._cells, self._nothing = laid_out.root(), laid_out.cells, laid_out.new_state(0)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], space: FeatureSpace, **options: Any) -> "Predictor":
        """Read and check the bundle in `folder`, and load the models that the deadline can reach; options as above."""
        return cls(load_bundle(Path(folder)), space, **options)

    @property
    def slowdown(self) -> float:
        """The estimate after the last item."""
        return self._slowdown.value if self._slowdown else 1.0

    @property
    def failures(self) -> dict[str, int]:
        """Failures in a row by feature, where there are any."""
        return {name: k for name, k in zip(self.bundle.names, self._failures.streaks, strict=True) if k}

    @property
    def out(self) -> frozenset[str]:
        """The features that are out of the choice because they kept failing."""
        return frozenset(self.bundle.names[i] for i in members(self._failures.out))

    def expect_slowdown(self, at_least: float) -> None:
        """Take the machine to be at least so many times slower than measured, until told otherwise."""
        if self._slowdown:
            self._slowdown.expect(at_least)

    def report_failure(self, name: str) -> None:
        """Count a failure of a feature that this process could not see, such as one that took a worker down.

        Raises
        ------
        FeatureError
            If the bundle has no such feature.
        """
        if name not in self.bundle.names:
            raise FeatureError(f"A feature must be one of {', '.join(self.bundle.names)}. Got {name!r}.")
        self._failures.failed(self.bundle.names.index(name), self._items)

    def warm_up(self, item: Any) -> None:
        """Compute every feature and run every model on one item: the first answer must not pay for cold code."""
        states, shared = reachable(self._root), self._no_steps.copy()
        for move in {move.feature: move for state in states for move in state.ways}.values():
            with suppress(Exception):  # predict_one will say what fails
                move.run(item, shared)
        for answer in {id(state.answer): state.answer for state in states}.values():
            with suppress(Exception):
                answer.run()
        self.predict_one(item)
        self._slowdown = Slowdown() if self._slowdown else None
        self._failures = FailureBook(len(self.bundle.names))
        self.n_oversized = 0

    def predict_one(self, item: Any) -> Prediction:
        """Return the answer for one item; never raises on account of the item, a feature or a model."""
        clock = self._clock
        start = clock()
        deadline = start + self._budget_ns
        slowdown = 1.0 if self._slowdown is None else self._slowdown.value
        self._items += 1
        latest = deadline - self._closing_ns
        state, planned, last, reason = self._root, None, None, ""
        early_stop, asked, said, asked_ns = self._early_stop, None, None, 0
        features: list[int] = []
        marks, begun = [start], start
        if (progress := self._progress) is not None:
            progress[0] = 0
        try:
            n = float(self._size(item))
            cell = bisect_left(self._cells, n) if n > 0 else _bad_size(n)
        except Exception:
            n, cell, state, reason = math.nan, 0, self._nothing, "size failed"
        banned = self._failures.banned(self._items) if self._failures.out else 0
        shared = self._no_steps.copy()
        while True:
            now = clock()
            marks.append(now)
            left = (deadline - now) / slowdown
            used = now - begun
            if used > (worst := state.worst_ns[cell]):
                left *= worst / used  # what was slower than its worst case so far will be slower still
            if banned:
                move = state.detour(banned, n, cell, left)
            else:
                ends, moves = state.rows[cell]
                move = moves[bisect_right(ends, left)]
            if move is None:
                break
            if planned is None:
                planned = move
            last = move
            run, after, feature, _, _ = move  # quicker than by name
            features.append(feature)
            try:
                run(item, shared)
            except Exception:
                reason = self._failed(feature)
                banned |= 1 << feature
                begun += clock() - now  # a failure does not say how slow the machine is
                continue
            state = after
            if progress is not None:
                progress[0] = state.mask
            if early_stop and state.answer.stop <= 1.0:
                asked, said, asked_ns = self._ask(state.answer, latest, slowdown)
                if said is not None and asked.confidence() >= asked.stop:
                    reason, asked_ns = "confident", 0
                    marks.append(now := clock())
                    break
                begun += asked_ns  # the plan knows nothing of it
        answer = state.answer
        if answer is asked and said is not None:  # it was run already
            begun -= asked_ns
        elif (left_ns := (latest - now) / slowdown) < answer.model_ns and now <= deadline:
            # A feature failed, or took longer than its worst case: a quicker model may still be in time.
            answer, said, reason = self.answers.best_loaded(state.mask, left_ns), None, "no time for the model"
        else:
            said = None
        try:
            number = answer.run() if said is None else said
            label = self._labels[number]
        except FloatingPointError:
            answer, label, reason = self._without_failures(state.mask, (latest - now) / slowdown)
        except Exception:
            answer, label, reason = self.answers.prior, self._labels[self.answers.prior.run()], "the model failed"
        end = clock()
        marks.append(end)
        elapsed = end - start
        if not reason:
            reason = self._reason(state, answer, planned, last, cell)
            if n > self._largest:
                self.n_oversized += 1
                reason = "planned, larger than measured" if reason == "planned" else reason
        trace = self.trace
        trace.size, trace.features, trace.marks = n, features, marks
        if self._slowdown is not None:
            self._slowdown.add((end - begun) / state.typical_ns[cell] if state.mask else 1.0)
        if self._failures.any or elapsed > self._deadline_ns:
            self._judge(state.mask, cell)
        return Prediction(
            label,
            answer.features,
            answer.accuracy,
            elapsed,
            elapsed <= self._deadline_ns,
            reason,
            slowdown,
        )

    def _ask(self, answer: LoadedModel, latest: int, slowdown: float) -> tuple[LoadedModel, int | float | None, int]:
        """Return what a model says, if there is time to ask it and it runs, and how long that took."""
        began, said = self._clock(), None
        if (latest - began) / slowdown >= answer.model_ns:
            with suppress(Exception):  # the end will tell what is wrong
                said = answer.run()
        return answer, said, self._clock() - began

    def _reason(self, state: State, answer: LoadedModel, planned: Move | None, last: Move | None, cell: int) -> str:
        """Return how the answer relates to the plan that was made at the start."""
        if planned is None or last is None:
            ends, moves = state.rows[cell]
            first = moves[bisect_right(ends, self._budget_ns)]
            if first is None:
                return "planned"
            name = self.bundle.names[first.feature]
            return f"{name} failed" if name in self.out else f"no time for {name}"
        if self.policy == "anytime" and answer.accuracy >= planned.accuracy:
            return "planned" if answer.accuracy == planned.accuracy else "extended"
        if state.mask & planned.target == planned.target:
            return "planned"
        given_up = last.target if last.target & ~state.mask else planned.target
        return f"no time for {self.bundle.names[state.next_of(given_up, cell)]}"

    def _failed(self, feature: int) -> str:
        self._failures.failed(feature, self._items)
        return f"{self.bundle.names[feature]} failed"

    def _without_failures(self, mask: int, left_ns: float) -> tuple[LoadedModel, Label | float, str]:
        """Answer without the features that are not finite; the prior if no model can."""
        broken = [i for i in members(mask) if not np.isfinite(self.answers.values[self.answers.places[i]]).all()]
        reason = "the model failed"
        for feature in broken:
            reason = self._failed(feature)
            mask ^= 1 << feature
        answer = self.answers.best_loaded(mask, left_ns)
        try:
            return answer, self._labels[answer.run()], reason
        except Exception:
            return self.answers.prior, self._labels[self.answers.prior.run()], "the model failed"

    def _judge(self, mask: int, cell: int) -> None:
        """Forget failures of features that worked; count it as one if a feature alone took up the deadline."""
        trace, failed = self.trace, self._failures
        times = {f: b - a for f, a, b in zip(trace.features, trace.marks[1:], trace.marks[2:], strict=False)}
        finite = [i for i in members(mask) if np.isfinite(self.answers.values[self.answers.places[i]]).all()]
        for feature in finite:  # the others were counted where they failed
            if times[feature] > self._deadline_ns:
                failed.failed(feature, self._items)
            else:
                failed.worked(1 << feature)


def _bad_size(n: object) -> int:
    raise ValueError(f"The size of an item must be a positive number. Got {n}.")
