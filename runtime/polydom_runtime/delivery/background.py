"""The second thread of a node: it works in the spare time of the loop, and waits for enough of it to hold it up."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Condition, Thread

from polydom_runtime.causes import raised, report
from polydom_runtime.policy.loaded_models import before_opening
from polydom_runtime.supervision.linux import run_behind

Job = Callable[[], object]

MOST_WAIT_S = 2.0
"""After this time the work begins in any case: the loop may be idle, or never have enough time."""

SWITCH_S = 2e-4
"""How long another thread may go on when the loop wants to run; Python's default of 5 ms is longer than many deadlines.
"""

OPENING_S, OPENING_S_PER_BYTE = 1e-3, 3e-8
"""The time for which onnxruntime lets no other thread run when it opens a model: of any model, and for each byte."""


class Pace:
    """Lets another thread hold up the loop only when the loop has time, or after `most` seconds."""

    def __init__(self, most: float = MOST_WAIT_S) -> None:
        self._most = most
        self._told = Condition()
        self._left = 0.0
        self._wanted = False

    def offer(self, seconds: float) -> None:
        """Tell for how long the loop needs no processor; called by the loop."""
        if self._wanted:
            with self._told:
                self._left = seconds
                self._told.notify()

    def wait(self, seconds: float) -> None:
        """Wait until the loop has this much time; called by the other thread before it holds up the loop."""
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


class Background:
    """Does jobs in a thread, one after the other, and reports their exceptions. The pace allows models to be opened."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="polydom-following", daemon=True)
        self._thread.start()

    def do(self, job: Job) -> None:
        """Let a job be done. May be called by signal handlers."""
        self._jobs.put(job)

    def close(self, seconds: float) -> bool:
        """End the thread after the jobs so far; return whether it ended in this time."""
        self._jobs.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        before_opening.set(self._pace.before_opening)
        with suppress(OSError):
            run_behind()
        while (job := self._jobs.get()) is not None:
            try:
                with yielding():
                    job()
            except Exception as e:
                report(f"a new bundle: {raised(e)}")
            finally:
                del job  # which may hold a predictor that was closed
