"""A rehearsal of a bundle on recorded times: both policies side by side, at any deadlines."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polydom_builder.exceptions import FitError
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples
from polydom_runtime.prediction import Policy

from .oracle import oracle_score
from .simulate import simulate
from .trials import Trials

POLICIES: tuple[Policy, ...] = ("anytime", "strict")


def trials_of(bundle: Bundle, samples: CostSamples, count: int, seed: int = 0, regime: Regime = "hot") -> Trials:
    """Return items as they came when they were measured; if none were, random sizes of the bundle's range.

    The random sizes are uniform on the log scale.

    `samples`: times measured for the bundle's feature space. `count`: number of trials.

    Raises `FitError` if the samples lack one of the bundle's units or the regime, or are not sound.
    """
    needed = [*(step.name for step in bundle.times.worst.steps), *bundle.names, DISPATCH]
    if missing := [unit for unit in needed if unit not in samples.units]:
        raise FitError(f"The costs must be of the bundle's features. Missing: {missing}. Measure its feature space.")
    samples.check()
    if regime in samples.items or regime != "hot":
        return Trials.as_they_came(samples, count, regime, seed)
    low, high = np.log(bundle.promise.sizes)
    sizes = np.exp(np.random.default_rng(seed).uniform(low, high, count))
    return Trials.drawn(samples, sizes.tolist(), seed)


def deadlines_of(bundle: Bundle, count: int) -> list[float]:
    """Return `count` deadlines in seconds, evenly spread on the log scale over the bundle's range."""
    return spread_deadlines(bundle.promise.budgets, bundle.promise.sizes, bundle.index.candidates, count)


def spread_deadlines(
    budgets: tuple[float, float], sizes: tuple[float, float], candidates: Sequence[Candidate], count: int
) -> list[float]:
    """Return `count` deadlines in seconds within a range, without those that are too short for any answer.

    If dispatch leaves hardly any time even at the end of the range, the end is the only one.

    `budgets`, `sizes`: the range of deadlines, in seconds, and of item sizes. `candidates`: with the empty set, which
    costs dispatch. At the largest size none costs more than the longest deadline needs.
    """
    low, end = budgets
    dispatch = next(candidate.cost for candidate in candidates if candidate.mask == 0)
    low = min(max(low, 1.2 * dispatch(sizes[0]), 1e-9), end)
    high = max(low, min(end, max(candidate.cost(sizes[1]) for candidate in candidates)))
    deadlines: list[float] = np.geomspace(low, high, count if low < high else 1).tolist()
    return deadlines


def rehearse(
    bundle: Bundle,
    trials: Trials,
    deadlines: Sequence[float],
    policies: Sequence[Policy] = POLICIES,
    *,
    slowdown: float = 1.0,
    adapt: bool = True,
    regime: Regime = "hot",
) -> list[dict[str, Any]]:
    """Simulate each policy at each deadline on the same trials.

    `trials`: of the bundle's features; others may be among them. `deadlines`: seconds. `slowdown`: factor by which all
    times of the trials are multiplied. `adapt`: whether the predictor estimates the slow-down. `regime`: that of the
    trials.

    The result: one row for each deadline and policy: expected score, score of the oracle, misses, share of the deadline
    that elapsed, feature sets and reasons.

    Raises `ValueError` if the trials lack one of the bundle's units.
    """
    trials = trials.slowed(slowdown)
    rows = []
    for deadline in deadlines:
        best = oracle_score(bundle.at(deadline, regime), trials, deadline)
        for policy in policies:
            outcome = simulate(bundle, trials, deadline, policy=policy, adapt=adapt, regime=regime)
            shares = np.array([a.elapsed_ns for a in outcome.answers]) / (deadline * 1e9)
            rows.append(
                {
                    "deadline": deadline,
                    "policy": policy,
                    "score": outcome.score,
                    "oracle": best,
                    "missed": outcome.missed,
                    "items": len(trials),
                    "elapsed_share": {"p50": float(np.median(shares)), "p99": float(np.quantile(shares, 0.99))},
                    "slowdown": max(a.slowdown for a in outcome.answers),
                    "features": outcome.features,
                    "reasons": outcome.reasons,
                }
            )
    return rows
