"""What a bundle gives within a deadline, as its replays showed."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from polydom_builder.simulation.policies import deadlines_of
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import APART, BundleTimes, Outlook, Regime
from polydom_runtime.policy.deadline import too_short

N_OUTLOOKS, N_TYPICAL = 8, 200
MANY_MODELS = 150
"""The most models with `N_OUTLOOKS` deadlines; more take up to a second to lay out a plan, and get half of them."""


def outlook_of(outcome: Simulated, deadline: float) -> Outlook:
    """Return the outlook that the answers of a replay give.

    Pauses of the machine are not in it: the longer a deadline is, the more of them hit an answer, and then long ones
    would seem to score less than short ones. A note of the bundle tells of them.
    """
    sets, n = Counter(answer.features for answer in outcome.answers), len(outcome.answers)
    return Outlook(deadline, outcome.score, sets[()] / n, sets.most_common(1)[0][0], outcome.missed / n)


def deadlines_in(bundle: Bundle, regime: Regime) -> list[float]:
    """Return the ends of the bundle's range, in seconds, and some of its part that makes a difference in a regime.

    An end that is too short for any answer in the regime is left out.
    """
    count = N_OUTLOOKS if len(bundle.models) <= MANY_MODELS else N_OUTLOOKS // 2
    deadlines, (low, high) = deadlines_of(bundle.at(1.0, regime), count), bundle.promise.budgets
    deadlines = [*[low] * (low * APART < deadlines[0]), *deadlines, *[high] * (deadlines[-1] * APART < high < math.inf)]
    return [deadline for deadline in deadlines if not too_short(bundle.at(deadline, regime), deadline)]


def typical_outlook(bundle: Bundle, regime: Regime, sizes: Sequence[float]) -> tuple[Outlook, ...]:
    """Return the outlook for items of these sizes if all takes its typical time: for times that cannot be replayed."""
    shares = np.linspace(0.0, 1.0, N_TYPICAL)
    spread = np.quantile(np.clip(sizes, *bundle.promise.sizes), shares, method="nearest").tolist()
    trials = Trials.typical(bundle.at(1.0, regime), spread)
    return tuple(
        outlook_of(simulate(bundle, trials, deadline, regime=regime, adapt=False), deadline)
        for deadline in deadlines_in(bundle, regime)
    )


def in_each_regime(bundle: Bundle, change: Callable[[Regime, BundleTimes], BundleTimes]) -> Bundle:
    """Return the bundle with the times of each regime changed."""
    others = {name: there._replace(times=change(name, there.times)) for name, there in bundle.regimes.items()}
    return replace(bundle, times=change("hot", bundle.times), regimes=others)
