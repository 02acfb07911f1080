"""The searches of the lattice: which feature sets are worth training, and which are kept."""

from .best_first import expand_best_first
from .monotonicity import Violations, estimate_tolerance, violations
from .progressive import Progress, expand_progressively, proven_alpha
from .witnesses import Fewest, fewest_trainings

__all__ = [
    "Fewest",
    "Progress",
    "Violations",
    "estimate_tolerance",
    "expand_best_first",
    "expand_progressively",
    "fewest_trainings",
    "proven_alpha",
    "violations",
]
