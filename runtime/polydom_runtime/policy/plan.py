"""The plans of one deadline, one for each regime; the choice among them by how warm the code is; an item in work."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
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
    """The part of the budget in which a model must be done: the rest is kept for the end of dispatch."""
    calm: float
    """The slow-down is taken to be 1 unless the estimate exceeds this."""
    models: LoadedModels
    """The models with their times in this regime."""
    staircase: "Staircase | Walk"
    """The feature set that worst cases allow at each size; for a greedy bundle the sequence that is followed."""
    bundle: Bundle
    """The bundle with the times of this regime."""

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        space: FeatureSpace,
        models: LoadedModels,
        budget: float,
        kind: type[Planner],
        energy: "EnergyBudget | None" = None,
    ) -> "Plan":
        """Lay out the plan for a bundle that has the times of one regime only; BundleFormatError if a model cannot run.

        `models`: models of the same bundle in any regime; those of the plan share its sessions. `budget`: the seconds
        of an item. `kind`: the planner of the policy.
        """
        staircase, models = bundle.index.at_deadline(budget), models.timed(bundle)
        planner = kind(bundle, space, models, staircase, energy)
        last = 1e9 * planner.rest(bundle.promise.sizes[0])
        latest_ns, calm = int(budget * 1e9) - int(last), bundle.times.calm
        (nothing,) = planner.new_states([0])
        return cls(planner.root(), nothing, planner.cells, latest_ns, calm, models, staircase, bundle)

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
    """The plan of each regime that a bundle has times of; the others are planned as hot, or all as one that is forced.

    `only`: the plan if there is no other: then no choice is needed.
    """

    def __init__(self, bundle: Bundle, forced: Regime | None, plan_of: Callable[[Regime], Plan]) -> None:
        if forced is not None and forced not in REGIMES:
            raise DeadlineError(f"The regime must be one of {', '.join(REGIMES)}, or None. Got {forced!r}.")
        known = () if forced else bundle.regimes
        self._plan_of, self._is_rehearsed_known = plan_of, "rehearsed" in known
        self.hot = plan_of(forced or "hot")
        self.cold = plan_of("cold") if "cold" in known else self.hot
        self.only = None if known else self.hot

    @cached_property
    def rehearsed(self) -> Plan:
        """Made at the first rehearsal or the warm-up: a loop that has neither starts sooner."""
        return self._plan_of("rehearsed") if self._is_rehearsed_known else self.hot

    @property
    def made(self) -> list[Plan]:
        """All plans that were made so far."""
        return list({id(plan): plan for plan in vars(self).values() if isinstance(plan, Plan)}.values())

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
    the name of what failed (a feature, "size" or "the model"), and the exception or a text.
    """

    __slots__ = ("begun", "cell", "failures", "last", "now", "number", "plan", "planned", "reason", "slowdown", "start")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.start = self.now = self.begun = self.cell = 0
        self.slowdown = 1.0
        self.planned: Move | None = None
        self.last: Move | None = None
        self.number: int | float | None = None
        self.reason = ""
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
