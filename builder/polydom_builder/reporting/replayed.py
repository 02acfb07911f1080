"""Replays of a bundle at several deadlines: the score of each policy with intervals, and late answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polydom_builder.displays.display import best_single
from polydom_builder.drawing.score_names import ANY_TIME, ORACLE, SINGLE, STRICT
from polydom_builder.simulation.policies import oracle_score, real_seconds
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.prediction import Policy, Prediction, policy_for

NAMES: dict[Policy, str] = {"anytime": ANY_TIME, "strict": STRICT}


@dataclass(frozen=True, slots=True)
class Replayed:
    """The results of each way to choose a set at one deadline; late answers count as 0 in scores."""

    deadline: float
    """Seconds."""
    scores: dict[str, float]
    """The score of each way, by its name."""
    outcomes: dict[str, Simulated]
    """The answers of each policy, by its name; a node follows the first one."""
    interval: tuple[float, float] | None
    """The interval of the first policy's score on new items; None if the bundle states no intervals."""

    @property
    def policy(self) -> str:
        """The policy that a node follows."""
        return next(iter(self.outcomes))

    @property
    def outcome(self) -> Simulated:
        """The answers of this policy."""
        return self.outcomes[self.policy]


def replayed(bundle: Bundle, trials: Trials, deadlines: Sequence[float]) -> list[Replayed]:
    """Replay trials at the deadlines that are long enough, by both policies if the bundle allows both."""
    policies = dict.fromkeys((policy_for(bundle, "anytime"), policy_for(bundle, "strict")))
    intervals = _intervals(bundle)
    # Others than promised are shown as well, without a warning for each.
    bundle, found = replace(bundle, promise=bundle.promise._replace(budgets=(min(deadlines), max(deadlines)))), []
    for deadline in deadlines:
        there = bundle.at(deadline)
        if too_short(there, deadline):
            continue
        outcomes = {NAMES[policy]: simulate(bundle, trials, deadline, policy=policy) for policy in policies}
        scores = {name: outcome.score for name, outcome in outcomes.items()}
        scores |= {SINGLE: _single(there, trials, deadline), ORACLE: oracle_score(there, trials, deadline)}
        first = next(iter(outcomes.values()))
        found.append(Replayed(deadline, scores, outcomes, _interval(first.answers, intervals)))
    return found


def _single(bundle: Bundle, trials: Trials, deadline: float) -> float:
    """Return the score of the best model whose worst case fits the largest item; late answers count as 0."""
    candidates = [bundle.empty, *map(bundle.candidate, range(len(bundle.models)))]
    best = best_single(candidates, bundle.promise.sizes[1], deadline)
    if not best.mask:
        return bundle.prior.accuracy
    number = candidates.index(best) - 1
    return float(best.accuracy * (real_seconds(bundle, trials)[number] <= deadline).mean())


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


def _interval(answers: Sequence[Prediction], known: dict[Any, tuple[float, float]]) -> tuple[float, float] | None:
    """Return the mean ends of the intervals of the models that answered: they were tested on the same items."""
    keys = [(frozenset(answer.features), answer.accuracy) for answer in answers]
    if not all(key in known for key in keys):
        return None
    in_time = np.array([[answer.deadline_met] for answer in answers])
    low, high = (np.array([known[key] for key in keys]) * in_time).mean(axis=0).tolist()
    return low, high
