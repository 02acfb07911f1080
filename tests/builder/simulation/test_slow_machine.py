"""Replays on a machine with slow spells: they cost nothing, and when it gets slower for good, the promise holds.

In a twelfth of the time the machine is in a slow spell of some sixty items. Worst cases hold these spells, and a few
pauses. The promise is one late answer in a hundred.
"""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from polydom_builder.simulation import Trials, simulate
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.measuring.cost_samples import AROUND
from polydom_runtime.prediction import Policy
from tests.bundle_parts import changed, unit_times
from tests.draws import draws
from tests.runtime.lattice_world import NAMES, US, lattice_bundle, microseconds

MICROSECONDS = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 2.0])
"""Of the features and of dispatch; a model takes 5."""

ACCURACIES = [0.3 + 0.02 * mask.bit_count() + 0.1 * mask / 31 for mask in range(32)]
N, PROMISE, SPELL = 4000, 0.01, 1.3
DEADLINES = [85 * US, 120 * US, 200 * US]
POLICIES: list[Policy] = ["anytime", "strict"]


@cache
def trials(seed: int) -> Trials:
    rng = np.random.default_rng(seed)
    level, slow = np.empty(N), False
    for k in range(N):
        slow = rng.random() > 1 / 60 if slow else rng.random() < 1 / 660
        level[k] = (SPELL if slow else 1.0) * np.exp(rng.normal(0.0, 0.03))
    jitter = level * np.exp(rng.normal(0.0, 0.1, (7, N)))
    seconds = MICROSECONDS[:, None] * US * jitter[:6]
    seconds[:5] += (rng.random((5, N)) < 0.003) * rng.exponential(20 * US, (5, N))
    before = after = 0.5 * seconds[5]
    around = [before, np.zeros(N), after]
    return Trials((*NAMES, *AROUND), np.ones(N), np.vstack([seconds[:5], around]), 5 * US * jitter[6])


@cache
def bundle() -> Bundle:
    """Return a bundle by the times of other trials."""
    seen = trials(0)
    whole = seen.seconds.sum(axis=0) + seen.model_seconds
    ratio = float(np.quantile(whole, 1.0 - PROMISE) / np.median(whole))
    units = np.vstack([seen.seconds[:5], seen.seconds[5:].sum(axis=0)])
    medians, model = np.median(units, axis=1), float(np.median(seen.model_seconds))
    dispatch = microseconds((medians[5] * ratio + allowance(seen, ratio)) / US)
    worst = [microseconds(m * ratio / US) for m in medians[:5]]

    def at(quantile: float) -> object:
        costs = [microseconds(s / US) for s in np.quantile(units, quantile, axis=1)]
        part = float(np.quantile(seen.model_seconds, quantile)) / (model * ratio)
        return unit_times(NAMES, costs[:5], (), costs[5], model_ratio=part)

    kinds = {"planned": at(0.6), "typical": at(0.5), "guarded": at(1.0 - PROMISE)}
    made = lattice_bundle(ACCURACIES, worst, models=model * ratio, dispatch=dispatch)
    return changed(made, **kinds, reference_seconds=model * ratio)


def allowance(seen: Trials, ratio: float) -> float:
    """Return the seconds that some set takes, beyond `ratio` times its median, in one answer of a hundred."""
    parts: list[Floats] = [*seen.seconds[:5]]
    rest = seen.seconds[5:].sum(axis=0) + seen.model_seconds
    sets = [sum(chosen, rest) for k in range(1, 6) for chosen in combinations(parts, k)]
    return max(float(np.quantile(times, 1.0 - PROMISE) - ratio * np.median(times)) for times in sets)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("factor", draws([1.0, 3.0], [1.0, 1.5, 2.0, 3.0]))
def test_late_answers_are_no_more_than_promised(factor: float, policy: Policy) -> None:
    slow = trials(1).slowed(factor)

    for deadline in DEADLINES:
        assert simulate(bundle(), slow, deadline, policy=policy).missed <= PROMISE * N


@pytest.mark.parametrize("policy", POLICIES)
def test_without_the_estimate_they_are_more(policy: Policy) -> None:
    slow = trials(1).slowed(2.0)

    assert simulate(bundle(), slow, DEADLINES[0], policy=policy, adapt=False).missed > PROMISE * N


@pytest.mark.parametrize("deadline", DEADLINES)
@pytest.mark.parametrize("policy", POLICIES)
def test_on_the_machine_that_was_measured_hardly_anything_is_lost(policy: Policy, deadline: float) -> None:
    with_it, without = (simulate(bundle(), trials(1), deadline, policy=policy, adapt=adapt) for adapt in (True, False))

    assert with_it.score >= without.score - 0.0005


@pytest.mark.parametrize("policy", POLICIES)
def test_slow_machine_is_not_taken_for_slower_by_each_feature(policy: Policy) -> None:
    """On a machine that is k times slower, an answer gets at least what k times shorter deadlines give; nearly."""
    slow = simulate(bundle(), trials(1).slowed(2.0), 2 * DEADLINES[1], policy=policy)
    plain = simulate(bundle(), trials(1), DEADLINES[1], policy=policy)

    assert slow.score > plain.score - 0.01
