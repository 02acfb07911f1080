"""The quality of a timer: its resolution, the cost of a reading, and whether it ever goes backwards."""

from itertools import pairwise
from statistics import median_low

from polydom_runtime.clock import Clock

READINGS = 2000
MAX_READINGS = 500_000
"""The limit of readings; a timer that moves every 4 ms is read about 40,000 times between two moves."""

MOVES = 3


def timer_tick_ns(clock: Clock) -> int:
    """Return the resolution of the timer in nanoseconds; 0 if it stands still.

    It is the smallest difference, above rounding, between two different steps. A timer that counts at 54 MHz moves in
    steps of 55, 56, 74 or 75 ns: the resolution is 18 ns. If all steps are about the same, the result is that step,
    which is the upper limit of the resolution.
    """
    steps, moves = {0}, 0
    last = clock()
    for k in range(MAX_READINGS):
        now = clock()
        if now > last:
            steps.add(now - last)
            moves += 1
        last = now
        if k >= READINGS and moves >= MOVES:
            break
    gaps = [b - a for a, b in pairwise(sorted(steps))]
    return min((gap for gap in gaps if gap > 1), default=max(gaps, default=0))


def reading_ns(clock: Clock) -> int:
    """Return the cost of a reading: the median time between two readings in a row, in nanoseconds."""
    taken = []
    for _ in range(READINGS):
        start = clock()
        taken.append(clock() - start)
    return median_low(taken)


def step_back_ns(clock: Clock) -> int:
    """Return the largest step backwards among many readings, in nanoseconds; 0 if there was none."""
    readings = [clock() for _ in range(READINGS)]
    return max(0, *(a - b for a, b in pairwise(readings)))
