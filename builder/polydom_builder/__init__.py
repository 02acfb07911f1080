"""Poly-Dom on the host: from items and labels to a bundle that the node decides with."""

from .costs.unit_costs import UnitCosts
from .lattice.region import QueryRegion
from .lattice.set_costs import SetCosts
from .search import PolyDomSearch

__version__ = "0.1.0"

__all__ = ["PolyDomSearch", "QueryRegion", "SetCosts", "UnitCosts"]
