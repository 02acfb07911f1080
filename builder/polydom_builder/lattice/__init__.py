"""The searches for the feature sets worth training: the one that ships, best first, and those of the paper."""

from .best_first import expand_best_first
from .every_set import expand_all
from .layers import expand_layers
from .monotonicity import Violations, estimate_tolerance, violations
from .printed import expand_as_printed, select_as_printed
from .progressive import Progress, expand_progressively, proven_alpha
from .witnesses import Fewest, fewest_trainings

__all__ = [
    "Fewest",
    "Progress",
    "Violations",
    "estimate_tolerance",
    "expand_all",
    "expand_as_printed",
    "expand_best_first",
    "expand_layers",
    "expand_progressively",
    "fewest_trainings",
    "proven_alpha",
    "select_as_printed",
    "violations",
]
