"""Fakes for tests of code that uses the runtime."""


class ManualClock:
    """A clock that moves only when told to, and by `step_ns` with each reading.

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
        """Move time forward; it never runs backwards."""
        if seconds < 0:
            raise ValueError(f"seconds must be >= 0, since the clock is monotonic. Got {seconds}.")
        self.now_ns += round(seconds * 1e9)
