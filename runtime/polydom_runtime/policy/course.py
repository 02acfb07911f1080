"""How the item in work is going: what the parts of `Predictor.predict_one` hand on to each other."""

from bisect import bisect_right
from collections.abc import Collection, Sequence

from .loaded_models import LoadedModel
from .plan import Plan
from .states import Move, State


class Course:
    """The course of one item. A predictor has one, and overwrites it with every item: to make it takes longer.

    `plan`: of the regime that the item came in. `start`, `begun`, `now`: clock readings in nanoseconds: when the budget
    began, which is the arrival unless the item could wait without a loss; the call, moved on by the time of failures,
    which says nothing of how slow the machine is; and the last decision. `slowdown`: how much slower than measured the
    machine is taken to be. `planned`, `last`: the first move and the last one. `number`: what the state's model has
    said already. `reason`: why the plan was not followed; empty if it was. `failures`: what failed, and how: the name
    of a feature, "size" or "the model", and the exception or a text.
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
