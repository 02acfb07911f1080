"""Answering one item after another inside a deadline."""

import math
import os
import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .bundle import Bundle, Label
from .clock import Clock, hardware_clock
from .costs import format_seconds
from .exceptions import BundleMismatchError, DeadlineError
from .features import FeatureSpace
from .greedy import Walk
from .index import Staircase
from .index_file import load_bundle
from .pauses import keep_freed_memory
from .plans import Answer, Plan, PlanLoader, prior_answer
from .stages import seems_finite


class Prediction(NamedTuple):
    """An answer.

    Attributes
    ----------
    label : int, str or bool; float from a regressor
    features : tuple of str
        The feature set of the model that answered, in order of computation; empty for the class prior.
    accuracy : float
        Its expected score.
    elapsed_ns : int
        From the call to the answer.
    deadline_met : bool
    reason : str
        ``planned``, or why a smaller set answered: ``no time for NAME``, ``NAME failed``, ``no time for the model``,
        ``the model failed``, ``size failed``; ``planned, larger than measured`` for an item beyond the measured range.
    """

    label: Label | float
    features: tuple[str, ...]
    accuracy: float
    elapsed_ns: int
    deadline_met: bool
    reason: str


class Predictor:
    """Answers every item inside the deadline with the most accurate model that fits. For one thread at a time.

    Parameters
    ----------
    bundle : Bundle
    space : FeatureSpace
        The one that the bundle was built with.
    deadline : float, optional
        Seconds; the (largest) deadline that the bundle was built for if not given. Outside of the range that it was
        built for there is a warning, since the best models may be missing.
    clock : Clock
        The timer.
    keep_memory : bool
        Whether memory that features free stays in this process, as it did when their costs were measured; see
        `polydom_runtime.pauses`.

    Attributes
    ----------
    bundle : Bundle
    staircase : Staircase or Walk
        The plan: which feature set for which size; of a greedy bundle the sequence that is walked.
    n_oversized : int
        Items answered that were larger than any measured one, on extrapolated costs.

    Raises
    ------
    BundleMismatchError
        If the bundle was built for another space.
    DeadlineError
        If the deadline is not positive, or shorter than dispatch alone takes.
    """

    def __init__(
        self,
        bundle: Bundle,
        space: FeatureSpace,
        *,
        deadline: float | None = None,
        clock: Clock = hardware_clock,
        keep_memory: bool = True,
    ) -> None:
        if not isinstance(space, FeatureSpace):
            raise BundleMismatchError(
                f"The space must be a FeatureSpace. Got {space!r}. Import the module that has it."
            )
        space = bundle.space_of(space)
        if keep_memory:
            keep_freed_memory()
        self.bundle = bundle
        self.n_oversized = 0
        self._clock = clock
        self._labels: Mapping[float, float] | Sequence[Label] = bundle.classes or _AsIs()
        self._size = space.size
        self._no_steps = [None] * len(space.steps)
        seconds = _checked_deadline(bundle, deadline)
        self.staircase: Staircase | Walk = bundle.index.at_deadline(seconds)
        self._budget_ns = int(seconds * 1e9)
        self._largest = bundle.sizes[1]
        self._prior = prior_answer(bundle)
        self._plans = PlanLoader(bundle, space, self.staircase, self._prior).load()
        self._ends = [end for end, _ in self.staircase.steps[:-1]]

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        space: FeatureSpace,
        *,
        deadline: float | None = None,
        clock: Clock = hardware_clock,
        keep_memory: bool = True,
    ) -> "Predictor":
        """Read and check the bundle in `folder`, and load the models that the deadline can reach."""
        return cls(load_bundle(Path(folder)), space, deadline=deadline, clock=clock, keep_memory=keep_memory)

    @property
    def deadline(self) -> float:
        """The deadline in seconds."""
        return self.staircase.deadline

    def warm_up(self, item: Any) -> None:
        """Compute every plan on one item, whatever it takes, so that the first answer does not pay for cold code."""
        for plan in self._plans:
            shared = self._no_steps.copy()
            with suppress(Exception):  # predict_one will say what fails
                for compute, _, after, _ in plan:
                    compute(item, shared)
                    after.run()

    def predict_one(self, item: Any) -> Prediction:
        """Return the answer for one item; never raises on account of the item, a feature or a model."""
        clock = self._clock
        start = clock()
        deadline = start + self._budget_ns
        answer = self._prior
        try:
            n = self._size(item)
            plan = self._plans[bisect_left(self._ends, n)] if n > 0 else _bad_size(n)
            reason = "planned"
            if oversized := n > self._largest:
                self.n_oversized += 1
                reason = "planned, larger than measured"
        except Exception:
            plan, reason = (), "size failed"
        if plan:
            shared = self._no_steps.copy()
            for compute, ample_ns, after, guarded in plan:
                now = clock()
                short = now + ample_ns > deadline or oversized
                if short and not guarded.fits(n, now - start, deadline - now):
                    reason = guarded.no_time
                    break
                try:
                    compute(item, shared)
                except Exception:
                    reason = guarded.failed
                    break
                answer = after
            if not seems_finite(answer.values, answer.ones):
                answer, reason = self._without_failure(plan, answer, reason)
        if deadline - answer.model_ns < clock() <= deadline:
            # A feature took longer than its worst case: only the constant answer is still in time.
            answer, reason = self._prior, "no time for the model"
        try:
            number = answer.run()
        except Exception:
            answer, reason = self._prior, "the model failed"
            number = answer.run()
        elapsed = clock() - start
        return Prediction(
            self._labels[number],  # type: ignore[index]  # a class number is an int
            answer.features,
            answer.accuracy,
            elapsed,
            elapsed <= self._budget_ns,
            reason,
        )

    def _without_failure(self, plan: Plan, answer: Answer, reason: str) -> tuple[Answer, str]:
        """Return what can be said without the first feature that is not finite; the same if all are."""
        before = self._prior
        for _, _, after, guarded in plan:
            if before is answer:
                break
            if not guarded.stage.is_finite():
                return before, guarded.failed
            before = after
        return answer, reason


class _AsIs(dict[float, float]):
    """Stands for the classes of a regressor: its number is the answer."""

    def __missing__(self, number: float) -> float:
        return number


def _bad_size(n: object) -> Plan:
    raise ValueError(f"The size of an item must be a positive number. Got {n}.")


def _checked_deadline(bundle: Bundle, deadline: float | None) -> float:
    low, high = bundle.budgets
    if deadline is None and high == math.inf:
        raise DeadlineError("A deadline must be given: the bundle was built for any budget. Got none.")
    try:
        seconds = float(high if deadline is None else deadline)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise DeadlineError(f"The deadline must be a positive number of seconds. Got {deadline!r}.")
    shortest = bundle.dispatch(bundle.sizes[0])
    if seconds < shortest:
        raise DeadlineError(
            f"The deadline must be at least {format_seconds(shortest)}, what dispatch alone may take here. "
            f"Got {format_seconds(seconds)}."
        )
    if not low <= seconds <= high:
        warnings.warn(
            f"The bundle was built for deadlines from {format_seconds(low)} to {format_seconds(high)}; for "
            f"{format_seconds(seconds)} it may lack the best models. Build it for a range that holds all deadlines.",
            stacklevel=4,
        )
    return seconds
