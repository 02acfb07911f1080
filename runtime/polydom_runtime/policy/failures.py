"""Features that fail again and again: they are left out of the choice, and tried again ever more rarely."""

K_IN_A_ROW = 3
"""With this many failures in a row a feature is out."""

FIRST_PAUSE, MAX_PAUSE = 16, 4096
"""Items until a feature that is out is tried again. The pause doubles with each further failure, up to the longest."""

NEVER = 1 << 62
"""The number of an item that does not come."""


class FailureBook:
    """Counts failures in a row of each feature.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    streaks : list of int
        Failures in a row.
    any : bool
        Whether any feature failed last time.
    out : int
        The features that are out of the choice, as a bit mask.

    Examples
    --------
    >>> book = FailureBook(2)
    >>> for item in range(3):
    ...     book.failed(1, item)
    >>> book.out, book.banned(item=17), book.banned(item=18)
    (2, 2, 0)
    """

    __slots__ = ("_again", "any", "out", "streaks")

    def __init__(self, n_features: int) -> None:
        self.streaks = [0] * n_features
        self.any = False
        self.out = 0
        self._again = [0] * n_features

    def failed(self, feature: int, item: int) -> None:
        """Count a failure, at item number `item`."""
        self.any = True
        self.streaks[feature] += 1
        excess = self.streaks[feature] - K_IN_A_ROW
        if excess >= 0:
            self.out |= 1 << feature
            self._again[feature] = item + min(FIRST_PAUSE << min(excess, 20), MAX_PAUSE)

    def worked(self, mask: int) -> None:
        """Forget the failures of features that were computed."""
        for feature, streak in enumerate(self.streaks):
            if streak and mask >> feature & 1:
                self.streaks[feature] = 0
                self.out &= ~(1 << feature)
        self.any = any(self.streaks)

    def resting(self) -> "FailureBook":
        """Return another book, for answers that do not count: without all features that failed last time."""
        book = FailureBook(len(self.streaks))
        book.out = sum(1 << feature for feature, streak in enumerate(self.streaks) if streak)
        book._again = [NEVER] * len(self.streaks)
        return book

    def banned(self, item: int) -> int:
        """Return which features item number `item` must do without, as a bit mask: those that pause."""
        mask = self.out
        for feature, again in enumerate(self._again):
            if mask >> feature & 1 and item >= again:
                mask ^= 1 << feature
        return mask
