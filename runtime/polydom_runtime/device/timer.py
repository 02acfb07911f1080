"""What the timer itself is like: how fine it is, what a reading costs, whether it ever goes back."""

from itertools import pairwise
from statistics import median_low

from polydom_runtime.clock import Clock

READINGS = 2000
MAX_READINGS = 500_000
"""A timer that moves once in 4 ms is read some 40,000 times between two moves."""

MOVES = 3


def timer_tick_ns(clock: Clock) -> int:
    """Return the timer's resolution: the smallest difference between two steps that is more than rounding.

    Steps of a timer that counts at 54 MHz are 55, 56, 74 or 75 ns, hence 18. Where all steps are about the same, it is
    that step, the most that the resolution can be; a timer that stands still gives 0.
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
    """Return how long nothing seems to take between two readings: the median of what one reading costs."""
    taken = []
    for _ in range(READINGS):
        start = clock()
        taken.append(clock() - start)
    return median_low(taken)


def step_back_ns(clock: Clock) -> int:
    """Return the largest step back among many readings, 0 if there was none."""
    readings = [clock() for _ in range(READINGS)]
    return max(0, *(a - b for a, b in pairwise(readings)))
