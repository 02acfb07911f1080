"""Poly-Dom on the host: from items and labels to a bundle that the node decides with."""

from .region import QueryRegion
from .search import PolyDomSearch
from .set_costs import SetCosts
from .unit_costs import UnitCosts

__version__ = "0.1.0"

__all__ = ["PolyDomSearch", "QueryRegion", "SetCosts", "UnitCosts"]
