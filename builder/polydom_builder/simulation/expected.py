"""What a bundle gives within a deadline: the one function behind every table of deadlines.

The build, `polydom simulate` and `polydom report` replay the same recorded answers with it, so they print the same
figures; all others print those that the build has put into the bundle.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import APART, MIN_SECONDS, BundleTimes, Outlook, Regime
from polydom_runtime.describing.knee import knee_of
from polydom_runtime.describing.outlook_table import in_range, times_of_regimes
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.prediction import Policy

from .recorded import Recorded
from .simulate import Simulated, simulate

N_DEADLINES = 9
"""The deadlines of a table, at most, beside the ends of the range."""
MANY_MODELS = 150
"""With more models, a plan takes up to a second to lay out, and a table has half as many deadlines."""

SOME_DEADLINES = 5

CLOSE = 1.05
"""The shortest useful deadline is found within this factor."""


def expected(
    bundle: Bundle, recorded: Recorded, deadline: float, regime: Regime = "hot", policy: Policy = "anytime"
) -> Simulated:
    """Return the answers of a node that keeps to the times of its bundle."""
    return simulate(bundle, recorded.trials, deadline, policy=policy, adapt=False, regime=regime)


def outlook_of(outcome: Simulated, deadline: float, recorded: Recorded) -> Outlook:
    """Return the outlook that the answers of a replay give, without the pauses of the machine and with them.

    A pause hits an answer while it works, and the replays tell how long each works.
    """
    sets, n = Counter(answer.features for answer in outcome.answers), len(outcome.answers)
    met, late = outcome.met, outcome.late_score
    gain = np.array([answer.accuracy for answer in outcome.answers]) - late
    in_time = recorded.in_time(met, outcome.seconds, deadline)
    return Outlook(
        deadline,
        score=late + float((gain * in_time).mean()),
        prior_share=sets[()] / n,
        features=sets.most_common(1)[0][0],
        late=float((1.0 - in_time).mean()),
        score_alone=late + float((gain * met).mean()),
        late_alone=outcome.missed / n,
        answers=recorded.n_answers,
    )


def outlook_at(bundle: Bundle, recorded: Recorded, deadline: float, regime: Regime) -> Outlook:
    """Return the outlook at a deadline in seconds: a row of every table."""
    return outlook_of(expected(bundle, recorded, deadline, regime), deadline, recorded)


def own_deadlines(bundle: Bundle, regime: Regime = "hot") -> list[float]:
    """Return the deadlines of a bundle's own table in a regime; if it has none, some of its range, at least one."""
    times = times_of_regimes(bundle).get(regime, bundle.times)
    return [o.deadline for o in times.outlook] or deadlines_in(bundle, regime) or [bundle.promise.budgets[1]]


def some_deadlines(bundle: Bundle) -> list[float]:
    """Return some deadlines of a bundle's range, with both ends, at which to answer many items."""
    every = [o.deadline for o in in_range(bundle.times.outlook, bundle.promise)] or own_deadlines(bundle)
    chosen = np.unique(np.linspace(0, len(every) - 1, SOME_DEADLINES).round().astype(int))
    return [every[k] for k in chosen]


def with_outlook_of(bundle: Bundle, samples: CostSamples, deadlines: Sequence[float] = ()) -> Bundle:
    """Return the bundle with the outlook that measured times of a device give, in each regime that they are of.

    `deadlines`: seconds; by default those of its own table. Its outlook does not change if these are the times that it
    was built with. Raises `FitError`, `MeasurementError` if the samples are not of its features, or not sound.
    """

    def foreseen(regime: Regime, times: BundleTimes) -> BundleTimes:
        if regime != "hot" and regime not in samples.items:
            return times._replace(outlook=())
        recorded, asked = Recorded.of(bundle, samples, regime), deadlines or own_deadlines(bundle, regime)
        possible = (d for d in asked if not too_short(bundle.at(d, regime), d))
        return times._replace(outlook=tuple(outlook_at(bundle, recorded, d, regime) for d in possible))

    return in_each_regime(bundle, foreseen)


def in_each_regime(bundle: Bundle, change: Callable[[Regime, BundleTimes], BundleTimes]) -> Bundle:
    """Return the bundle with the times of each regime changed."""
    others = {name: there._replace(times=change(name, there.times)) for name, there in bundle.regimes.items()}
    return replace(bundle, times=change("hot", bundle.times), regimes=others)


def table_of_build(bundle: Bundle, recorded: Recorded, deadlines: Sequence[float], regime: Regime) -> list[Outlook]:
    """Return the outlooks at rising deadlines, and at three that these may lack.

    They are the shortest useful deadline, one right below it, and half of the knee. They may be below the range of the
    bundle.
    """
    at = partial(outlook_at, bundle, recorded, regime=regime)
    least = max(bundle.at(1.0, regime).times.typical.dispatch(bundle.promise.sizes[0]), MIN_SECONDS)
    rows = {deadline: at(deadline) for deadline in deadlines}
    high = next((row for row in rows.values() if not row.is_only_prior), None)
    if high is not None:
        low = max((row for row in rows.values() if row.deadline < high.deadline), default=None) or at(least)
        if low.is_only_prior:
            rows |= {row.deadline: row for row in _shortest_useful(low, high, at)}
    while (knee := knee_of(regime, sorted(rows.values()), bundle.prior.accuracy, bundle.promise)) is not None:
        if (half := knee.knee.deadline / 2.0) < least or knee.half_is_known:
            break
        rows[half] = at(half)  # which may be the knee then
    return sorted(rows.values())


def _shortest_useful(low: Outlook, high: Outlook, at: Callable[[float], Outlook]) -> tuple[Outlook, Outlook]:
    """Return the outlooks at the longest deadline, of those tried, that gives only the prior, and at the next one."""
    while high.deadline > CLOSE * low.deadline:
        middle = at(math.sqrt(low.deadline * high.deadline))
        low, high = (middle, high) if middle.is_only_prior else (low, middle)
    return low, high


def deadlines_in(bundle: Bundle, regime: Regime, asked: Sequence[float] = ()) -> list[float]:
    """Return the deadlines of a table, in seconds: those `asked` for, or some of the bundle's range with both ends.

    They rise by the same root of 2, so that half of each is there as well, to where every set fits, unless the range is
    so wide that they would be too many. Those that are too short for any answer in the regime are left out.
    """
    count = N_DEADLINES if len(bundle.models) <= MANY_MODELS else N_DEADLINES // 2
    found = asked or _spread(bundle, count)
    return [deadline for deadline in found if not too_short(bundle.at(deadline, regime), deadline)]


def _spread(bundle: Bundle, count: int) -> list[float]:
    low, high = bundle.promise.budgets
    smallest, largest = bundle.promise.sizes
    start = max(low, bundle.times.typical.dispatch(smallest), MIN_SECONDS)
    enough = max(candidate.cost(largest) for candidate in bundle.index.candidates)
    octaves = math.log2(max(min(high, enough) / start, 1.0))
    steps = int((count - 1) / octaves) if octaves else 0  # to an octave
    if steps:
        found = [start * 2.0 ** (k / steps) for k in range(int(octaves * steps) + 1)]
    else:
        found = np.geomspace(start, start * 2.0**octaves, count if octaves else 1).tolist()
    return found if high == math.inf else [*(deadline for deadline in found if deadline * APART < high), high]
