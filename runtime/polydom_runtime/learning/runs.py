"""A promise about late answers in a row: of any so many answers at most so many are late."""

from collections import deque
from typing import Annotated, NamedTuple

from polydom_runtime.causes import shown
from polydom_runtime.codec.marks import In
from polydom_runtime.exceptions import DeadlineError

LONGEST_WINDOW = 1_000_000
"""A window may hold as many answers: those of them that were late are kept in memory."""


class RunsOutcome(NamedTuple):
    """How a promise about late answers in a row was kept."""

    most: Annotated[int, In(0, LONGEST_WINDOW)]
    window: Annotated[int, In(1, LONGEST_WINDOW)]
    """`most`, `window`: at most so many of any so many answers in a row were to be late."""
    broken: Annotated[int, In(0, 10**18)]
    """How many answers were late although they must not be."""
    worst: Annotated[int, In(0, LONGEST_WINDOW)]
    """How many were late in the window with the most."""

    def __str__(self) -> str:
        outcome = f"broken, {self.broken:,} too many" if self.broken else "kept"
        return f"late at most {self.most:,} of any {self.window:,} answers: {outcome}, {self.worst:,} in the worst case"


class Runs:
    """The promise that of any `window` answers in a row at most `most` are late.

    `careful`: whether the next answer must not be late, and so is planned by worst cases. `broken`, `worst`: as in
    `RunsOutcome`.

    Examples
    --------
    >>> runs, careful = Runs(1, 3), []
    >>> for late in (False, True, False, False, False):
    ...     runs.add(late)
    ...     careful.append(runs.careful)
    >>> careful
    [False, True, True, False, False]
    """

    __slots__ = ("_answers", "_late", "broken", "careful", "most", "window", "worst")

    def __init__(self, most: int, window: int) -> None:
        self.most, self.window = most, window
        self._late = deque[int]()
        self._answers = self.broken = self.worst = 0
        self.careful = most == 0

    @classmethod
    def of(cls, promise: tuple[int, int]) -> "Runs":
        """Return the count that keeps a promise; DeadlineError unless it is two whole numbers 0 ≤ m < K."""
        match promise:
            case (int() as most, int() as window) if 0 <= most < window <= LONGEST_WINDOW:
                return cls(most, window)
        raise DeadlineError(
            "The promise about late answers in a row must be two whole numbers m and K, for at most m late ones among "
            f"any K, with 0 <= m < K <= {LONGEST_WINDOW:,}. Got {shown(promise)}. Write (1, 20) for at most one of any "
            "twenty."
        )

    def add(self, late: bool) -> None:
        """Note an answer."""
        self._answers += 1
        if late:
            self.broken += self.careful
            self._late.append(self._answers)
            self.worst = max(self.worst, len(self._late))
        if self._late and self._late[0] <= self._answers - self.window + 1:
            self._late.popleft()  # it is in no window together with the next answer
        self.careful = len(self._late) >= self.most

    @property
    def outcome(self) -> RunsOutcome:
        """How the promise was kept so far."""
        return RunsOutcome(self.most, self.window, self.broken, self.worst)
