"""A space whose last feature kills the process after some calls: `POLYDOM_CRASH_AFTER` of them."""

import os
import signal
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from polydom_runtime import Feature, FeatureSpace
from tests.runtime import node_space

CALLS = count()
ANSWERS = 150


def ends(x: Any) -> list[float]:
    if next(CALLS) >= int(os.environ.get("POLYDOM_CRASH_AFTER", ANSWERS * 2)):
        os.kill(os.getpid(), signal.SIGKILL)
    return [x[0], x[-1], len(x)]


space = FeatureSpace([*node_space.space.features[:2], Feature("ends", ends, width=3)], size=len)


def items() -> Iterator[Any]:
    """Yield items with pauses, in which the node writes that the trial is over."""
    for _ in range(ANSWERS):
        time.sleep(1e-3)
        yield np.arange(40.0)
