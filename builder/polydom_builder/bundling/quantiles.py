"""The choice of planned and guarded times for the any-time policy, by replays of the measured times.

Each regime and each of some deadlines gets its own choice. One choice for a whole range may break the promise at its
shortest deadlines: an answer of few units can lose its reserve to a single slow one.

The share of late answers falls steeply between two quantiles of a guard, and the score with it: a feature that one
quantile keeps from starting at most sizes, another one lets start. So the guard is searched for by halving, between the
quantiles too, down to the least one that keeps the promise. The plan matters less, and one after the other is tried
with the guard that was found.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from polydom_builder.costs.fitted_times import TYPICAL_QUANTILE, UNIT_QUANTILE
from polydom_builder.costs.target import RegimeTarget, Target
from polydom_builder.simulation.expected import deadlines_in, expected, in_each_regime, table_of_build
from polydom_builder.simulation.recorded import Recorded
from polydom_builder.simulation.simulate import Simulated
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import BundleTimes, Choice, Outlook, Regime, RegimeTimes
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import format_seconds
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.prediction import policy_for
from polydom_runtime.tables import percent

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

    def at(self, deadline: float, promised: float) -> ReplayedChoice:
        """Return the times that score best among those that keep the promise.

        If no times keep it, those are taken that score best among those that are late no more often than worst cases.
        `deadline`: seconds. `promised`: the promised share of late answers, with those that pauses make late.
        """
        worst = self.replayed(deadline, self._worst, self._worst)
        paused = float(self._recorded.pauses.late_shares(worst.outcome.seconds, deadline).mean())
        allowed = allowed_for_work(paused, promised)
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
        outcome = expected(with_these, self._recorded, deadline)
        return ReplayedChoice(Choice(deadline, planned, guarded), outcome, self._recorded.late_bound(outcome))


def with_chosen_times(
    bundle: Bundle,
    target: Target,
    samples: CostSamples | None,
    sizes: Sequence[float],
    promised: float,
    asked: Sequence[float] = (),
    progress: Callable[[int], object] = int,
) -> Bundle:
    """Return the bundle with the planned and guarded times that score best among those that keep the promise.

    They are chosen for each regime and for some deadlines of the bundle's range. The bundle also gets the outlook at
    these deadlines, and a note on pauses that take a part of the promise. If costs are estimates, or were given,
    nothing can be replayed: then the times are those at the default quantiles, and the outlook is that of typical
    times. `promised`: the rate of late answers. `asked`: the deadlines to choose for, in seconds, if not some.
    `progress`: called with 1 after each regime.
    """
    draft = _with_default_times(bundle, target)
    known = None if not target.planned or target.origin.estimated else samples

    @cache
    def recorded(regime: Regime) -> Recorded | None:
        is_there = known is not None and (regime == "hot" or regime in known.items)
        return Recorded.of(draft, known, regime) if known is not None and is_there else None

    def chosen(regime: Regime, times: BundleTimes) -> BundleTimes:
        answers, deadlines = recorded(regime), deadlines_in(draft, regime, asked)
        if answers is not None and deadlines and policy_for(bundle, "anytime") == "anytime":
            choosing = Choosing(draft, target, regime, answers)
            times = _with_choices(times, [choosing.at(deadline, promised).choice for deadline in deadlines])
        progress(1)
        return times

    made = in_each_regime(draft, chosen)

    def foreseen(regime: Regime, times: BundleTimes) -> BundleTimes:
        answers = recorded(regime) or Recorded.typical(made.at(1.0, regime), sizes)
        return times._replace(outlook=tuple(table_of_build(made, answers, deadlines_in(made, regime, asked), regime)))

    made = in_each_regime(made, foreseen)
    if note := pause_note(made.times.outlook, promised):
        origin = made.times.origin._replace(notes=(*made.times.origin.notes, note))
        made = in_each_regime(made, lambda regime, times: times._replace(origin=origin))
    return made


def pause_note(outlook: Sequence[Outlook], promised: float) -> str:
    """Return a note on the part of the promise that pauses take, where it is largest; empty if it is small."""
    row = max(outlook, key=lambda o: o.late - o.late_alone, default=None)
    paused = 0.0 if row is None else row.late - row.late_alone
    if row is None or paused <= 0.0 or paused < WORTH_A_NOTE * promised:
        return ""
    return (
        f"pauses of the machine make {percent(paused)} of the answers late at {format_seconds(row.deadline)}: work is "
        f"planned for {percent(allowed_for_work(paused, promised))} late ones of {percent(promised)} promised"
    ) + (f"; at most {percent(1.0 - paused, 4)} in time can be promised there" if paused > promised else "")


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
