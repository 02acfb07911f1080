"""Both policies side by side on recorded times, at any deadlines, and the oracle, which knows these in advance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.measuring.cost_samples import AROUND
from polydom_runtime.prediction import Policy

from .expected import outlook_of
from .recorded import Recorded
from .simulate import simulate
from .trials import Trials

POLICIES: tuple[Policy, ...] = ("anytime", "strict")


def spread_deadlines(
    budgets: tuple[float, float], sizes: tuple[float, float], candidates: Sequence[Candidate], count: int
) -> list[float]:
    """Return `count` deadlines in seconds within a range, without those that are too short for any answer.

    If dispatch leaves hardly any time even at the end of the range, the end is the only one. `candidates`: the
    candidates, with the empty set, which costs dispatch. At the largest size none costs more than the longest deadline
    needs.
    """
    low, end = budgets
    dispatch = next(candidate.cost for candidate in candidates if candidate.mask == 0)
    low = min(max(low, 1.2 * dispatch(sizes[0]), 1e-9), end)
    high = max(low, min(end, max(candidate.cost(sizes[1]) for candidate in candidates)))
    deadlines: list[float] = np.geomspace(low, high, count if low < high else 1).tolist()
    return deadlines


def compare_policies(
    bundle: Bundle,
    recorded: Recorded,
    deadlines: Sequence[float],
    policies: Sequence[Policy] = POLICIES,
    *,
    slowdown: float = 1.0,
    learns: bool = False,
    regime: Regime = "hot",
) -> list[dict[str, Any]]:
    """Return a row for each deadline and policy, simulated on the same answers, slowed by a factor.

    `learns`: whether the node learns from its answers; otherwise it keeps to the times of the bundle, and the rows of
    the policy that it follows are those of the bundle's table if the answers are those of the build.
    """
    recorded, rows = recorded.slowed(slowdown), []
    for deadline in deadlines:
        best = oracle_score(bundle.at(deadline, regime), recorded.trials, deadline)
        for policy in policies:
            outcome = simulate(bundle, recorded.trials, deadline, policy=policy, adapt=learns, regime=regime)
            shares = outcome.seconds / deadline
            rows.append(
                {
                    **outlook_of(outcome, deadline, recorded)._asdict(),
                    "policy": policy,
                    "oracle": best,
                    "elapsed_share": {"p50": float(np.median(shares)), "p99": float(np.quantile(shares, 0.99))},
                    "slowdown": max(a.slowdown for a in outcome.answers),
                    "sets": outcome.features,
                    "reasons": outcome.reasons,
                }
            )
    return rows


def real_seconds(bundle: Bundle, trials: Trials) -> Floats:
    """Return the real time of each model's whole answer on each trial, in seconds, shape ``(n_models, n_trials)``."""
    features = np.array([trials.of(name) for name in bundle.names])
    steps = np.array([trials.of(step.name) for step in bundle.times.worst.steps]).reshape(-1, len(trials))
    relative = (
        trials.model_seconds / bundle.times.reference_seconds
        if bundle.times.reference_seconds
        else np.ones(len(trials))
    )
    users = np.array([step.users for step in bundle.times.worst.steps], dtype=np.int64)
    masks = np.array([model.mask for model in bundle.models], dtype=np.int64)
    bits = np.int64(1) << np.arange(len(bundle.names), dtype=np.int64)
    worst = np.array([model.seconds for model in bundle.models])
    sums: Floats = ((masks[:, None] & bits) != 0) @ features + ((masks[:, None] & users) != 0) @ steps
    around: Floats = np.sum([trials.of(unit) for unit in AROUND], axis=0)
    return sums + worst[:, None] * relative + around


def oracle(bundle: Bundle, trials: Trials, deadline: float) -> NDArray[np.intp]:
    """Return for each trial the number of the best model whose real time fits the deadline; -1 for the prior."""
    scores = np.array([-np.inf, *(model.accuracy for model in bundle.models)])
    fits = np.vstack([np.ones(len(trials), dtype=bool), real_seconds(bundle, trials) <= deadline])
    scores[0] = bundle.prior[1]
    best: NDArray[np.intp] = np.where(fits, scores[:, None], -np.inf).argmax(axis=0) - 1
    return best


def oracle_score(bundle: Bundle, trials: Trials, deadline: float) -> float:
    """Return the mean expected score of the oracle's answers."""
    scores = np.array([*(model.accuracy for model in bundle.models), bundle.prior[1]])
    return float(scores[oracle(bundle, trials, deadline)].mean())
