"""The choice of planned and guarded times for the any-time policy, by replays of the measured times.

Each regime and each of some deadlines gets its own choice. One choice for a whole range may break the promise at its
shortest deadlines: an answer of few units can lose its reserve to a single slow one.

The share of late answers falls steeply between two quantiles of a guard, and the score with it: a feature that one
quantile keeps from starting at most sizes, another one lets start. So the guard is searched for by halving, between the
quantiles too, down to the least one that keeps the promise. The plan matters less, and one after the other is tried
with the guard that was found.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from polydom_builder.costs.fitted_times import TYPICAL_QUANTILE, UNIT_QUANTILE
from polydom_builder.costs.target import RegimeTarget, Target
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import BundleTimes, Choice, Regime, RegimeTimes
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import format_seconds
from polydom_runtime.measuring.cost_samples import CostSamples, Pauses
from polydom_runtime.prediction import policy_for

from .late_share import Recorded
from .outlooks import deadlines_in, in_each_regime, outlook_of, typical_outlook

PLANS = (TYPICAL_QUANTILE, UNIT_QUANTILE, 0.99)
"""The quantiles that are tried to plan with, beside worst cases."""

HALVINGS = 7
"""How often the range of guards is halved. A guard may have a lower quantile than the promised one: an answer is late
only if a unit exceeds its guarded time and was also begun at the last moment, which is rarer."""

WORK_SHARE = 0.5
"""Pauses leave at least this share of the promise to the work that is planned."""

WORTH_A_NOTE = 0.1
"""A note tells of pauses that take at least this share of the promise."""


class ReplayedChoice(NamedTuple):
    """A choice, the answers that it gave, and the bound of the share of late ones."""

    choice: Choice
    outcome: Simulated
    late: float


class Choosing:
    """Chooses for rising deadlines among the times of a target by quantile, from the default plan on."""

    def __init__(self, bundle: Bundle, target: Target, regime: Regime, recorded: Recorded) -> None:
        there = target if regime == "hot" else target.regimes[regime]
        assert there.guarded is not None
        guards = {**there.planned, there.guarded.quantile: there.guarded}
        self._worst = bundle.at(1.0, regime).times.worst  # the most careful times
        least = min(UNIT_QUANTILE, there.guarded.quantile)
        self._guards = [*(guards[q] for q in sorted(guards) if q >= least), self._worst]
        self._plans, self._plan = [*(there.planned[q] for q in PLANS), self._worst], there.planned[UNIT_QUANTILE]
        self._bundle, self._regime, self._recorded = bundle, regime, recorded

    def at(self, deadline: float, allowed: float) -> ReplayedChoice:
        """Return the times that score best among those that keep the promise.

        If no times keep it, those are taken that score best among those that are late no more often than worst cases.
        `deadline`: seconds. `allowed`: the promised share of late answers.
        """
        worst = self.replayed(deadline, self._worst, self._worst)
        most = max(allowed, worst.late)

        def best() -> ReplayedChoice:
            keeping = [each for each in found if each.late <= allowed] or [each for each in found if each.late <= most]
            return max(keeping, key=lambda each: each.outcome.score)

        found = [worst, *self._by_guard(deadline, self._plan, most)]
        guard = best().choice.guarded
        found += [self.replayed(deadline, plan, guard) for plan in self._plans if plan is not self._plan]
        plan = best().choice.planned
        if plan is not self._plan:
            found += self._by_guard(deadline, plan, most)
        self._plan = plan
        return best()

    def _by_guard(self, deadline: float, plan: UnitTimes, most: float) -> Iterator[ReplayedChoice]:
        """Yield choices with a plan: by worst cases, then towards the least guard that is late no more than `most`."""
        yield self.replayed(deadline, plan, self._worst)
        low, high = 0.0, len(self._guards) - 1.0
        for _ in range(HALVINGS):
            share, below = math.modf((low + high) / 2.0)
            guard = self._guards[int(below)].between(self._guards[int(below) + 1], share)
            yield (found := self.replayed(deadline, plan, guard))
            low, high = (low, below + share) if found.late <= most else (below + share, high)

    def replayed(self, deadline: float, planned: UnitTimes, guarded: UnitTimes) -> ReplayedChoice:
        """Return what some times give at a deadline."""
        there = self._bundle.at(deadline, self._regime)
        with_these = replace(there, times=there.times._replace(planned=planned, guarded=guarded))
        outcome = simulate(with_these, self._recorded.trials, deadline, adapt=False)
        return ReplayedChoice(Choice(deadline, planned, guarded), outcome, self._recorded.late_bound(outcome))


def with_chosen_times(
    bundle: Bundle, target: Target, samples: CostSamples | None, sizes: Sequence[float], allowed: float
) -> Bundle:
    """Return the bundle with the planned and guarded times that score best among those that keep the promise.

    They are chosen for each regime and for some deadlines of the bundle's range. The bundle also gets the outlook at
    these deadlines, and a note on pauses that take a part of the promise. If costs are estimates, or were given,
    nothing can be replayed: then the times are those at the default quantiles, and the outlook is that of typical
    times. `allowed`: the promised rate of late answers.
    """
    draft = _with_default_times(bundle, target)

    def as_they_are(regime: Regime, times: BundleTimes) -> BundleTimes:
        return times._replace(outlook=typical_outlook(draft, regime, sizes))

    if samples is None or not target.planned or target.origin.estimated:
        return in_each_regime(draft, as_they_are)
    longest = _longest_answer(draft)
    if note := pause_note(samples.pauses, deadlines_in(draft, "hot"), allowed, longest):
        origin = draft.times.origin._replace(notes=(*draft.times.origin.notes, note))
        draft = in_each_regime(draft, lambda regime, times: times._replace(origin=origin))

    def replayed(regime: Regime, times: BundleTimes) -> BundleTimes:
        has_items = regime in samples.items
        if regime != "hot" and not has_items:
            return as_they_are(regime, times)
        deadlines = deadlines_in(draft, regime)
        if not deadlines:  # all are too short in this regime for any answer
            return times
        recorded = Recorded.to_items(draft, samples, regime) if has_items else Recorded.of_rounds(samples, sizes)
        choosing = Choosing(draft, target, regime, recorded)
        if policy_for(bundle, "anytime") == "strict":  # then there is nothing to choose
            found = [choosing.replayed(deadline, times.planned, times.guarded) for deadline in deadlines]
        else:
            works = [allowed_for_work(samples.pauses.share_hit(deadline, longest), allowed) for deadline in deadlines]
            found = list(map(choosing.at, deadlines, works))
        outlook = (outlook_of(f.outcome, f.choice.deadline) for f in found)
        return _with_choices(times, [f.choice for f in found])._replace(outlook=tuple(outlook))

    return in_each_regime(draft, replayed)


def _longest_answer(bundle: Bundle) -> float:
    """Return the seconds that an answer with all features to the largest item typically takes."""
    times = bundle.times.typical
    everything = times.of_set((1 << times.n_features) - 1)(bundle.promise.sizes[1])
    return everything + times.model_ratio * max((model.seconds for model in bundle.models), default=0.0)


def pause_note(pauses: Pauses, deadlines: Sequence[float], allowed: float, longest: float = math.inf) -> str:
    """Return a note on the part of the promise that pauses take, where it is largest; empty if it is small."""
    share, deadline = max(((pauses.share_hit(d, longest), d) for d in deadlines), default=(0.0, 0.0))
    if share == 0.0 or share < WORTH_A_NOTE * allowed:
        return ""
    at = format_seconds(deadline)
    return (
        f"pauses longer than {at} hit {100 * share:.2g} % of answers here: work is planned for "
        f"{100 * allowed_for_work(share, allowed):.2g} % late ones of {100 * allowed:.2g} % promised"
    ) + (f", and {1.0 - share:.4g} is what can be promised at {at}" if share > allowed else "")


def allowed_for_work(paused: float, allowed: float) -> float:
    """Return the rate of late answers that pauses leave to the work that is planned."""
    return max(allowed - paused, WORK_SHARE * allowed)


def _with_default_times(bundle: Bundle, target: Target) -> Bundle:
    if not target.planned or target.guarded is None:
        return bundle
    hot = RegimeTarget(bundle.times.worst, target.planned, target.guarded, target.reference_seconds, 0.0, 0.0)
    regimes: dict[Regime, RegimeTimes] = {
        name: RegimeTimes(
            _default_times(there, bundle.times),
            tuple(entry.seconds + there.model_added for entry in bundle.models),
            there.asleep,
        )
        for name, there in target.regimes.items()
    }
    return replace(bundle, times=_default_times(hot, bundle.times), regimes=regimes)


def _default_times(there: RegimeTarget, times: BundleTimes) -> BundleTimes:
    return times._replace(
        worst=replace(there.worst, model=None),
        planned=there.planned[UNIT_QUANTILE],
        guarded=there.guarded,
        typical=replace(there.planned[TYPICAL_QUANTILE], quantile=0.0),  # a bundle does not store this quantile
        reference_seconds=there.reference_seconds,
    )


def _with_choices(times: BundleTimes, choices: Sequence[Choice]) -> BundleTimes:
    longest = choices[-1]
    alike = all(choice[1:] == longest[1:] for choice in choices)
    _, planned, guarded = longest
    return times._replace(planned=planned, guarded=guarded, choices=() if alike else tuple(choices))
