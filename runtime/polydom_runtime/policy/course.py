"""How the item in work is going: what the parts of `Predictor.predict_one` hand on to each other."""

from .plan import Plan
from .states import Move


class Course:
    """The course of one item. A predictor has one, and overwrites it with every item: to make it takes longer.

    Attributes
    ----------
    plan : Plan
        Of the regime that the item came in.
    start : int
        The clock reading from which the budget counts, in nanoseconds: when the item arrived, or when it was handed
        over, if it could wait until then without a loss.
    slowdown : float
        How much slower than measured the machine is taken to be.
    cell : int
        Of the item's size.
    planned, last : Move, optional
        The first move and the last one; None if there was none.
    now : int
        The clock reading when the last decision was made: no more features.
    begun : int
        The clock reading at the call, moved on by the time of failures, which says nothing of how slow the machine is.
    number : int or float, optional
        What the state's model has said already.
    reason : str
        Why the plan was not followed; empty if it was.
    failures : list of pairs
        What failed, and how: the name of a feature, "size" or "the model", and the exception or a text.
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
