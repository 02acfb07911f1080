"""Pre-selection: choose the few features for the lattice from hundreds."""

from .selector import BlockSelector

__all__ = ["BlockSelector"]
