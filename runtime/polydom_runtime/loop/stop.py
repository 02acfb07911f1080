"""The end of a loop from outside, also while it waits for its source."""

from collections.abc import Callable, Iterator
from typing import Any


class StopWaiting(BaseException):
    """Raised where the loop waits for something that may take forever, after it was told to stop."""


class Stop:
    """Whether a loop is to stop after the item in work, and whether it now waits for something without an end."""

    __slots__ = ("requested", "waiting")

    def __init__(self) -> None:
        self.requested = self.waiting = False

    def on_signal(self, signum: int, frame: object) -> None:
        """Handle a signal in the thread of the loop: `StopWaiting` leaves a call that may take forever."""
        self.requested = True
        if self.waiting:
            raise StopWaiting

    def next_of(self, items: Iterator[Any]) -> Any:
        """Return the next item, as `next` does; see `call`."""
        return self.call(next, items)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that may take forever; `StopWaiting` if the loop is to stop, before or meanwhile."""
        self.waiting = True  # from here on a signal raises; one that came earlier is seen in the next line
        try:
            if self.requested:
                raise StopWaiting
            return function(*arguments)
        finally:
            self.waiting = False
