"""What was computed for the last item, and when."""

import math

from polydom_runtime.costs import format_seconds


class Trace:
    """The way to one answer. A predictor overwrites its trace with every item.

    `size`: of the item; NaN if it has no size. `features`: positions of the features that were begun, in order,
    including those that failed. `marks`: clock readings in nanoseconds: the call, the start of each feature, the start
    of the model, the end. The time that the item waited before the call is not among them.
    """

    __slots__ = ("features", "marks", "size")

    def __init__(self) -> None:
        self.size = math.nan
        self.features: list[int] = []
        self.marks: list[int] = [0, 0, 0]

    def __repr__(self) -> str:
        taken = format_seconds((self.marks[-1] - self.marks[0]) * 1e-9)
        return f"<Trace of an item of size {self.size:g}: features {self.features} in {taken}>"
