"""The choice of planned and guarded times for the any-time policy, by replays of the measured times.

Each regime and each of some deadlines gets its own choice. One choice for a whole range may break the promise at its
shortest deadlines: an answer of few units can lose its reserve to a single slow one.

To try all candidates at each deadline takes many times as long and finds nearly the same scores. So the search climbs:
from the guard at the deadline before, among guards, for a quick, a usual and a careful plan; and from the best one
among plans, and among guards again.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from polydom_builder.costs.fitted_times import TYPICAL_QUANTILE, UNIT_QUANTILE
from polydom_builder.costs.target import RegimeTarget, Target
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import BundleTimes, Choice, Regime, RegimeTimes
from polydom_runtime.costs import format_seconds
from polydom_runtime.measuring.cost_samples import CostSamples, Pauses
from polydom_runtime.prediction import policy_for

from .late_share import Recorded
from .outlooks import deadlines_in, in_each_regime, outlook_of, typical_outlook

GUARDS, STEPS = (0.9, 0.95, 0.99), 3
"""`GUARDS`: quantiles that the guard may use, beside the promised one; between two neighbours there are `STEPS` steps.
They may be lower than the promised one: an answer is late only if a unit exceeds its guarded time and was also begun at
the last moment, which is rarer."""

WORK_SHARE = 0.5
"""Pauses leave at least this share of the promise to the work that is planned."""

WORTH_A_NOTE = 0.1
"""A note tells of pauses that take at least this share of the promise."""

Merit = tuple[float, float, int]
"""The negative share of late answers beyond the allowed one, the score, and how careful it is: larger is better."""


class Pair(NamedTuple):
    """A candidate: the places of its guarded and its planned times among those to choose from."""

    guard: int
    plan: int


class ReplayedChoice(NamedTuple):
    """A choice, and the answers that it gave."""

    choice: Choice
    outcome: Simulated


class Choosing:
    """Chooses for rising deadlines among the times of a target by quantile, from the default quantiles on."""

    def __init__(self, bundle: Bundle, target: Target, regime: Regime, recorded: Recorded) -> None:
        there = target if regime == "hot" else target.regimes[regime]
        assert there.guarded is not None
        guards = {q: there.planned[q] for q in GUARDS} | {there.guarded.quantile: there.guarded}
        rising, by_plan = [guards[q] for q in sorted(guards)], sorted(there.planned)
        worst = bundle.at(1.0, regime).times.worst  # the most careful times
        between = (low.between(high, k / STEPS) for low, high in pairwise(rising) for k in range(STEPS))
        self._guards = [*between, rising[-1], worst]
        self._plans = [*(there.planned[q] for q in by_plan), worst]
        self._bundle, self._regime, self._recorded = bundle, regime, recorded
        self._last = Pair(STEPS * rising.index(there.guarded), by_plan.index(UNIT_QUANTILE))

    def at(self, deadline: float, allowed: float) -> ReplayedChoice:
        """Return the times that score best among those that keep the promise.

        If no times keep it, those are taken that score best among those that are late no more often than worst cases.
        `deadline`: seconds. `allowed`: the promised share of late answers.
        """
        known: dict[Pair, tuple[Merit, Simulated]] = {}

        def merit(pair: Pair) -> Merit:
            if pair not in known:
                outcome = self._replayed(pair, deadline)
                beyond = max(self._recorded.late_bound(outcome) - allowed, 0.0)
                known[pair] = (-beyond, outcome.score, sum(pair)), outcome
            return known[pair][0]

        worst = Pair(len(self._guards) - 1, len(self._plans) - 1)
        guard = min(self._last.guard, worst.guard - 1)
        starts = (Pair(guard, plan) for plan in (self._last.plan, 0, worst.plan))
        best = max((self._climbed(start, Pair(1, 0), merit) for start in starts), key=merit)
        for direction in (Pair(0, 1), Pair(1, 0)):
            best = self._climbed(best, direction, merit)
        merit(Pair(worst.guard, best.plan))
        if merit(best)[0] < 0.0 and all(merit(pair)[0] < 0.0 for pair in self._careful(best)):
            least, *_ = merit(worst)
            best = max(known, key=lambda pair: (min(merit(pair)[0], least), *merit(pair)[1:]))
        else:
            best = max(known, key=merit)
        self._last = best
        return ReplayedChoice(Choice(deadline, self._plans[best.plan], self._guards[best.guard]), known[best][1])

    def _climbed(self, pair: Pair, direction: Pair, merit: Callable[[Pair], Merit]) -> Pair:
        """Return the last candidate of steps up, or else down, each of which leads to a better one than before.

        The guard by worst cases is no step: it may be better than one that is nearly as careful, but less than others.
        """
        for step in (1, -1):
            start = pair
            while self._is_a_step(near := Pair(pair.guard + step * direction.guard, pair.plan + step * direction.plan)):
                if merit(near) <= merit(pair):
                    break
                pair = near
            if pair != start:
                break
        return pair

    def _is_a_step(self, pair: Pair) -> bool:
        return 0 <= pair.guard < len(self._guards) - 1 and 0 <= pair.plan < len(self._plans)

    def _careful(self, pair: Pair) -> Iterator[Pair]:
        """Yield more and more careful candidates up to worst cases: first with a higher guard, then a higher plan."""
        for guard in range(pair.guard + 1, len(self._guards)):
            yield Pair(guard, pair.plan)
        for plan in range(pair.plan + 1, len(self._plans)):
            yield Pair(len(self._guards) - 1, plan)

    def _replayed(self, pair: Pair, deadline: float) -> Simulated:
        there = self._bundle.at(deadline, self._regime)
        times = there.times._replace(planned=self._plans[pair.plan], guarded=self._guards[pair.guard])
        return simulate(replace(there, times=times), self._recorded.trials, deadline, adapt=False)


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
        if policy_for(bundle, "anytime") == "strict":
            found = [_as_it_is(draft, times, regime, recorded, deadline) for deadline in deadlines]
        else:
            choosing = Choosing(draft, target, regime, recorded)
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


def _as_it_is(
    bundle: Bundle, times: BundleTimes, regime: Regime, recorded: Recorded, deadline: float
) -> ReplayedChoice:
    """Return the times that a bundle has, where only the strict policy is possible, and what they give."""
    choice = Choice(deadline, times.planned, times.guarded)
    return ReplayedChoice(choice, simulate(bundle, recorded.trials, deadline, regime=regime, adapt=False))


def _with_choices(times: BundleTimes, choices: Sequence[Choice]) -> BundleTimes:
    longest = choices[-1]
    alike = all(choice[1:] == longest[1:] for choice in choices)
    _, planned, guarded = longest
    return times._replace(planned=planned, guarded=guarded, choices=() if alike else tuple(choices))
