"""The plans of one deadline, one for each regime; the choice among them by how warm the code is; an item in work."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.bundles.index import Staircase
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.policy.loaded_models import LoadedModel, LoadedModels
from polydom_runtime.policy.planners import Planner
from polydom_runtime.policy.states import Move, State, reachable

if TYPE_CHECKING:
    from polydom_runtime.bundles.greedy import Walk
    from polydom_runtime.policy.energy import EnergyBudget


COOLS_NS = 1_000_000
"""Code is warm for this long after it ran: within a millisecond hardly any other work takes the processor and its
caches, and after a sleep of some milliseconds as much is lost as after a long one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """What a predictor does for items that come in one regime; see `polydom_runtime.bundles.bundle_times`."""

    root: State
    """The state without features, from which moves lead to all others."""
    nothing: State
    """The same without moves, for an item that has no size."""
    cells: list[float]
    """Rising ends of the size cells."""
    latest_ns: int
    """The part of the budget in which a model must be done: the rest is kept for the end of the answer."""
    models: LoadedModels
    """The models with their times in this regime."""
    staircase: "Staircase | Walk"
    """The feature set that worst cases allow at each size; for a greedy bundle the sequence that is followed."""
    bundle: Bundle
    """The bundle with the times of this regime."""
    regime: Regime
    careful: "Plan | None" = None
    """The plan for an answer that must not be late, by worst cases; None if late answers in a row are not limited."""

    @classmethod
    def slices(
        cls,
        bundle: Bundle,
        space: FeatureSpace,
        models: LoadedModels,
        budget: float,
        kind: type[Planner],
        energy: "EnergyBudget | None" = None,
        regime: Regime = "hot",
        careful: bool = False,
    ) -> "Generator[None, None, Plan]":
        """Lay out the plan for a bundle that has the times of one regime only, in slices of work, and return it.

        `models`: models of the same bundle in any regime; those of the plan share its sessions. `budget`: the seconds
        of an item. `kind`: the planner of the policy. `careful`: whether to lay out the careful plan besides.

        Raises `BundleFormatError` if a model cannot run.
        """
        staircase, models = bundle.index.at_deadline(budget), models.timed(bundle)
        yield
        planner = kind(bundle, space, models, staircase, energy)
        latest_ns = int(budget * 1e9) - int(1e9 * planner.rest(bundle.promise.sizes[0]))
        (nothing,) = planner.new_states([0])
        root = yield from planner.slices()
        plan = cls(root, nothing, planner.cells, latest_ns, models, staircase, bundle, regime)
        if not careful:
            return plan
        times = bundle.times._replace(planned=bundle.times.worst, guarded=bundle.times.worst)
        by_worst = replace(bundle, times=times)
        return replace(plan, careful=(yield from cls.slices(by_worst, space, models, budget, kind, energy, regime)))

    def leave_out(self, numbers: Collection[int]) -> None:
        """Stop models `numbers` from answering, and plan no sets that only they answer; each call replaces the last."""
        self.models.out.clear()
        self.models.out.update(numbers)
        # A walk has one target, and each state on the way to it may answer.
        barred = set() if self.bundle.is_greedy else self.models.only_of(numbers)
        for state in reachable(self.root):
            state.model = self.models.best_loaded(state.mask)
            state.rows.bar(barred)


class Plans:
    """The plan of each regime: one that the bundle has no times of is planned as hot, or all as one that is forced.

    `known`: the regimes that have times of their own. `forced`: the only regime, if there is one. `at`: returns the
    bundle with the times of one regime. `slices_of`: lays out the plan for such a bundle. `learns`: whether plans may
    change; then regimes that are planned alike at first are told apart. `only`: the plan if there can be no other: then
    no choice is needed.
    """

    def __init__(
        self,
        known: Collection[Regime],
        forced: Regime | None,
        at: Callable[[Regime], Bundle],
        slices_of: Callable[[Bundle, Regime], Generator[None, None, Plan]],
        learns: bool,
    ) -> None:
        if forced is not None and forced not in REGIMES:
            from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

            raise DeadlineError(one_of("The regime", REGIMES, forced))
        self._bundle_at, self._slices_of = at, slices_of
        self._known = () if forced else known
        self._told_apart = learns and not forced
        self.hot = self._plan_of(forced or "hot")
        self.cold = self._plan_of("cold") if "cold" in self._known else self._as_hot("cold")
        self.only = None if self._known or self._told_apart else self.hot
        self._out: Collection[int] = ()

    @cached_property
    def rehearsed(self) -> Plan:
        """Made at the first rehearsal or the warm-up: a loop that has neither starts sooner."""
        return self._plan_of("rehearsed") if "rehearsed" in self._known else self._as_hot("rehearsed")

    def _plan_of(self, regime: Regime) -> Plan:
        slices = self._slices_of(self._bundle_at(regime), regime)
        while True:
            try:
                next(slices)
            except StopIteration as done:
                plan: Plan = done.value
                return plan

    def _as_hot(self, regime: Regime) -> Plan:
        return replace(self.hot, regime=regime) if self._told_apart else self.hot

    def renew(self, regime: Regime, bundle: Bundle) -> Iterator[None]:
        """Lay out the plan of a regime for a bundle with other times, in slices, and use it from the next item on."""
        plan = yield from self._slices_of(bundle, regime)
        for each in (plan, plan.careful) if self._out else ():
            if each is not None:
                each.leave_out(self._out)
        for name in (regime,) if self.only is None else ("only", "hot", "cold", "rehearsed"):
            setattr(self, name, plan)

    def leave_out(self, numbers: Collection[int]) -> None:
        """Answer without some models, by their numbers, until the next call; O(states · models)."""
        self._out = numbers
        for plan in self.made:
            plan.leave_out(numbers)

    @property
    def made(self) -> list[Plan]:
        """All plans that were made so far."""
        plans = [plan for plan in vars(self).values() if isinstance(plan, Plan)]
        plans += [plan.careful for plan in plans if plan.careful is not None]
        return list({id(plan): plan for plan in plans}.values())

    def at(self, now: int, answered: float, rehearsed: float) -> Plan:
        """Return the plan for an item that comes now; clock readings at the end of the last answer and rehearsal."""
        if now - answered <= COOLS_NS:
            return self.hot
        return self.rehearsed if now - rehearsed <= COOLS_NS else self.cold


class Course:
    """The course of one item. A predictor has one, and overwrites it with every item: to make it takes longer.

    `plan`: the plan of the regime that the item came in. `start`, `begun`, `now`: clock readings in nanoseconds at the
    begin of the budget, which is the arrival unless the item could wait without a loss; at the call, moved on by the
    time of failures, which says nothing of how slow the machine is; and at the last decision. `slowdown`: how much
    slower than measured the machine is taken to be. `planned`, `last`: the first move and the last one. `number`: the
    answer of the state's model, if it has run. `reason`: why the plan was not followed; empty if it was. `failures`:
    the name of what failed (a feature, "size" or "the model"), and the exception or a text. `asked`: the nanoseconds
    after each feature in which a model was asked whether it is sure; empty if none ever is.
    """

    __slots__ = (
        "asked",
        "begun",
        "cell",
        "failures",
        "last",
        "now",
        "number",
        "plan",
        "planned",
        "reason",
        "slowdown",
        "start",
    )

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.start = self.now = self.begun = self.cell = 0
        self.slowdown = 1.0
        self.planned: Move | None = None
        self.last: Move | None = None
        self.number: int | float | None = None
        self.reason = ""
        self.asked: list[int] = []
        self.failures: list[tuple[str, Exception | str]] = []


def reason_of(
    state: State,
    model: LoadedModel,
    course: Course,
    names: Sequence[str],
    out: Collection[str],
    budget_ns: int,
    extends: bool,
) -> str:
    """Return the reason for an answer that was not interrupted, by the model of the state that was reached.

    `out`: the features that kept failing. `extends`: whether time that is left goes into a better set than planned.
    """
    planned, last, cell = course.planned, course.last, course.cell
    if planned is None or last is None:
        *_, ends, moves = state.rows[cell]
        first = moves[bisect_right(ends, budget_ns)]
        if first is None:
            return "planned"
        name = names[first.feature]
        return f"{name} failed" if name in out else f"no time for {name}"
    if model.accuracy >= planned.accuracy and extends:
        return "planned" if model.accuracy == planned.accuracy else "extended"
    if state.mask & planned.target == planned.target:
        return "planned"
    given_up = last.target if last.target & ~state.mask else planned.target
    return f"no time for {names[state.next_of(given_up, cell)]}"


def planner_of(policy: str) -> type[Planner]:
    """Import the planner of a policy only: a node has one."""
    if policy == "strict":
        from polydom_runtime.policy.strict import StrictPlanner

        return StrictPlanner
    from polydom_runtime.policy.anytime import AnytimePlanner

    return AnytimePlanner
