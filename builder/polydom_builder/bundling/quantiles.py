"""The choice of planned and guarded times for the any-time policy, by replays of the measured times."""

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
"""Quantiles that the guard may use, beside the promised one. They may be lower than the promised one: an answer is late
only if a unit exceeds its guarded time and was also begun at the last moment, which is rarer."""

SHARE_OF_PROMISE = 0.5
"""The share of the allowed misses that a replay may have. It is below 1, since the times were fitted to the same
samples that are replayed."""


def with_chosen_times(
    bundle: Bundle, target: Target, samples: CostSamples, sizes: Sequence[float], allowed: float
) -> Bundle:
    """Return the bundle with the planned and guarded times that score best among those that keep the promise.

    The guarded times are chosen first, then the planned times. If the bundle allows only the strict policy, or
    the costs are estimates, nothing can be replayed; the bundle then gets the times at the default quantiles. If the
    costs were given, it is returned as it is.

    Parameters
    ----------
    bundle : Bundle
        The choice is made for its deadlines.
    target : Target
        Has the times at each quantile.
    samples : CostSamples
        The samples that are replayed.
    sizes : sequence of float
        The sizes of the items that are expected.
    allowed : float
        The promised rate of late answers, from 0 to 1.
    """
    if not target.planned or target.guarded is None:
        return bundle
    at = target.planned
    times = replace(
        bundle.times,
        planned=at[UNIT_QUANTILE],
        guarded=target.guarded,
        typical=replace(at[TYPICAL_QUANTILE], quantile=0.0),  # a bundle does not store this quantile
        reference_seconds=target.reference_seconds,
    )
    draft = replace(bundle, times=times)
    if policy_for(bundle, "anytime") == "strict" or target.origin.estimated:  # no plan that can be replayed here
        return draft
    rng = np.random.default_rng(0)
    trials = Trials.drawn(samples, rng.choice(np.asarray(sizes, dtype=np.float64), N_TRIALS).tolist())
    guards = [target.guarded, *(at[q] for q in GUARDS)]
    draft = _best((replace(draft, times=replace(times, guarded=guard)) for guard in guards), trials, allowed)
    bundles = (replace(draft, times=replace(draft.times, planned=plan)) for plan in at.values())
    return _best(bundles, trials, allowed)


def _best(bundles: Iterable[Bundle], trials: Trials, allowed: float) -> Bundle:
    def merit(bundle: Bundle) -> tuple[int, float]:
        return _merit([simulate(bundle, trials, d) for d in deadlines_of(bundle, N_DEADLINES)], allowed)

    return max(bundles, key=merit)


def _merit(outcomes: Sequence[Outcome], allowed: float) -> tuple[int, float]:
    """Return the negative number of misses beyond those allowed, then the mean score; larger is better."""
    missed = sum(outcome.missed for outcome in outcomes)
    most = int(SHARE_OF_PROMISE * allowed * sum(len(o.answers) for o in outcomes))
    return -max(0, missed - most), float(np.mean([outcome.score for outcome in outcomes]))
