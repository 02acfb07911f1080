"""A pytest plugin under which the time of day jumps: ``make test PYTEST_ADDOPTS="-p tests.jumping_clock"``.

What measures how long something takes must not ask for the time of day. Dask does, so ``tests/builder/test_cluster.py``
does not end then: leave it out by ``--deselect``.
"""

import random
import time

DAY_NS = 86_400 * 10**9
JUMPS = 0.1
"""How often the clock jumps when it is read, by up to a day to either side."""


def pytest_configure() -> None:
    """Let the clock jump in this process; to import this module changes nothing."""
    true_ns, draw, ahead_ns = time.time_ns, random.Random(0), 0

    def jumping_ns() -> int:
        nonlocal ahead_ns
        if draw.random() < JUMPS:
            ahead_ns = draw.randint(-DAY_NS, DAY_NS)
        return true_ns() + ahead_ns

    time.time_ns = jumping_ns
    time.time = lambda: jumping_ns() / 1e9
