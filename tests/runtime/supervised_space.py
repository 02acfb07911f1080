"""A feature space whose last feature does what the item says: nothing, or one of the faults that a node may meet."""

import ctypes
import os
import signal
import time
from collections.abc import Callable

import numpy as np

from polydom_runtime import Feature, FeatureSpace

FOREVER_S = 3600
STEPS_ASIDE, HOLDS_THE_LOCK, CRASHES, EXITS, STOPS, RAISES, NOT_A_NUMBER, WRONG_WIDTH, HUGE = range(1, 10)


def _sleep_with_lock() -> None:
    usleep = ctypes.PyDLL(None).usleep  # PyDLL keeps the interpreter's lock through the call
    for _ in range(FOREVER_S):
        usleep(1_000_000)


FAULTS: dict[int, Callable[[], object]] = {
    STEPS_ASIDE: lambda: time.sleep(FOREVER_S),
    HOLDS_THE_LOCK: _sleep_with_lock,
    CRASHES: lambda: ctypes.string_at(0),
    EXITS: lambda: os._exit(0),
    STOPS: lambda: os.kill(os.getpid(), signal.SIGSTOP),
    RAISES: lambda: 1 / 0,
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
