"""The paper's systems, each built on a world in which the score of every feature set is known."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polydom_builder.index.envelope import build_index
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.lattice.greedy import PAPER_LAMBDAS, greedy_sequences
from polydom_builder.sets.inputs import CostsOfSets
from polydom_builder.sets.region import QueryRegion
from polydom_runtime import Candidate, PolyDomIndex
from polydom_runtime.bundles.greedy import GreedyIndex

from .algorithms.all_crossings import AllCrossingsIndex
from .algorithms.every_set import expand_all
from .algorithms.layers import expand_layers
from .algorithms.printed import expand_as_printed, select_as_printed
from .algorithms.scan import ScanIndex
from .algorithms.sweep import sweep_index

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class World:
    """Costs, scores and the region of queries that all systems share.

    Parameters
    ----------
    costs : CostsOfSets
    scores : array of shape (2 ** n_features,)
        a(S) for every mask; they need not be monotone.
    region : QueryRegion
        The queries that may occur.
    median_size : float
        The size of item at which Greedy plans.
    """

    costs: CostsOfSets
    scores: NDArray[np.float64]
    region: QueryRegion
    median_size: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.costs.n_features

    def score(self, masks: Sequence[int]) -> list[float]:
        """Look up the scores that a training would give."""
        known: list[float] = self.scores[list(masks)].tolist()
        return known

    def with_budget(self, c0: float) -> "World":
        """Return the world in which every item has the budget c0 (Prob-c0-Fixed)."""
        return replace(self, region=QueryRegion(self.region.sizes, (c0, c0)))

    def with_size(self, n0: float) -> "World":
        """Return the world in which every item has the size n0 (Prob-n0-Fixed)."""
        return replace(self, region=QueryRegion((n0, n0), self.region.budgets))

    def candidates(self, masks: Sequence[int]) -> list[Candidate]:
        """Return the sets as candidates for an index; the names of features are their numbers."""
        return [self.candidate([i for i in range(self.n_features) if mask >> i & 1]) for mask in masks]

    def candidate(self, order: Sequence[int]) -> Candidate:
        """Return the set of these features, computed in this order."""
        mask = sum(1 << i for i in order)
        return Candidate(mask, tuple(str(i) for i in order), float(self.scores[mask]), self.costs(mask))


class Index(Protocol):
    """The index that a system answers from."""

    def best(self, n: float, budget: float) -> Candidate:
        """Return a candidate that fits `budget` at size `n`, or the empty set."""
        ...


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """A system after its offline phase.

    Parameters
    ----------
    name : str
    trained : dict of int to float
        Score of each feature set that it trained.
    candidates : tuple of Candidate
        The sets that it keeps models of.
    index : Index
    entries : int
        Number of entries that the index stores.
    """

    name: str
    trained: Scores
    candidates: tuple[Candidate, ...]
    index: Index
    entries: int

    def best(self, n: float, budget: float) -> int:
        """Return the mask of the answer to one query."""
        return self.index.best(n, budget).mask


@dataclass(frozen=True, slots=True)
class Search:
    """A search of Poly-Dom: how sets are trained, and which of them are kept."""

    name: str
    expand: Callable[[World, float, float], Scores]
    """Returns the trained sets, given a world, α and e."""
    select: Callable[[Mapping[int, float], World, float, float], list[int]]


def _select(expanded: Mapping[int, float], world: World, alpha: float, tolerance: float) -> list[int]:
    return select_candidates(expanded, world.costs, world.region, alpha=alpha, tolerance=tolerance)


AS_PRINTED = Search(
    "as printed",
    lambda world, alpha, e: expand_as_printed(world.n_features, world.score, alpha=alpha, tolerance=e),
    lambda expanded, world, alpha, _: select_as_printed(expanded, world.costs, world.region, alpha=alpha),
)
"""The pseudo-code and the pruning of the paper, exactly as printed."""

LAYERED = Search(
    "layer by layer",
    lambda world, alpha, e: expand_layers(world.n_features, world.score, alpha=alpha, tolerance=e),
    _select,
)
"""The paper's search, corrected so that it loses no set."""

BEST_FIRST = Search(
    "best first",
    lambda world, alpha, e: expand_best_first(world.costs, world.region, world.score, alpha=alpha, tolerance=e),
    _select,
)
"""The default search of the builder."""

EVERY_SET = Search("Naive-Expand-All", lambda world, _, __: expand_all(world.n_features, world.score), _select)


Indexer = Callable[[Sequence[Candidate], QueryRegion], tuple[Index, int]]
"""Builds an index; returns it with the number of its entries."""


def envelope(candidates: Sequence[Candidate], region: QueryRegion) -> tuple[PolyDomIndex, int]:
    """Build the Poly-Dom index from lower envelopes, one entry for each interval."""
    index = build_index(candidates, region)
    return index, len(index.intervals)


def sweep(candidates: Sequence[Candidate], region: QueryRegion) -> tuple[PolyDomIndex, int]:
    """Build the Poly-Dom index by the paper's sweep over crossings, as its two-dimensional array."""
    index = sweep_index(candidates, region)
    return index, array_entries(index)


def every_crossing(candidates: Sequence[Candidate], region: QueryRegion) -> tuple[AllCrossingsIndex, int]:
    """Build Poly-Dom-Index-All."""
    index = AllCrossingsIndex(candidates, region)
    return index, index.n_entries


def scan(candidates: Sequence[Candidate], _: QueryRegion) -> tuple[ScanIndex, int]:
    """Build Naive-Lookup."""
    index = ScanIndex(candidates)
    return index, index.n_entries


INDEXES: dict[str, Indexer] = {"Poly-Dom": envelope, "sweep": sweep, "Index-All": every_crossing, "Naive-Lookup": scan}


def array_entries(index: PolyDomIndex) -> int:
    """Return the number of entries of the paper's two-dimensional sorted array: the skylines of all ranges of sizes."""
    return sum(len(row) for _, row in index.ranges)


def poly_dom(
    world: World,
    alpha: float = 1.0,
    tolerance: float = 0.0,
    *,
    search: Search = BEST_FIRST,
    indexer: Indexer = envelope,
) -> ComparedSystem:
    """Train, select and index.

    Parameters
    ----------
    world : World
    alpha : float, >= 1
    tolerance : float, >= 0
        e, by which the score of a subset may exceed that of a superset.
    search : Search
        BEST_FIRST, LAYERED, AS_PRINTED or EVERY_SET.
    indexer : Indexer
        One of `INDEXES`.

    Returns
    -------
    ComparedSystem
    """
    trained = search.expand(world, alpha, tolerance)
    candidates = world.candidates(search.select(trained, world, alpha, tolerance))
    index, entries = indexer(candidates, world.region)
    return ComparedSystem(f"Poly-Dom {search.name}, α = {alpha:g}", trained, tuple(candidates), index, entries)


def greedy(world: World, lambdas: Sequence[float] = PAPER_LAMBDAS, name: str = "Greedy") -> ComparedSystem:
    """Train Greedy's sequences at the median size."""
    orders, trained = greedy_sequences(
        world.n_features, world.score, lambda mask: world.costs(mask)(world.median_size), lambdas
    )
    sequences = [[world.candidate(order[:k]) for k in range(len(order) + 1)] for order in orders]
    index = GreedyIndex(sequences, world.median_size)
    return ComparedSystem(name, trained, index.candidates, index, sum(len(s) for s in sequences))


def greedy_acc(world: World) -> ComparedSystem:
    """Train Greedy-Acc: the most accurate feature first."""
    return greedy(world, [0.0], "Greedy-Acc")


def greedy_cost(world: World) -> ComparedSystem:
    """Train Greedy-Cost: the cheapest feature first."""
    return greedy(world, [math.inf], "Greedy-Cost")
