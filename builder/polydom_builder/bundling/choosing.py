"""The choice of planned and guarded times at one deadline: chosen on one half of the trials, checked on the other.

To try all candidates at each deadline takes twice as long and finds the same scores. So the search climbs: from the
choice at the deadline before, first among guards and then among plans, as long as that is better.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from polydom_builder.simulation.simulate import Outcome, simulate
from polydom_builder.simulation.trials import Trials
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.unit_times import UnitTimes

SHARE_OF_PROMISE, SHARE_OF_CHECK = 0.5, 0.75
"""The shares of the allowed late answers that the half on which times are chosen and the other one may have. They are
below 1, since the best of many candidates is often one that was lucky, and rates in some hundred answers are rough."""

Merit = tuple[int, float, int]
"""The negative number of late answers beyond the allowed ones, the score, and how careful it is: larger is better."""


class Pair(NamedTuple):
    """A candidate: the places of its guarded and its planned times among those to choose from."""

    guard: int
    plan: int


class Chosen(NamedTuple):
    """A choice, and the answers that it gave on the half of the trials on which it was checked."""

    choice: Choice
    checked: Outcome


class Choosing:
    """Chooses for rising deadlines.

    `regime`: that of the trials. `guards`, `plans`: the times to choose from, by rising quantile. `trials`: those to
    choose on, and those to check on. `start`: the candidate with which the search begins at the first deadline.
    """

    def __init__(
        self,
        bundle: Bundle,
        regime: Regime,
        *,
        guards: Sequence[UnitTimes],
        plans: Sequence[UnitTimes],
        trials: tuple[Trials, Trials],
        start: Pair,
    ) -> None:
        self._bundle, self._regime = bundle, regime
        # Worst cases are the most careful times. They are taken only if nothing else holds the promise.
        worst = bundle.at(1.0, regime).times.worst
        self._guards, self._plans = [*guards, worst], [*plans, worst]
        self._one, self._other = trials
        self._last = start

    def at(self, deadline: float, allowed: float) -> Chosen:
        """Return the times that score best among those that keep the promise on both halves of the trials.

        If those that are best on the first half break the promise on one of the halves, more careful ones are taken, up
        to worst cases.

        `deadline`: in seconds. `allowed`: the promised share of late answers, from 0 to 1.
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
        return Chosen(Choice(deadline, self._plans[pair.plan], self._guards[pair.guard]), checked)

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

    def _replayed(self, pair: Pair, deadline: float, trials: Trials) -> Outcome:
        there = self._bundle.at(deadline, self._regime)
        times = replace(there.times, planned=self._plans[pair.plan], guarded=self._guards[pair.guard])
        return simulate(replace(there, times=times), trials, deadline, adapt=False)
