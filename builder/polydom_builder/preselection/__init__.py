"""Pre-selection: of hundreds of features the few that are worth a lattice."""

from .selector import BlockSelector

__all__ = ["BlockSelector"]
