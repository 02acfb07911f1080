"""Poly-Dom on the host: from items and labels to a bundle that the node decides with.

What this module exports is promised; everything else may move between versions.
"""

from .costs.set_costs import SetCosts
from .exceptions import ExportError, FitError, LatticeError, RegionError, TrainingError
from .greedy_search import GreedySearch
from .lattice.region import QueryRegion
from .preselection import BlockSelector
from .search import PolyDomSearch
from .verification import verify_bundle

__version__ = "0.1.0"

__all__ = [
    "BlockSelector",
    "ExportError",
    "FitError",
    "GreedySearch",
    "LatticeError",
    "PolyDomSearch",
    "QueryRegion",
    "RegionError",
    "SetCosts",
    "TrainingError",
    "verify_bundle",
]
