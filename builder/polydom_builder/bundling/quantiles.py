"""Choosing what the any-time policy plans with and what it guards by, by replaying what was measured."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from polydom_builder.costs.fit_times import UNIT_QUANTILE
from polydom_builder.costs.target import Target
from polydom_builder.simulation.report import deadlines_of
from polydom_builder.simulation.simulate import Outcome, simulate
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.prediction import policy_for

N_TRIALS, N_DEADLINES = 2000, 4
TYPICAL_QUANTILE = 0.5

GUARDS = (0.9, 0.95, 0.99)
"""Quantiles of single units that may be guarded by, beside the promised one: an answer is late only if a feature that
was begun at the last moment takes longer, which is rarer than that it takes longer."""

SHARE_OF_PROMISE = 0.5
"""So many of the misses that are allowed may show in the replay, since what it replays was also planned from."""


def planned(bundle: Bundle, target: Target, samples: CostSamples, sizes: Sequence[float], allowed: float) -> Bundle:
    """Return the bundle with the times to guard by and to plan with that give the best score and keep the promise.

    Parameters
    ----------
    bundle : Bundle
        Its deadlines are those to choose for.
    target : Target
        With the times at each quantile.
    samples : CostSamples
        What is replayed.
    sizes : sequence of float
        Of items such as will come.
    allowed : float
        The promised rate of late answers.
    """
    if not target.planned or target.guarded is None:
        return bundle
    at = target.planned
    times = replace(
        bundle.times,
        planned=at[UNIT_QUANTILE],
        guarded=target.guarded,
        typical=replace(at[TYPICAL_QUANTILE], quantile=0.0),  # of no interest to the node
        reference_seconds=target.reference_seconds,
    )
    draft = replace(bundle, times=times)
    if policy_for(bundle, "anytime") == "strict" or target.origin.estimated:  # no plan that could be replayed here
        return draft
    rng = np.random.default_rng(0)
    trials = Trials.drawn(samples, rng.choice(np.asarray(sizes, dtype=np.float64), N_TRIALS).tolist())
    guards = [target.guarded, *(at[q] for q in GUARDS)]
    draft = _best((replace(draft, times=replace(times, guarded=guard)) for guard in guards), trials, allowed)
    ways = (replace(draft, times=replace(draft.times, planned=plan)) for plan in at.values())
    return _best(ways, trials, allowed)


def _best(ways: Iterable[Bundle], trials: Trials, allowed: float) -> Bundle:
    return max(
        ways, key=lambda way: _merit([simulate(way, trials, d) for d in deadlines_of(way, N_DEADLINES)], allowed)
    )


def _merit(outcomes: Sequence[Outcome], allowed: float) -> tuple[int, float]:
    """Return what is better if larger: no more misses than allowed, then the score."""
    missed = sum(outcome.missed for outcome in outcomes)
    most = int(SHARE_OF_PROMISE * allowed * sum(len(o.answers) for o in outcomes))
    return -max(0, missed - most), float(np.mean([outcome.score for outcome in outcomes]))
