"""What a node says in its log when a unit takes quite another time than before."""

from math import log

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.causes import printable, report

from .learned_times import LearnedTimes
from .summary import Place, listed, moved_units

ALARM = 2.0
"""A unit is told of when its time differs by more than this factor from what was shipped, or from what was told last or
would have been."""

WORTH = 0.02
"""A change by less than this share of the deadline is none to tell of."""


class Alarm:
    """Reports units that moved far, and knows since when which ones moved.

    Of each unit the first such move is told, the second, the fourth, the eighth and so on: one that goes to and fro
    fills no log.

    `since`: the number of the answer from which plans know a unit that moved; 0 if they began with that.
    """

    def __init__(self, times: LearnedTimes) -> None:
        self._times = times
        moved = moved_units(times.moved_rows())
        self.since: dict[Place, int] = {(one.regime, one.unit): 0 for one in moved}
        self._known = {(one.regime, one.unit): (log(one.ratio), one.more) for one in moved}
        self._counts: dict[Place, int] = {}

    def planned(self, regime: Regime) -> None:
        """Note that the plan of a regime follows what was learned by now, and log what changed much."""
        moved = {(regime, one.unit): one for one in moved_units(self._times.moved_rows()) if one.regime == regime}
        others = {place: n for place, n in self.since.items() if place[0] != regime}
        self.since = others | {place: self.since.get(place, self._times.answers) for place in moved}
        told = dict[str, float]()
        for place in {*moved, *(place for place in self._known if place[0] == regime)}:
            one = moved.get(place)
            ratio, more = (log(one.ratio), one.more) if one else (0.0, 0.0)
            ratio_before, more_before = self._known.get(place, (0.0, 0.0))
            changed = abs(more - more_before)
            if abs(ratio - ratio_before) <= log(ALARM) or changed <= WORTH * self._times.budget:
                continue
            self._known[place] = ratio, more
            n = self._counts[place] = self._counts.get(place, 0) + 1
            if n & (n - 1) == 0:
                told[f"{one}" if one else f"{printable(place[1])} about as long as shipped again"] = changed
        if told:
            report(f"times changed here ({regime}): {listed(sorted(told, key=lambda text: -told[text]))}; plans follow")
