"""The searches for the feature sets worth training: the paper's, layer by layer, and the one that ships, best first."""

from .best_first import expand_best_first
from .layers import expand_layers

__all__ = ["expand_best_first", "expand_layers"]
