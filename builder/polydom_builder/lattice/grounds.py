"""What the margin of a search by gain rests on, as plain numbers: a check needs nothing else of the search."""

from dataclasses import dataclass

from polydom_runtime.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The errors of the trained sets, and the guesses of the scores of the others."""

    margin: float
    """>= 0. By how much, with 95 % certainty, another set may be better than the one that answers."""
    parts: Floats
    """Shape (n_trained, n_blocks). What each block of held-out items contributes to the score of each trained set."""
    shares: Floats
    """Shape (n_blocks,). How much each block counts in a score; they sum to 1."""
    inflation: float
    """>= 1. The factor of the variance for what folds share."""
    noise: float
    """>= 0. The typical standard error of the difference between a trained set and the one that answers in its
    place."""
    scale: tuple[float, float, float, float]
    """Ceiling, unit, mean and deviation of the scores; see `Scale`."""
    shape: tuple[float, float, float, float, float]
    """Scale, slope, local, length and noise of the Gaussian process; see `Shape`."""
    all_weighed: bool
    """Whether the scores of all untrained sets that fit were guessed, and not those of a part of them."""
