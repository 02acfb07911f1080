"""How the item in work is going: what the parts of `Predictor.predict_one` hand on to each other."""

from .plan import Plan
from .states import Move


class Course:
    """The course of one item. A predictor has one, and overwrites it with every item: to make it takes longer.

    `plan`: of the regime that the item came in. `start`: the clock reading from which the budget counts, in
    nanoseconds: when the item arrived, or when it was handed over, if it could wait until then without a loss.
    `slowdown`: how much slower than measured the machine is taken to be. `cell`: of the item's size. `planned`, `last`:
    the first move and the last one; None if there was none. `now`: the clock reading when the last decision was made:
    no more features. `begun`: the clock reading at the call, moved on by the time of failures, which says nothing of
    how slow the machine is. `number`: what the state's model has said already. `reason`: why the plan was not followed;
    empty if it was. `failures`: what failed, and how: the name of a feature, "size" or "the model", and the exception
    or a text.
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
