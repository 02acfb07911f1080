"""Building the index: the envelope against the paper's sweep; and looking up, against a scan of all candidates."""

from collections.abc import Callable
from itertools import cycle
from time import perf_counter

import numpy as np

from examples.paper.algorithms.scan import ScanIndex
from examples.paper.algorithms.sweep import Sweep, intersections
from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate, PolyDomIndex
from polydom_runtime.costs import CostFunction, basis_terms
from tests import synthetic

from .side_by_side import medians, report

REGION = QueryRegion(synthetic.SIZES)


def sums(count: int) -> list[Candidate]:
    """Return feature sets of the paper's lattice of 12 features: quadratic costs, cf-infinity scores."""
    rng = np.random.default_rng(0)
    costs, scores = synthetic.costs(12, rng), synthetic.scores("cfinf", 12, rng)
    masks = [0, *(1 + rng.choice(len(scores) - 1, count - 1, replace=False)).tolist()]
    return [Candidate(mask, (), float(scores[mask]), costs(mask)) for mask in masks]


def all_terms(count: int) -> list[Candidate]:
    """Return random costs with half of the six growth terms each; the dearer the better, but for noise."""
    rng = np.random.default_rng(0)
    at_most = basis_terms(synthetic.SIZES[1])
    weights = rng.exponential(1e5, (count - 1, 6)) * (rng.random((count - 1, 6)) < 0.5) / at_most
    scores = 1.0 - 0.5 * np.exp(-weights @ at_most / 3e5) + rng.normal(0.0, 0.01, count - 1)
    rows = enumerate(zip(scores.tolist(), weights.tolist(), strict=True), 1)
    return [
        Candidate(0, (), 0.4, CostFunction.of()),
        *(Candidate(i, (), a, CostFunction(tuple(w))) for i, (a, w) in rows),
    ]


def sweep(candidates: list[Candidate]) -> tuple[Sweep, float]:
    """Return the sweep and its seconds: once, as it takes up to minutes."""
    start = perf_counter()
    found = intersections(candidates, REGION)
    return found, perf_counter() - start


def compare(name: str, make: Callable[[int], list[Candidate]], count: int) -> None:
    """Print the ratios for one kind of candidates."""
    candidates = make(count)
    [ours] = medians([lambda: build_index(candidates, REGION)], rounds=5)
    found, theirs = sweep(candidates)
    index = build_index(candidates, REGION)
    kept = {c.mask for c, ranges in zip(found.candidates, found.ranges, strict=True) if ranges}
    assert kept | {0} == {c.mask for c in index.candidates}
    print(f"{name}: {found.n_crossings} crossings, {len(found.interesting)} interesting; {len(kept)} on the skyline")
    report(f"the sweep against build_index, {count} candidates", theirs, ours, ">= 10 at 2000")
    look_up(index, candidates)


def look_up(index: PolyDomIndex, candidates: list[Candidate]) -> None:
    """Print the ratio of lookups; the answers are compared first."""
    rng = np.random.default_rng(1)
    sizes = rng.uniform(*REGION.sizes, 500).tolist()
    costs = [candidates[i].cost(n) for i, n in zip(rng.integers(1, len(candidates), 500).tolist(), sizes, strict=True)]
    scan = ScanIndex(candidates)
    asked = list(zip(sizes, (1.01 * cost for cost in costs), strict=True))
    assert all(index.best(*query) == scan.best(*query) for query in asked)
    queries = cycle(asked)
    ours, theirs = medians([lambda: index.best(*next(queries)), lambda: scan.best(*next(queries))], rounds=200)
    report(f"ScanIndex.best against index.best, {len(candidates)} candidates", theirs, ours, ">= 10")


def main() -> None:
    """Compare at 500 and 2,000 candidates; a few minutes, nearly all of them for the sweep."""
    for count in (500, 2000):
        compare("sums of quadratic costs", sums, count)
        compare("costs of all six terms", all_terms, count)
