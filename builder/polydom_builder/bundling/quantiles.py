"""The choice of planned and guarded times for the any-time policy, by replays of the measured times.

Each regime and each of some deadlines gets its own choice. One choice for a whole range may break the promise at its
shortest deadlines: an answer of few units can lose its reserve to a single slow one.

Times are chosen on one half of the trials and checked on the other. To try all candidates at each deadline takes twice
as long and finds the same scores. So the search climbs: from the choice at the deadline before, first among guards and
then among plans, as long as that is better.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from polydom_builder.costs.fitted_times import TYPICAL_QUANTILE, UNIT_QUANTILE
from polydom_builder.costs.target import RegimeTarget, Target
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_builder.simulation.trials import Trials, halves
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import UNKNOWN_CALM, BundleTimes, Choice, Regime, RegimeTimes
from polydom_runtime.costs import format_seconds
from polydom_runtime.measuring.cost_samples import CostSamples, Pauses
from polydom_runtime.prediction import policy_for

from .outlooks import deadlines_in, in_each_regime, outlook_of, typical_outlook

N_TRIALS = 2000
"""Half of these trials are to choose on, half to check on."""


GUARDS = (0.9, 0.95, 0.99)
"""Quantiles that the guard may use, beside the promised one. They may be lower than the promised one: an answer is late
only if a unit exceeds its guarded time and was also begun at the last moment, which is rarer."""

CALM_QUANTILE, MAX_CALM = 0.999, 1.8
"""`CALM_QUANTILE`: on the device as it was measured, one answer in a thousand may find a slow-down; the estimate is a
median over few items, so it exceeds 1 often. `MAX_CALM`: an estimate above this always counts."""

SHARE_OF_PROMISE, SHARE_OF_CHECK = 0.5, 0.75
"""`SHARE_OF_PROMISE`, `SHARE_OF_CHECK`: the shares of the allowed late answers where times are chosen, and where they
are checked: below 1, since the best of many candidates was often lucky, and rates in some hundred answers are rough."""

Merit = tuple[int, float, int]
"""The negative number of late answers beyond the allowed ones, the score, and how careful it is: larger is better."""


class Pair(NamedTuple):
    """A candidate: the places of its guarded and its planned times among those to choose from."""

    guard: int
    plan: int


class CheckedChoice(NamedTuple):
    """A choice, and the answers that it gave on the half of the trials on which it was checked."""

    choice: Choice
    checked: Simulated


class Choosing:
    """Chooses for rising deadlines among the times of a target by quantile, from the default quantiles on.

    Of the two trials, the first are those to choose on, the second those to check on.
    """

    def __init__(self, bundle: Bundle, target: Target, regime: Regime, trials: tuple[Trials, Trials]) -> None:
        there = target if regime == "hot" else target.regimes[regime]
        assert there.guarded is not None
        guards = {q: there.planned[q] for q in GUARDS} | {there.guarded.quantile: there.guarded}
        by_guard, by_plan = sorted(guards), sorted(there.planned)
        # Worst cases are the most careful times. They are taken only if nothing else holds the promise.
        worst = bundle.at(1.0, regime).times.worst
        self._guards = [*(guards[q] for q in by_guard), worst]
        self._plans = [*(there.planned[q] for q in by_plan), worst]
        self._bundle, self._regime = bundle, regime
        self._one, self._other = trials
        self._last = Pair(by_guard.index(there.guarded.quantile), by_plan.index(UNIT_QUANTILE))

    def at(self, deadline: float, allowed: float) -> CheckedChoice:
        """Return the times that score best among those that keep the promise on both halves of the trials.

        If those that are best on the first half break the promise on one of the halves, more careful ones are taken, up
        to worst cases. `deadline`: seconds. `allowed`: the promised share of late answers.
        """
        merits: dict[Pair, Merit] = {}
        most, limit = round(SHARE_OF_PROMISE * allowed * len(self._one)), allowed * len(self._one)

        def merit(pair: Pair) -> Merit:
            if pair not in merits:
                outcome = self._replayed(pair, deadline, self._one)
                merits[pair] = -max(outcome.missed - most, 0), outcome.score, sum(pair)
            return merits[pair]

        best = self._last
        for direction in (Pair(1, 0), Pair(0, 1)):
            best = self._climbed(best, direction, merit)
        for pair in self._careful(best):
            checked = self._replayed(pair, deadline, self._other)
            if checked.missed <= SHARE_OF_CHECK * allowed * len(self._other) and most - merit(pair)[0] <= limit:
                break
        self._last = best
        return CheckedChoice(Choice(deadline, self._plans[pair.plan], self._guards[pair.guard]), checked)

    def _climbed(self, pair: Pair, direction: Pair, merit: Callable[[Pair], Merit]) -> Pair:
        """Return the last candidate of steps up, or else down, each of which leads to a better one than before."""
        for step in (1, -1):
            start = pair
            while self._is_known(near := Pair(pair.guard + step * direction.guard, pair.plan + step * direction.plan)):
                if merit(near) <= merit(pair):
                    break
                pair = near
            if pair != start:
                break
        return pair

    def _is_known(self, pair: Pair) -> bool:
        return 0 <= pair.guard < len(self._guards) - 1 and 0 <= pair.plan < len(self._plans) - 1

    def _careful(self, pair: Pair) -> Iterator[Pair]:
        """Yield a candidate and more and more careful ones: first with a higher guard, then with a higher plan."""
        for guard in range(pair.guard, len(self._guards)):
            yield Pair(guard, pair.plan)
        for plan in range(pair.plan + 1, len(self._plans)):
            yield Pair(len(self._guards) - 1, plan)

    def _replayed(self, pair: Pair, deadline: float, trials: Trials) -> Simulated:
        there = self._bundle.at(deadline, self._regime)
        times = there.times._replace(planned=self._plans[pair.plan], guarded=self._guards[pair.guard])
        return simulate(replace(there, times=times), trials, deadline, adapt=False)


def with_chosen_times(
    bundle: Bundle, target: Target, samples: CostSamples | None, sizes: Sequence[float], allowed: float
) -> Bundle:
    """Return the bundle with the planned and guarded times that score best among those that keep the promise.

    They are chosen for each regime and for some deadlines of the bundle's range. The bundle also gets the outlook at
    these deadlines, and the estimate of the slow-down that is rarely exceeded on the device as it was measured. If
    costs are estimates, or were given, nothing can be replayed: then the times are those at the default quantiles, and
    the outlook is that of typical times. `allowed`: the promised rate of late answers.
    """
    draft = _with_default_times(bundle, target)

    def as_they_are(regime: Regime, times: BundleTimes) -> BundleTimes:
        calm = UNKNOWN_CALM if target.planned else times.calm
        return times._replace(outlook=typical_outlook(draft, regime, sizes), calm=calm)

    if samples is None or not target.planned or target.origin.estimated:
        return in_each_regime(draft, as_they_are)
    longest = _longest_answer(draft)
    if note := pause_note(samples.pauses, deadlines_in(draft, "hot"), allowed, longest):
        origin = draft.times.origin._replace(notes=(*draft.times.origin.notes, note))
        draft = in_each_regime(draft, lambda regime, times: times._replace(origin=origin))
    one, other = halves(samples)

    def replayed(regime: Regime, times: BundleTimes) -> BundleTimes:
        if regime != "hot" and regime not in samples.items:
            return as_they_are(regime, times)
        trials = _trials(one, sizes, regime, 0), _trials(other, sizes, regime, 1)
        deadlines = deadlines_in(draft, regime)
        if not deadlines:  # all are shorter than dispatch takes in this regime
            return times
        shares = [samples.pauses.share_hit(deadline, longest) for deadline in deadlines]
        if policy_for(bundle, "anytime") == "strict":
            found = [_as_it_is(draft, times, regime, trials[1], deadline) for deadline in deadlines]
        else:
            choosing = Choosing(draft, target, regime, trials)
            works = [allowed_for_work(share, allowed) for share in shares]
            found = list(map(choosing.at, deadlines, works))
        outlook = (outlook_of(c.checked, c.choice.deadline, share) for c, share in zip(found, shares, strict=True))
        choices = tuple(c.choice._replace(calm=_calm(draft, regime, c.choice, trials[1])) for c in found)
        return _with_choices(times, choices)._replace(outlook=tuple(outlook))

    return in_each_regime(draft, replayed)


def _longest_answer(bundle: Bundle) -> float:
    """Return the seconds that an answer with all features to the largest item typically takes."""
    times = bundle.times.typical
    everything = times.of_set((1 << times.n_features) - 1)(bundle.promise.sizes[1])
    return everything + times.model_ratio * max((model.seconds for model in bundle.models), default=0.0)


def pause_note(pauses: Pauses, deadlines: Sequence[float], allowed: float, longest: float = math.inf) -> str:
    """Return a note on the possible promise where pauses alone break the wanted one; empty if they do so nowhere."""
    share, deadline = max(((pauses.share_hit(d, longest), d) for d in deadlines), default=(0.0, 0.0))
    if share <= allowed:
        return ""
    at = format_seconds(deadline)
    return (
        f"pauses longer than {at} hit {100 * share:.2g} % of answers here: "
        f"{1.0 - share:.4g} is what can be promised at {at}"
    )


def allowed_for_work(paused: float, allowed: float) -> float:
    """Return the rate of late answers that pauses leave to the work that is planned; at least half of it."""
    return max(allowed - paused, 0.5 * allowed)


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


def _trials(samples: CostSamples, sizes: Sequence[float], regime: Regime, seed: int) -> Trials:
    """Return half of the trials. They are measured items as they came, each at most once, if there are any."""
    if regime in samples.items:
        count = min(N_TRIALS // 2, samples.items[regime].seconds[0].size)
        return Trials.as_they_came(samples, count, regime, seed)
    rng = np.random.default_rng(seed)
    return Trials.drawn(samples, rng.choice(np.asarray(sizes, dtype=np.float64), N_TRIALS // 2).tolist(), seed, regime)


def _as_it_is(bundle: Bundle, times: BundleTimes, regime: Regime, trials: Trials, deadline: float) -> CheckedChoice:
    """Return the times that a bundle has, where only the strict policy is possible, and what they give."""
    choice = Choice(deadline, times.planned, times.guarded)
    return CheckedChoice(choice, simulate(bundle, trials, deadline, regime=regime, adapt=False))


def _with_choices(times: BundleTimes, choices: Sequence[Choice]) -> BundleTimes:
    longest = choices[-1]
    alike = all(choice[1:] == longest[1:] for choice in choices)
    _, planned, guarded, calm = longest
    return times._replace(planned=planned, guarded=guarded, calm=calm, choices=() if alike else tuple(choices))


def _calm(bundle: Bundle, regime: Regime, choice: Choice, trials: Trials) -> float:
    """Return the estimate of the slow-down that is rarely exceeded at the chosen times of a deadline."""
    there = bundle.at(choice.deadline, regime)
    times = there.times._replace(planned=choice.planned, guarded=choice.guarded, calm=1.0)
    answers = simulate(replace(there, times=times), trials, choice.deadline).answers
    return float(np.clip(np.quantile([answer.slowdown for answer in answers], CALM_QUANTILE), 1.0, MAX_CALM))
