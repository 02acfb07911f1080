"""Choosing the quantile that the any-time policy plans with, by replaying what was measured."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polydom_builder.costs.unit_costs import UNIT_QUANTILE
from polydom_builder.target import Target
from polydom_runtime.bundle import Bundle
from polydom_runtime.cost_samples import CostSamples

from .report import deadlines_of
from .simulate import Outcome, simulate
from .trials import Trials

N_TRIALS, N_DEADLINES = 1500, 4


def planned(bundle: Bundle, target: Target, samples: CostSamples, sizes: Sequence[float], allowed: float) -> Bundle:
    """Return the bundle with the times to plan with that give the best expected score among those with no miss.

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
        The promised rate of late answers; as many are no miss.
    """
    if not target.expected:
        return bundle
    rng = np.random.default_rng(0)
    trials = Trials.drawn(samples, rng.choice(np.asarray(sizes, dtype=np.float64), N_TRIALS).tolist())
    draft = replace(
        bundle, alone=target.alone, typical=target.expected[0.5], reference_seconds=target.reference_seconds
    )
    ways = {q: replace(draft, expected=times, planning_quantile=q) for q, times in target.expected.items()}
    if bundle.sequences or bundle.set_costs or target.origin.estimated:  # a plan that none of these is replayed for
        return ways[UNIT_QUANTILE]
    tried = {q: [simulate(way, trials, d) for d in deadlines_of(bundle, N_DEADLINES)] for q, way in ways.items()}
    return ways[max(tried, key=lambda q: _merit(tried[q], allowed))]


def _merit(outcomes: Sequence[Outcome], allowed: float) -> tuple[int, float]:
    """Return what is better if larger: no more misses than allowed, then the score."""
    missed = sum(outcome.missed for outcome in outcomes)
    excess = max(0, missed - int(allowed * sum(len(o.answers) for o in outcomes)))
    return -excess, float(np.mean([outcome.score for outcome in outcomes]))
