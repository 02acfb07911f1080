"""What a bundle promises: for which queries it has the best models, and what that rests on."""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from polydom_runtime.codec.marks import In, Text
from polydom_runtime.codec.unsound import Unsound
from polydom_runtime.costs import HUGE

from .bundle_times import MAX_SECONDS

PairCount = Annotated[int, In(0, 1 << 30)]


class Assumption(NamedTuple):
    """How far trained sets keep the assumption of a search: no set scores more than a superset plus the tolerance."""

    tolerance: float
    n_pairs: PairCount
    """Pairs of a trained set and a trained superset; of the first 8,000 sets, if there are more."""
    n_broken: PairCount
    """Those that break the assumption."""
    worst: Annotated[float, In(0.0, HUGE)]
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


@dataclass(frozen=True, slots=True)
class Promise:
    """The queries for which a bundle has the best models, and how far from the best possible they may be."""

    sizes: Annotated[tuple[float, float], In(0.0, HUGE)]
    """Range of item sizes that was measured."""
    budgets: Annotated[tuple[float, float], In(0.0, math.inf)]
    """Range of deadlines in seconds that the bundle was built for; equal if there is one deadline."""
    alpha: Annotated[float, In(1.0, math.inf)] = 1.0
    tolerance: Annotated[float, In(0.0, math.inf)] = 0.0
    """α and e of the paper, as the search used them."""
    slowdown: Annotated[float, In(1.0, HUGE)] = 1.0
    """The largest slow-down of the device for which it has the best models at the shortest of its deadlines."""
    stop_loss: Annotated[float, In(0.0, 1.0)] = 0.0
    """How much accuracy may be lost, at most, on the items that are answered early."""
    scoring: Annotated[str, Text(least=0)] = ""
    """The name of the score, as in scikit-learn, or of a callable; empty if it is not known."""
    assumption: Assumption | None = None
    """How far the trained sets kept to what the promise rests on; None if it is not known."""
    margin: Annotated[float | None, In(0.0, HUGE)] = None
    """By how much, with 95 % certainty, the score of another set may be above that of the chosen one, at each size and
    deadline, if sets that were not trained are like those that were; None if it was not estimated."""

    def _check(self) -> None:
        (smallest, largest), (shortest, longest), found = self.sizes, self.budgets, self.assumption
        if not (smallest <= largest and 1.0 / HUGE < largest < HUGE):  # its smallest parts must not become 0
            raise Unsound("have sizes from low to high, the largest one finite, and not tiny", self.sizes)
        if not (shortest <= longest and (0.0 < longest < MAX_SECONDS or longest == math.inf)):  # inf: for any budget
            raise Unsound(f"have budgets from low to high, above 0 and below {MAX_SECONDS:g} seconds", self.budgets)
        if found and not (found.tolerance == self.tolerance and found.n_broken <= found.n_pairs):
            raise Unsound("state the assumption for its tolerance, broken by some of the pairs at most", tuple(found))

    @property
    def covered(self) -> tuple[float, float]:
        """The range of budgets with the best models: the deadlines, the shortest one divided by `slowdown`."""
        return self.budgets[0] / self.slowdown, self.budgets[1]
