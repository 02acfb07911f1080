"""What a node says when its margin cannot keep the promise: that it cannot, and at which deadline it could."""

from collections.abc import Iterable

from polydom_runtime.causes import report
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import percent

from .margin import Margin

RECENT = 400
"""The deadline that is named would have been enough for the last answers, and for as many."""

AT_LEAST, TOLD_AGAIN = 3, 10
"""It is told once three answers, and more than promised, were late that no margin avoids; then at ten times as many."""


class Shortfall:
    """Reports that a promised share of late answers cannot be kept within a deadline, which is in seconds."""

    def __init__(self, share: float, deadline: float) -> None:
        self._share, self._deadline, self._next = share, deadline, AT_LEAST

    def tell(self, margin: Margin, late: Iterable[tuple[int, int]], answers: int) -> None:
        """Log it after so many answers, if its turn has come; `late` as for `enough`."""
        if margin.beyond < max(self._next, self._share * answers):
            return
        self._next = TOLD_AGAIN * margin.beyond
        seconds = enough(late, answers, self._share) or self._deadline
        report(
            f"At most {percent(self._share)} of answers late cannot be promised here within "
            f"{format_seconds(self._deadline)}: {margin.beyond} were late that no margin avoids. "
            f"Without pauses, {format_seconds(seconds)} would have been enough for the last {min(answers, RECENT)} "
            "answers."
        )


def enough(late: Iterable[tuple[int, int]], answers: int, share: float) -> float:
    """Return the deadline, in seconds, that would have been kept as promised; 0 if the present one was.

    `late`: the numbers of the late ones among all answers, and the nanoseconds from the arrivals of their items.

    >>> late = [(40, 4_000_000), (80, 8_000_000), (120, 6_000_000)]
    >>> enough(late, 120, 0.01), enough(late, 400, 0.01), enough(late, 500, 0.0)
    (0.006, 0.0, 0.006)
    """
    recent = min(answers, RECENT)
    longest = sorted((took for number, took in late if number > answers - recent), reverse=True)
    allowed = int(share * recent)
    return longest[allowed] * 1e-9 if len(longest) > allowed else 0.0
