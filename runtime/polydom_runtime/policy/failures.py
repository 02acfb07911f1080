"""Features that fail again and again."""

from collections.abc import Callable

from polydom_runtime.clock import Usage
from polydom_runtime.features import members
from polydom_runtime.stages import Trace

K_IN_A_ROW = 3
"""The number of failures in a row after which a feature is out."""

FIRST_PAUSE, MAX_PAUSE, MAX_PAUSE_OF_HUNG = 16, 256, 4096
"""Items until a feature that is out is tried again. The pause doubles each time that it is out again, up to the
longest; a feature that takes up the deadline has a longer one, since each try makes an answer late."""

NEVER = 1 << 62
"""The number of an item that does not come."""


class FailureBook:
    """Counts failures in a row of each feature, and tells the fault of a feature from that of an item or the machine.

    An item on which nothing works says nothing of a feature: it may be bad data. So a feature that failed often enough
    is *suspected* until another one works: on the same item or on the next one, for which suspects are left out so that
    others are tried. If these fail as well, nobody is suspected any more. When a feature comes back, so may all others
    that are out, since what made them fail is over.

    `usage`: returns what this thread has used so far. If given, a feature that took up the deadline is excused if it
    neither computed nor waited meanwhile: then the machine paused, or ran something else. `streaks`: failures in a row.
    `any`: whether any feature failed last time. `out`: the features that are out of the choice, as a bit mask.

    Examples
    --------
    >>> book = FailureBook(2)
    >>> for item in range(3):
    ...     book.failed(1)
    ...     book.judge(0b01, item)
    >>> book.out, book.banned(item=17), book.banned(item=18)
    (2, 2, 0)
    """

    __slots__ = ("_again", "_failed", "_levels", "_suspects", "_usage", "_used", "any", "out", "streaks")

    def __init__(self, n_features: int, usage: Callable[[], Usage] | None = None) -> None:
        self.streaks = [0] * n_features
        self.any = False
        self.out = self._failed = self._suspects = 0
        self._levels = [0] * n_features
        self._again = [0] * n_features
        self._usage = usage
        self._used: Usage | None = None

    def banned(self, item: int) -> int:
        """Return which features item number `item` must do without, as a bit mask: those that pause, and suspects."""
        self._used = self._usage and self._usage()
        return sum(1 << f for f in members(self.out) if item < self._again[f]) | self._suspects

    def failed(self, feature: int) -> None:
        """Note that a feature failed on the item in work; `judge` decides what it means."""
        self.any = True
        self._failed |= 1 << feature

    def hung(self, feature: int, item: int, taken_ns: int | None = None) -> None:
        """Count that a feature took up the whole deadline of an item, unless it is excused by the time that it took."""
        if taken_ns is not None and self._used is not None and self._usage is not None:
            now, before = self._usage(), self._used
            if now.waits == before.waits and 2 * (now.cpu_ns - before.cpu_ns) < taken_ns:
                return
        self.any = True
        self.streaks[feature] += 1
        if self.streaks[feature] >= K_IN_A_ROW:
            self._leave_out(feature, item, MAX_PAUSE_OF_HUNG)

    def judge_trace(self, trace: Trace, worked: int, item: int, deadline_ns: int) -> None:
        """Judge as `judge`, after telling the features that took up the deadline alone from those that worked."""
        times = {f: b - a for f, a, b in zip(trace.features, trace.marks[1:], trace.marks[2:], strict=False)}
        for feature in members(worked):
            if times[feature] > deadline_ns:
                self.hung(feature, item, times[feature])
                worked ^= 1 << feature
        self.judge(worked, item)

    def judge(self, worked: int, item: int) -> None:
        """Judge the features that failed on item number `item`, on which others worked: these as a bit mask."""
        failed, self._failed, self._used = self._failed, 0, None
        for feature in members(failed):
            self.streaks[feature] += 1
        often = sum(1 << f for f in members(failed | self._suspects) if self.streaks[f] >= K_IN_A_ROW)
        if worked:
            for feature in members(often & ~worked):
                self._leave_out(feature, item, MAX_PAUSE)
            self._suspects = 0
            self._welcome(worked, item)
        else:
            self._suspects = often
            for feature in members(failed & self.out):
                self._again[feature] = item + self._pause(feature, MAX_PAUSE)
            if not failed or (often | self.out) == (1 << len(self.streaks)) - 1:
                self._forget(often & ~self.out)
                self._suspects = 0
        self.any = any(self.streaks)

    def resting(self, unsteady: int) -> "FailureBook":
        """Return another book, for answers that do not count: without `unsteady` features and those that failed."""
        book = FailureBook(len(self.streaks))
        book.out = sum(1 << feature for feature, streak in enumerate(self.streaks) if streak) | unsteady
        book.any = self.any or unsteady > 0
        book._again = [NEVER] * len(self.streaks)
        return book

    def _leave_out(self, feature: int, item: int, longest: int) -> None:
        self.out |= 1 << feature
        self._levels[feature] += 1
        self._again[feature] = item + self._pause(feature, longest)

    def _pause(self, feature: int, longest: int) -> int:
        return min(FIRST_PAUSE << min(self._levels[feature] - 1, 20), longest)

    def _welcome(self, worked: int, item: int) -> None:
        """Forget the failures of features that worked; if one was out, the next item tries all others that are."""
        back = worked & self.out
        self._forget(worked)
        for feature in members(self.out if back else 0):
            self._again[feature] = item + 1

    def _forget(self, mask: int) -> None:
        self.out &= ~mask
        for feature in members(mask):
            self.streaks[feature] = self._levels[feature] = 0
