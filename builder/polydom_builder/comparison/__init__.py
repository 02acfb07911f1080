"""Comparison of two bundles or of two costs files: what changed, and whether it is worse than allowed."""

from .comparison import Comparison
from .limits import Limits
from .load import compare_files

__all__ = ["Comparison", "Limits", "compare_files"]
