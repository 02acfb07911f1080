"""A pytest plugin under which the time of day jumps: ``make test PYTEST_ADDOPTS="-p tests.jumping_clock"``.

What measures how long something takes must not ask for the time of day.
"""

import random
import time

DAY_NS = 86_400 * 10**9
JUMPS = 0.1
"""How often the clock jumps when it is read, by up to a day to either side."""

_true_ns, _draw = time.time_ns, random.Random(0)
_ahead_ns = 0


def _jumping_ns() -> int:
    global _ahead_ns
    if _draw.random() < JUMPS:
        _ahead_ns = _draw.randint(-DAY_NS, DAY_NS)
    return _true_ns() + _ahead_ns


time.time_ns = _jumping_ns
time.time = lambda: _jumping_ns() / 1e9
