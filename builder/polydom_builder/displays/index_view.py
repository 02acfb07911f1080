"""What pictures need of an index, be it of a fitted search or of a bundle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polydom_builder.sets.expected_queries import ExpectedQueries
from polydom_builder.simulation.policies import spread_deadlines
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.greedy import GreedyIndex
from polydom_runtime.bundles.index import Candidate, PolyDomIndex
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.policy.deadline import ROUNDING

N_SIZES = 32
AROUND = (1.0 / 3.0, 2.0)
"""The multiples of the deadline between which pictures show an index for one deadline."""


@dataclass(frozen=True, slots=True)
class IndexView:
    """An index, the range that it is for, and the times that it was made with."""

    names: tuple[str, ...]
    """The names of the features."""
    index: PolyDomIndex | GreedyIndex
    candidates: Sequence[Candidate]
    """All sets with a model: more than those of the index, perhaps. The first one is the empty set."""
    worst: UnitTimes
    typical: UnitTimes
    sizes: tuple[float, ...]
    """Item sizes, each as likely as the others."""
    size_range: tuple[float, float]
    budgets: tuple[float, float]
    """`size_range`: smallest and largest item size. `budgets`: shortest and longest deadline, in seconds."""
    scoring: str
    """The name of the score; empty if it is not known."""

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> "IndexView":
        """Return the view of a bundle. Sizes that it does not state are spread evenly on a logarithmic scale."""
        promise = bundle.promise
        low, high = (max(size, 1e-9) for size in promise.sizes)
        sizes = bundle.shipping.sizes or tuple(np.geomspace(low, high, N_SIZES).tolist())
        candidates = (bundle.empty, *map(bundle.candidate, range(len(bundle.models))))
        times, scoring = bundle.times, promise.scoring
        return cls(
            *(bundle.names, bundle.index, candidates, times.worst, times.typical),
            *(sizes, promise.sizes, promise.budgets, scoring),
        )

    @classmethod
    def of_search(cls, search: Any) -> "IndexView":
        """Return the view of a fitted search; NotFittedError if it is not fitted."""
        check_is_fitted(search, "index_")
        index, times, sizes = search.index_, search.target_, search.region_.sizes
        typical = times.planned[min(times.planned)] if times.planned else times.worst
        return cls(
            *(search.space_.names, index, index.candidates, times.worst, typical, tuple(sorted(search.sizes_))),
            *(sizes, search.promised_budgets(), search.scoring if isinstance(search.scoring, str) else ""),
        )

    @property
    def prior(self) -> float:
        """The score of the answer without features."""
        return self.candidates[0].accuracy

    @property
    def score(self) -> str:
        """The name of the score, for an axis."""
        return self.scoring.replace("_", " ") or "score"

    @property
    def queries(self) -> ExpectedQueries:
        """Sizes and deadlines over which scores are averaged."""
        costs = [candidate.cost for candidate in self.candidates]
        return ExpectedQueries.of(self.sizes, self.size_range, self.budgets, costs)

    def deadlines(self, count: int) -> list[float]:
        """Return rising deadlines in seconds for a picture: of the range, or around a single one."""
        low, high = self.budgets
        around = (low * AROUND[0], high * AROUND[1]) if low == high else self.budgets
        own = {low} if low == high else set()
        return sorted({*spread_deadlines(around, self.size_range, self.candidates, count), *own})

    def promises(self, deadline: float) -> bool:
        """Return whether a deadline is in the range that the index is for."""
        low, high = self.budgets
        return low * (1.0 - ROUNDING) <= deadline <= high * (1.0 + ROUNDING)
