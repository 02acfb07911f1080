"""Naive-Lookup, which uses no index, and the rule by which a candidate is the answer."""

import math
from collections.abc import Iterable, Sequence

from polydom_runtime.bundles.index import Candidate


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates by falling accuracy, equal ones by number of features and mask, the empty set last.

    Candidates that are not better than the empty set are excluded, as the empty set fits every budget. Of two equally
    good ones the answer is the one that costs less at the size of the query; if they cost the same, the first one.
    O(k log k).

    >>> from polydom_runtime.costs import CostFunction
    >>> empty = Candidate(0, (), 0.5, CostFunction.of(9))
    >>> [c.mask for c in ranked([empty, *(Candidate(m, (), a, CostFunction.of(1)) for m, a in ((3, 0.9), (4, 0.9)))])]
    [4, 3, 0]
    """
    given = list(candidates)
    empty = min((c for c in given if c.mask == 0), key=lambda c: -c.accuracy)
    better = (c for c in given if c.accuracy > empty.accuracy)
    return [*sorted(better, key=lambda c: (-c.accuracy, c.mask.bit_count(), c.mask)), empty]


class ScanIndex:
    """The best candidate for every size and every budget, by a scan of all candidates for each query.

    `candidates`: must hold the empty set, the answer when nothing better fits.

    `n_entries`: number of candidates that are stored.

    Examples
    --------
    >>> from polydom_runtime.costs import CostFunction
    >>> empty = Candidate(0, (), 0.5, CostFunction.of())
    >>> mean = Candidate(1, ("mean",), 0.7, CostFunction.of(8, linear=1))
    >>> spectrum = Candidate(2, ("spectrum",), 0.9, CostFunction.of(linear=3))
    >>> index = ScanIndex([mean, spectrum, empty])
    >>> [index.best(n, budget=16).accuracy for n in (3, 5, 6, 9)]
    [0.9, 0.9, 0.7, 0.5]
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.n_entries = len(candidates)
        *self._better, self._empty = ranked(candidates)

    def best(self, n: float, budget: float) -> Candidate:
        """Return the most accurate candidate whose cost at size `n` fits `budget`; the empty set if none does; O(k)."""
        best, least = self._empty, math.inf
        for candidate in self._better:
            cost = candidate.cost(n)
            if cost <= budget and (-candidate.accuracy, cost) < (-best.accuracy, least):
                best, least = candidate, cost
        return best
