"""The pace of work in another thread that holds up the loop: it waits for a moment with enough time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

MOST_WAIT_S = 2.0
"""After this time the work begins in any case: the loop may be idle, or never have so much time."""

SWITCH_S = 2e-4
"""How long another thread may go on when the loop wants to run; Python's default of 5 ms is longer than many deadlines.
"""

OPENING_S, OPENING_S_PER_BYTE = 1e-3, 3e-8
"""The time for which onnxruntime lets no other thread run when it opens a model: of any model, and for each byte."""


class Pace:
    """Lets another thread hold up the loop only when the loop has told that it has time.

    `most`: seconds after which the work begins in any case.
    """

    def __init__(self, most: float = MOST_WAIT_S) -> None:
        self._most = most
        self._told = Condition()
        self._left = 0.0
        self._wanted = False

    def offer(self, seconds: float) -> None:
        """Tell that the loop needs no processor for so long; called by the loop."""
        if self._wanted:
            with self._told:
                self._left = seconds
                self._told.notify()

    def wait(self, seconds: float) -> None:
        """Wait until the loop has so much time; called by the other thread before it holds up the loop."""
        with self._told:
            self._left, self._wanted = 0.0, True
            self._told.wait_for(lambda: self._left >= seconds, self._most)
            self._wanted = False

    def before_opening(self, model_bytes: int) -> None:
        """Wait for enough time to open a model of this size."""
        self.wait(OPENING_S + OPENING_S_PER_BYTE * model_bytes)


@contextmanager
def yielding() -> Iterator[None]:
    """Let threads take turns quickly within a ``with`` block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
