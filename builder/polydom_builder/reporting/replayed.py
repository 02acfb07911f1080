"""Replays of a bundle at several deadlines: the score of each policy with intervals, and late answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polydom_builder.displays.display import best_single
from polydom_builder.drawing.score_names import ANY_TIME, ORACLE, SINGLE, STRICT
from polydom_builder.simulation.expected import expected, outlook_of
from polydom_builder.simulation.policies import oracle_score, real_seconds
from polydom_builder.simulation.recorded import Recorded
from polydom_builder.simulation.simulate import Simulated, late_score
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Outlook
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.prediction import Policy, policy_for

NAMES: dict[Policy, str] = {"anytime": ANY_TIME, "strict": STRICT}


@dataclass(frozen=True, slots=True)
class Replayed:
    """The results of each way to choose a set at one deadline, on the machine as it was measured."""

    deadline: float
    """Seconds."""
    scores: dict[str, float]
    """The score of each way, by its name; that of the oracle is without pauses."""
    outlooks: dict[str, Outlook]
    """The answers of each policy, by its name; a node follows the first one."""
    interval: tuple[float, float] | None = None
    """The interval of the first policy's score on new items; None if it is not known."""

    @property
    def policy(self) -> str:
        """The policy that a node follows."""
        return next(iter(self.outlooks))

    @property
    def outlook(self) -> Outlook:
        """The answers of this policy."""
        return self.outlooks[self.policy]


def stated(bundle: Bundle) -> list[Replayed]:
    """Return the results that the bundle states, hot, beside the best single set by worst cases."""
    name = NAMES[policy_for(bundle, "anytime")]
    found = []
    for outlook in bundle.times.outlook:
        single, _ = _single(bundle.at(outlook.deadline), outlook.deadline)
        found.append(Replayed(outlook.deadline, {name: outlook.score, SINGLE: single}, {name: outlook}))
    return found


def replayed(bundle: Bundle, recorded: Recorded, deadlines: Sequence[float]) -> list[Replayed]:
    """Replay recorded answers at the deadlines that are long enough, by both policies if the bundle allows both."""
    policies = dict.fromkeys((policy_for(bundle, "anytime"), policy_for(bundle, "strict")))
    intervals, found = _intervals(bundle), []
    for deadline in deadlines:
        there = bundle.at(deadline)
        if too_short(there, deadline):
            continue
        outcomes = {NAMES[policy]: expected(bundle, recorded, deadline, policy=policy) for policy in policies}
        outlooks = {name: outlook_of(outcome, deadline, recorded) for name, outcome in outcomes.items()}
        scores = {name: outlook.score for name, outlook in outlooks.items()}
        scores[SINGLE] = _single_in(recorded, there, deadline)
        scores[ORACLE] = oracle_score(there, recorded.trials, deadline)
        first = next(iter(outcomes.values()))
        found.append(Replayed(deadline, scores, outlooks, _interval(first, recorded, deadline, intervals)))
    return found


def _single(bundle: Bundle, deadline: float) -> tuple[float, int]:
    """Return the score and the number of the best model whose worst case fits the largest item; -1 for the prior."""
    candidates = [bundle.empty, *map(bundle.candidate, range(len(bundle.models)))]
    best = best_single(candidates, bundle.promise.sizes[1], deadline)
    return (best.accuracy, candidates.index(best) - 1) if best.mask else (bundle.prior.accuracy, -1)


def _single_in(recorded: Recorded, bundle: Bundle, deadline: float) -> float:
    """Return the score of the best single model in recorded answers; late answers count as in any score."""
    score, number = _single(bundle, deadline)
    if number < 0:
        return score
    seconds, late = real_seconds(bundle, recorded.trials)[number], late_score(bundle)
    in_time = recorded.in_time(seconds <= deadline, seconds, deadline)
    return late + (score - late) * float(in_time.mean())


def _intervals(bundle: Bundle) -> dict[Any, tuple[float, float]]:
    """Return the interval of each model by what an answer says of it; empty if one is not known."""
    if any(model.estimate is None for model in bundle.models):
        return {}
    prior = bundle.prior.accuracy
    own = {
        (frozenset(bundle.names[i] for i in model.order), model.accuracy): (model.estimate.low, model.estimate.high)
        for model in bundle.models
        if model.estimate
    }
    return own | {(frozenset(), prior): (prior, prior)}


def _interval(
    outcome: Simulated, recorded: Recorded, deadline: float, known: dict[Any, tuple[float, float]]
) -> tuple[float, float] | None:
    """Return the mean ends of the intervals of the models that answered: they were tested on the same items."""
    keys = [(frozenset(answer.features), answer.accuracy) for answer in outcome.answers]
    if not all(key in known for key in keys):
        return None
    in_time = recorded.in_time(outcome.met, outcome.seconds, deadline)
    beyond = np.array([known[key] for key in keys]) - outcome.late_score
    low, high = (outcome.late_score + (beyond * in_time[:, None]).mean(axis=0)).tolist()
    return low, high
