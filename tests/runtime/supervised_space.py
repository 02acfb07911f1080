"""A feature space whose last feature does what the item says: nothing, or one of the faults that a node may meet.

A worker says that it hangs before it does, and `reply_unless_hung` waits no longer. So a test can have a deadline that
no machine is too busy for, and still need not wait for its end.
"""

import ctypes
import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np

from polydom_runtime import Feature, FeatureSpace
from polydom_runtime.clock import hardware_clock
from polydom_runtime.supervision.worker import Link, Reply

FOREVER_S = 3600
STEPS_ASIDE, HOLDS_THE_LOCK, CRASHES, EXITS, STOPS, RAISES, NOT_A_NUMBER, WRONG_WIDTH, HUGE, HANGS_AFTER_TWO = range(
    1, 11
)


HUNG = "hung"
"""The name that a worker gives itself, since another process can read it and it ends with the worker."""

LOOK_NS = 5_000_000
"""How often to look for that name."""


def is_hung(pid: int) -> bool:
    """Tell whether a process has said that it hangs."""
    return Path(f"/proc/{pid}/comm").read_text().rstrip() == HUNG


def reply_unless_hung(link: Link, nanoseconds: int) -> Reply | None:
    """Return a worker's reply if it comes within this time; None at once if the worker hangs."""
    end = hardware_clock() + nanoseconds
    while True:
        left = end - hardware_clock()
        reply = link.reply(min(left, LOOK_NS))
        if reply is not None or left <= LOOK_NS or is_hung(link.pid):
            return reply


def _hang(wait: Callable[[], object]) -> Callable[[], None]:
    def hang() -> None:
        Path("/proc/self/comm").write_text(HUNG)
        wait()

    return hang


def _sleep_with_lock() -> None:
    usleep = ctypes.PyDLL(None).usleep  # PyDLL keeps the interpreter's lock through the call
    for _ in range(FOREVER_S):
        usleep(1_000_000)


_calls = count()


def _hang_after_two() -> None:
    """Hang in a worker that is being warmed up: the nursery, from which it is forked, has called this twice by then."""
    if next(_calls) >= 2:
        _hang(_sleep_with_lock)()


FAULTS: dict[int, Callable[[], object]] = {
    STEPS_ASIDE: _hang(lambda: time.sleep(FOREVER_S)),
    HOLDS_THE_LOCK: _hang(_sleep_with_lock),
    CRASHES: lambda: ctypes.string_at(0),
    EXITS: lambda: os._exit(0),
    STOPS: _hang(lambda: os.kill(os.getpid(), signal.SIGSTOP)),
    RAISES: lambda: 1 / 0,
    HANGS_AFTER_TWO: _hang_after_two,
}
WRONG: dict[int, Callable[[], object]] = {
    NOT_A_NUMBER: lambda: [1.0, float("nan"), 2.0],
    WRONG_WIDTH: lambda: [1.0, 2.0],
    HUGE: lambda: np.zeros(10_000_000),
}


def ends(x: np.ndarray) -> object:
    """Return three numbers, unless the first number of the item is a fault."""
    kind = int(x[0])
    FAULTS.get(kind, lambda: None)()
    return WRONG.get(kind, lambda: [x[0], x[-1], len(x)])()


space = FeatureSpace(
    [
        Feature("mean", lambda x: [x.mean()]),
        Feature("spread", lambda x: [x.min(), x.max()], width=2),
        Feature("ends", ends, width=3),
    ],
    size=len,
)
