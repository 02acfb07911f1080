"""The times of a bundle: those of the same units at four quantiles, each for its own purpose, and in each regime."""

import math
from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple, get_args

from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.codec.marks import In, Once, Size, Text, Unsound
from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.features import MAX_FEATURES

MIN_SECONDS, MAX_SECONDS = 1e-9, 1e6
"""The shortest deadline, and the longest time of anything, in seconds."""

APART = 1.0 + 1e-9
"""The least factor between two deadlines."""

Times = Annotated[UnitTimes, Once("unit_times", 1000)]
Deadline = Annotated[float, In(MIN_SECONDS, MAX_SECONDS)]
Share = Annotated[float, In(0.0, 1.0)]
MostDeadlines = Size(0, 100)
OriginText = Annotated[str, Text(1000, cleaned=True)]


class CostOrigin(NamedTuple):
    """Where the costs of a bundle come from."""

    device: Annotated[str, Text(1000, 0, cleaned=True)] = ""
    """The device whose costs they are; empty if they were given."""
    estimated: bool = False
    """Whether they were measured on another machine and converted."""
    notes: Annotated[tuple[OriginText, ...], Size(0, 1000)] = ()
    """Reasons to doubt them."""
    versions: Mapping[OriginText, OriginText] = {}
    """The versions of numpy and onnxruntime with which they were measured."""

    def __str__(self) -> str:
        how = "estimated, not measured" if self.estimated else "measured" if self.device else "given"
        where = f" for {self.device}" if self.estimated else f" on {self.device}" if self.device else ""
        return "; ".join([f"costs {how}{where}", *self.notes])


class Choice(NamedTuple):
    """The times to plan and to guard with at one deadline, as chosen by replays."""

    deadline: Deadline
    """The deadline in seconds."""
    planned: Times
    guarded: Times


ONLY_PRIOR = 0.99
"""The share of answers by the prior from which on a deadline buys nothing."""

ExpectedScore = Annotated[float, In(-HUGE, HUGE)]


class Outlook(NamedTuple):
    """The answers to expect at one deadline in one regime, as replays on the host showed.

    A late answer counts as 0 in scores, or as the prior where that scores less.
    """

    deadline: Deadline
    """The deadline in seconds."""
    score: ExpectedScore
    prior_share: Share
    """The share of answers by the prior."""
    features: Annotated[tuple[str, ...], Size(0, MAX_FEATURES), Once("feature_sets", 1000)]
    """The set that answers most often; empty if that is the prior."""
    late: Share
    """`score`, `late`: the mean expected score and the share of late answers on the machine as it was measured, with
    the pauses that it made."""
    score_alone: ExpectedScore
    late_alone: Share
    """`score_alone`, `late_alone`: the same without pauses, as if the machine did nothing else."""
    answers: Annotated[int, In(0, 1 << 30)]
    """The number of recorded answers that it rests on; 0 if each unit takes its typical time."""

    @property
    def is_only_prior(self) -> bool:
        """Whether hardly an answer is more than the prior."""
        return self.prior_share >= ONLY_PRIOR


class BundleTimes(NamedTuple):
    """How long units take on the device that the bundle was built for. If not all are known, make it with `of`."""

    worst: Times
    """The sums of these are the worst cases of whole sets, allowance included. The index is built from them."""
    planned: Times
    """The times with which the any-time policy plans the rest of a target."""
    guarded: Times
    """The times with which its guard decides whether a feature may start."""
    typical: Times
    """The medians. The slow-down is the time of an answer divided by these."""
    reference_seconds: Annotated[float, In(0.0, HUGE)] = 0.0
    """The worst case that the reference model states on the device; 0 if not known."""
    origin: Annotated[CostOrigin, Once("origins", 3)] = CostOrigin()
    choices: Annotated[tuple[Choice, ...], MostDeadlines] = ()
    """Choices by rising deadline; empty if `planned` and `guarded` hold for every deadline."""
    outlook: Annotated[tuple[Outlook, ...], MostDeadlines] = ()
    """Outlooks by rising deadline; empty if nothing was replayed."""

    def _check(self) -> None:
        for rows in (self.choices, self.outlook):
            deadlines = [row.deadline for row in rows]
            if any(b < a * APART for a, b in pairwise(deadlines)):
                raise Unsound("have choices and outlooks by rising deadline", deadlines)
        others = (self.planned, self.guarded, self.typical, *(t for c in self.choices for t in (c.planned, c.guarded)))
        if any(times.model is not None for times in (self.worst, *others)):
            raise Unsound("have times of units that hold for every model", "the time of one")
        units = self.worst.names, self.worst.users, len(self.worst.names)
        if any((times.names, times.users, len(times.terms)) != units for times in (self.worst, *others)):
            raise Unsound("have a time of each unit, of the same units at every quantile", units[0])

    def outlook_near(self, deadline: float) -> "Outlook | None":
        """Return the outlook for the nearest deadline; None if nothing was replayed."""
        return min(self.outlook, key=lambda o: abs(o.deadline - deadline), default=None)

    def outlook_at(self, deadline: float) -> "Outlook | None":
        """Return the outlook for a deadline, up to rounding; None if this one was not replayed."""
        near = self.outlook_near(deadline)
        return near if near is not None and math.isclose(near.deadline, deadline) else None

    @classmethod
    def of(
        cls,
        worst: UnitTimes,
        planned: UnitTimes | None = None,
        guarded: UnitTimes | None = None,
        typical: UnitTimes | None = None,
        *,
        reference_seconds: float = 0.0,
        origin: CostOrigin | None = None,
    ) -> "BundleTimes":
        """Make the times of a bundle of which not all need be known.

        `planned`, `guarded`: the worst cases if not given. `typical`: the planned times if not given. `origin`: if not
        given, the costs count as given by the user.
        """
        planned = planned or worst
        return cls(worst, planned, guarded or worst, typical or planned, reference_seconds, origin or CostOrigin())

    def at(self, deadline: float) -> "BundleTimes":
        """Return the times for one deadline: those chosen for it, or a mean of those chosen for its neighbours."""
        if not self.choices:
            return self
        after = bisect_left(self.choices, deadline, key=lambda choice: choice.deadline)
        low, high = self.choices[max(after - 1, 0)], self.choices[min(after, len(self.choices) - 1)]
        if low.deadline == high.deadline:
            return self._replace(planned=high.planned, guarded=high.guarded, choices=())
        share = math.log(deadline / low.deadline) / math.log(high.deadline / low.deadline)
        planned, guarded = low.planned.between(high.planned, share), low.guarded.between(high.guarded, share)
        return self._replace(planned=planned, guarded=guarded, choices=())

    def plus_dispatch(self, more: CostFunction) -> "BundleTimes":
        """Return the times with `UnitTimes.plus_dispatch`, at all quantiles."""
        changed = {name: getattr(self, name).plus_dispatch(more) for name in ("worst", "planned", "guarded", "typical")}
        choices = (
            c._replace(planned=c.planned.plus_dispatch(more), guarded=c.guarded.plus_dispatch(more))
            for c in self.choices
        )
        return self._replace(**changed, choices=tuple(choices))


Regime = Literal["hot", "rehearsed", "cold"]
"""``hot``: answers follow each other without a sleep. ``cold``: the process slept before the item came. ``rehearsed``:
it slept, and answered kept items right before the item came."""

REGIMES: tuple[Regime, ...] = get_args(Regime)


class RegimeTimes(NamedTuple):
    """The times of a bundle in one regime."""

    times: BundleTimes
    models: Annotated[tuple[float, ...], In(0.0, MAX_SECONDS)]
    """The worst case of a run of each model of the bundle, in seconds."""
    asleep: Annotated[float, In(0.0, MAX_SECONDS)]
    """The seconds of sleep before each answer when they were measured."""
