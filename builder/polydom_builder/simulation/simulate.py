"""Simulation: recorded items are answered on a virtual clock by the code that answers on the node."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.features import Feature, FeatureSpace, Step
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, WAKING
from polydom_runtime.prediction import Policy, Prediction
from polydom_runtime.predictor import Predictor, Seams
from polydom_runtime.testing import ManualClock

from .trials import Trials

SLACK = 0.01

Predicted = Mapping[tuple[int, ...], NDArray[Any]]
"""The answers of models on all trials, by the order of their features: class numbers, or numbers of a regression."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The answers of a simulation."""

    answers: list[Prediction]
    """One for each trial, in order."""
    late_score: float
    """What a late answer counts; see `late_score`."""

    @property
    def score(self) -> float:
        """The mean expected score."""
        return float(np.mean([a.accuracy if a.deadline_met else self.late_score for a in self.answers]))

    @property
    def met(self) -> Bools:
        """Whether each answer was in time, shape ``(n_trials,)``."""
        return np.array([a.deadline_met for a in self.answers])

    @property
    def seconds(self) -> Floats:
        """The seconds that each answer took, shape ``(n_trials,)``."""
        return np.array([a.elapsed_ns for a in self.answers]) / 1e9

    @property
    def missed(self) -> int:
        """Number of late answers."""
        return sum(not a.deadline_met for a in self.answers)

    @property
    def labels(self) -> list[Any]:
        """The label of each answer."""
        return [a.label for a in self.answers]

    @property
    def reasons(self) -> dict[str, int]:
        """Number of answers for each reason, the most frequent first."""
        return dict(Counter(a.reason for a in self.answers).most_common())

    @property
    def features(self) -> dict[str, int]:
        """Number of answers for each feature set, the most frequent first."""
        return dict(Counter("+".join(a.features) for a in self.answers).most_common())


def simulate(
    bundle: Bundle,
    trials: Trials,
    deadline: float,
    *,
    policy: Policy = "anytime",
    adapt: bool = True,
    predicted: Predicted | None = None,
    regime: Regime = "hot",
    timed: Mapping[tuple[int, ...], Floats] | None = None,
) -> Simulated:
    """Answer all trials, in order, on a virtual clock.

    No feature is computed and no time is waited for: features and models only advance the clock by recorded times.
    `adapt`: whether the predictor learns, in the slack of `SLACK` seconds after each item. `predicted`: the answers of
    the models; without them every model gives the answer of the prior, or the first label if the prior is to abstain.
    `regime`: the regime of the trials; the node plans with its times. `timed`: the real seconds of the models on each
    trial, if they are known better than from the time of the reference model.
    """
    bundle = for_trials(bundle.at(deadline, regime), deadline)  # which has the times of no other regime
    world = World(bundle, trials, predicted or {}, timed or {})
    predictor = Predictor(
        bundle,
        world.space,
        deadline=deadline,
        policy=policy,
        seams=Seams(adapt=adapt, clock=world.clock, keep_memory=False, regime=regime, run_of=world.run_of),
    )
    answers = []
    for trial in range(len(trials)):
        answers.append(predictor.predict_one(trial))
        predictor.use_slack(SLACK)
        world.clock.advance(seconds=SLACK)
    return Simulated(answers, late_score(bundle))


def late_score(bundle: Bundle) -> float:
    """Return what a late answer counts: 0, or the score of the prior if that is less, as where errors are scored."""
    return min(0.0, bundle.prior.accuracy)


def for_trials(bundle: Bundle, deadline: float) -> Bundle:
    """Return a bundle whose items may be the numbers of trials, and which takes a deadline without a warning."""
    low, high = bundle.promise.budgets
    promise = bundle.promise._replace(budgets=(min(low, deadline), max(high, deadline)))
    return replace(bundle, space=bundle.space._replace(item_kind=None), promise=promise)


class World:
    """Features and models that take the recorded times of the current trial, on a virtual clock.

    An item of its `space` is the number of its trial. `rows`: the values of the features; zeros if not given.
    """

    def __init__(
        self,
        bundle: Bundle,
        trials: Trials,
        predicted: Predicted,
        timed: Mapping[tuple[int, ...], Floats],
        rows: NDArray[np.float32] | None = None,
    ) -> None:
        self.clock = ManualClock()
        n_values = sum(bundle.space.widths)
        self._rows = np.zeros((len(trials), n_values), dtype=np.float32) if rows is None else rows
        places = np.cumsum((0, *bundle.space.widths)).tolist()
        self._bundle, self._trials, self._predicted, self._timed = bundle, trials, predicted, timed
        self._now = 0
        self._sizes: list[float] = trials.sizes.tolist()
        self._before, self._waking, self._after = (_nanoseconds(trials.of(unit)) for unit in (BEFORE, WAKING, AFTER))
        self._asleep_ns = 0  # what the next unit takes longer
        self._is_open = False  # whether an answer has begun, at the end of which more time passes
        steps = {s.name: Step(s.name, self._unit(s.name)) for s in bundle.times.worst.steps}
        users = [(s.users, steps[s.name]) for s in bundle.times.worst.steps]

        def step_of(i: int) -> Step | None:
            return next((step for mask, step in users if mask >> i & 1), None)

        self.space = FeatureSpace(
            [
                Feature(name, self._unit(name, slice(a, b)), b - a, step_of(i))
                for i, (name, (a, b)) in enumerate(zip(bundle.names, pairwise(places), strict=True))
            ],
            self._size,
        )

    def run_of(self, number: int) -> Callable[[], int | float]:
        """Return a function that stands for a model: it takes the time of a run, and returns the known answer."""
        entry, relative = self._bundle.models[number], self._bundle.times.reference_seconds
        ratio = self._trials.model_seconds / relative if relative else np.ones(len(self._trials))
        seconds = self._timed.get(entry.order, entry.seconds * ratio)
        times, after, clock = _nanoseconds(seconds), self._after, self.clock
        abstains = self._bundle.space.classes and self._bundle.prior.number == len(self._bundle.space.classes)
        prior = 0 if abstains else self._bundle.prior.number
        answers = self._predicted[entry.order].tolist() if entry.order in self._predicted else None

        def run() -> int | float:
            clock.now_ns += times[self._now] + (after[self._now] if self._is_open else 0)
            self._is_open = False
            answer: int | float = prior if answers is None else answers[self._now]
            return answer

        return run

    def _size(self, trial: int) -> float:
        self._now, self._asleep_ns, self._is_open = trial, self._waking[trial], True
        self.clock.now_ns += self._before[trial]
        return self._sizes[trial]

    def _unit(self, name: str, place: slice = slice(0)) -> Callable[[int], object]:
        times, clock, values = _nanoseconds(self._trials.of(name)), self.clock, self._rows[:, place]

        def compute(trial: Any) -> object:
            clock.now_ns += times[self._now] + self._asleep_ns
            self._asleep_ns = 0
            return values[self._now]

        return compute


def _nanoseconds(seconds: NDArray[np.float64]) -> list[int]:
    nanoseconds: list[int] = np.rint(seconds * 1e9).astype(np.int64).tolist()
    return nanoseconds
