"""Fakes for tests of code that uses the runtime."""


class ManualClock:
    """A clock that moves only by `advance`, and by `step_ns` at each reading.

    Parameters
    ----------
    start_ns, step_ns : int
        Nanoseconds.

    Examples
    --------
    >>> clock = ManualClock()
    >>> clock.advance(seconds=2e-6)
    >>> clock()
    2000
    """

    def __init__(self, start_ns: int = 0, step_ns: int = 0) -> None:
        self.now_ns = start_ns
        self._step_ns = step_ns

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        self.now_ns += self._step_ns
        return self.now_ns

    def advance(self, *, seconds: float) -> None:
        """Move time forward; it never runs backwards.

        Raises
        ------
        ValueError
            If `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"seconds must be >= 0, since the clock is monotonic. Got {seconds}.")
        self.now_ns += round(seconds * 1e9)
