"""How many trainings a search by gain may still need."""

import math
from collections.abc import Sequence

import numpy as np

from polydom_builder.lattice.by_gain import Step

FEWEST = 6
"""Steps from which an estimate is made."""


def trainings_left(steps: Sequence[Step]) -> int | None:
    """Return about how many trainings a search still needs until no gain is worth one; None if that is not foreseeable.

    Gains fall by about the same factor with each training, in the mean over many. The factor is that of the later half
    of the steps, by least squares. It is a guess for people: gains jump, and the true number is often half or twice it.

    Examples
    --------
    Each training halves the gain; from 2⁻⁸ on it is not worth one, after two more trainings:

    >>> trainings_left([Step(k, 0.5**k, 0.1, 0.01, worth=2**-8) for k in range(7)])
    2
    >>> trainings_left([Step(k, 0.1, 0.1, 0.01, worth=2**-8) for k in range(7)]) is None
    True
    """
    later = steps[len(steps) // 2 :]
    if len(steps) < FEWEST or min(step.worth for step in later) <= 0.0:
        return None
    counts = np.array([step.n_trained for step in later], dtype=np.float64)
    # A gain of 0 would be minus infinity; what is below the worth needs no more trainings in any case.
    above = np.array([math.log(max(step.gain / step.worth, 0.5)) for step in later])
    slope, start = np.polyfit(counts, above, 1)
    if slope >= -1e-6:
        return None
    return max(math.ceil(round(float(-start / slope - counts[-1]), 9)), 1)
