"""What a bundle gives within a deadline, as its replays showed."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from polydom_builder.simulation.policies import deadlines_of
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import BundleTimes, Outlook, Regime
from polydom_runtime.policy.deadline import too_short

N_OUTLOOKS, N_TYPICAL = 8, 200
MANY_MODELS = 150
"""The most models with `N_OUTLOOKS` deadlines; more take up to a second to lay out a plan, and get half of them."""


def outlook_of(outcome: Simulated, deadline: float, pauses: float = 0.0) -> Outlook:
    """Return the outlook that the answers of a replay give, where pauses hit a further share of the answers."""
    sets = Counter(answer.features for answer in outcome.answers)
    in_time = 1.0 - outcome.missed / len(outcome.answers)
    return Outlook(
        deadline,
        outcome.score * (1.0 - pauses),
        sets[()] / len(outcome.answers),
        sets.most_common(1)[0][0],
        1.0 - in_time * (1.0 - pauses),
    )


def deadlines_in(bundle: Bundle, regime: Regime) -> list[float]:
    """Return some deadlines of the bundle's range, in seconds, without those that are too short in a regime."""
    count = N_OUTLOOKS if len(bundle.models) <= MANY_MODELS else N_OUTLOOKS // 2
    deadlines = deadlines_of(bundle, count)
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
