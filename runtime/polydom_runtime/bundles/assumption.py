"""How far the trained sets keep the assumption that the promise of a bundle rests on."""

import math
from typing import NamedTuple


class Assumption(NamedTuple):
    """How far trained sets keep the assumption of a search: no set scores more than a superset plus the tolerance."""

    tolerance: float
    n_pairs: int
    """Pairs of a trained set and a trained superset; of the first 8,000 sets, if there are more."""
    n_broken: int
    """Those that break the assumption."""
    worst: float
    """The largest violation."""

    def __str__(self) -> str:
        if not self.n_broken:
            return f"the tolerance of {self.tolerance:g} holds for all {self.n_pairs} pairs of trained sets"
        up = math.ceil(self.worst * 1e3) / 1e3
        return (
            f"the tolerance of {self.tolerance:g} does not hold for {self.n_broken} of {self.n_pairs} pairs of trained "
            f"sets, which differ by up to {self.worst:.3g}; sets that were not trained may be better by as "
            f"much: a tolerance of {up:g} would hold"
        )
