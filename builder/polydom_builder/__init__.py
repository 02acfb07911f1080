"""Poly-Dom on the host: from items and labels to a bundle that the node decides with."""

from .costs.set_costs import SetCosts
from .costs.unit_costs import UnitCosts
from .greedy_search import GreedySearch
from .lattice.region import QueryRegion
from .preselection import BlockSelector
from .search import PolyDomSearch

__version__ = "0.1.0"

__all__ = ["BlockSelector", "GreedySearch", "PolyDomSearch", "QueryRegion", "SetCosts", "UnitCosts"]
