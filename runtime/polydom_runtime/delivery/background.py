"""The second thread of a node: what takes long is done there, in the spare time of the loop."""

from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from polydom_runtime.causes import raised, report
from polydom_runtime.policy.loaded_models import before_opening
from polydom_runtime.supervision.linux import run_behind

from .pace import Pace, yielding

Job = Callable[[], object]


class Background:
    """Does jobs in a thread, one after the other. What they raise is reported.

    `pace`: models are opened when it allows it.
    """

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
