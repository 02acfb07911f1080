"""Checks that the index and the staircases of a bundle give the answers that a scan of its candidates gives."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polydom_builder.index.crossings import crossings
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction, basis_terms

from .proof_checks import TIE

RANDOM_QUERIES = 2000
RANDOM_DEADLINES = 8
RANDOM_SIZES = 50
"""Random sizes for each deadline."""

BLOCK = 1 << 12
"""Queries that are answered at a time, to limit the memory."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries as arrays of sizes and budgets (seconds), each of shape ``(n_queries,)``."""

    sizes: Floats
    budgets: Floats


def index_queries(bundle: Bundle, seed: int = 0) -> Queries:
    """Return queries on both sides of each size at which an answer can change, and random ones; O(k²) crossings.

    For each candidate the sizes lie at and between its crossings with better candidates and the ends of all intervals.
    The budget is the least one that the candidate fits there. No answer changes between two of these sizes, so if all
    of these queries are answered correctly, every query is.
    """
    region = QueryRegion(bundle.promise.sizes, bundle.promise.covered)
    candidates = bundle.index.candidates
    ends = [end for interval in bundle.stored.intervals for end in (interval.start, interval.end)]
    sizes, budgets = [], []
    for candidate in candidates:
        better = [c.cost for c in candidates if c.accuracy >= candidate.accuracy and c != candidate]
        sizes.append(sizes_between([*ends, *turns(candidate.cost, better, region)], bundle.promise.sizes))
        budgets.append(costs_at([candidate.cost], sizes[-1])[:, 0] * (1.0 + 2.0 * TIE))
    rng = np.random.default_rng(seed)
    sizes.append(_random_sizes(rng, bundle.promise.sizes, RANDOM_QUERIES))
    costs = costs_at([c.cost for c in candidates], sizes[-1])
    picked = rng.integers(len(candidates), size=RANDOM_QUERIES)
    budgets.append(costs[np.arange(RANDOM_QUERIES), picked] * rng.uniform(0.5, 2.0, RANDOM_QUERIES))
    return Queries(np.concatenate(sizes), np.concatenate(budgets).clip(*bundle.promise.covered))


def index_faults(bundle: Bundle, queries: Queries) -> Iterator[str]:
    """Answer the queries by the index; yield a line for each answer that does not fit or that a scan exceeds."""
    asked = zip(queries.sizes.tolist(), queries.budgets.tolist(), strict=True)
    answers = [bundle.index.best(n, budget) for n, budget in asked]
    yield from (f"the index, {line}" for line in _wrong(bundle, queries, answers))


def staircase_queries(bundle: Bundle, seed: int = 0) -> list[Queries]:
    """Return queries for several deadlines: sizes at and between the largest ones that fit, and random sizes."""
    rng = np.random.default_rng(seed)
    costs = [c.cost for c in bundle.index.candidates]
    some = costs_at(costs, _random_sizes(rng, bundle.promise.sizes, RANDOM_DEADLINES))
    some = some[np.arange(RANDOM_DEADLINES), rng.integers(len(costs), size=RANDOM_DEADLINES)]
    queries = []
    for deadline in sorted(
        {*(1.1 * some).clip(*bundle.promise.covered).tolist(), *bundle.promise.covered} - {0.0, np.inf}
    ):
        sizes = sizes_between([cost.largest_size(deadline) for cost in costs], bundle.promise.sizes)
        sizes = np.concatenate([sizes, _random_sizes(rng, bundle.promise.sizes, RANDOM_SIZES)])
        queries.append(Queries(sizes, np.full(len(sizes), deadline)))
    return queries


def staircase_faults(bundle: Bundle, queries: Queries) -> Iterator[str]:
    """Answer queries of one deadline by its staircase; yield lines as `index_faults` does."""
    stairs = bundle.index.at_deadline(float(queries.budgets[0]))
    answers = [stairs.best(n) for n in queries.sizes.tolist()]
    yield from (f"the staircase, {line}" for line in _wrong(bundle, queries, answers))


def _wrong(bundle: Bundle, queries: Queries, answers: Sequence[Candidate]) -> Iterator[str]:
    """Yield a line for each answer that does not fit, or scores less than a candidate that fits."""
    candidates = [bundle.empty, *map(bundle.candidate, bundle.stored.shipped)]
    scores = np.array([c.accuracy for c in candidates])
    for start in range(0, len(answers), BLOCK):
        given = answers[start : start + BLOCK]
        sizes, budgets = queries.sizes[start : start + BLOCK], queries.budgets[start : start + BLOCK]
        fits = costs_at([c.cost for c in candidates], sizes) <= budgets[:, None] * (1.0 - TIE)
        fits[:, 0] = True  # the empty set is always ready
        best = np.where(fits, scores, -np.inf).max(axis=1)
        for n, budget, reached, answer in zip(*(a.tolist() for a in (sizes, budgets, best)), given, strict=True):
            where = f"asked for size {n:.9g} and budget {budget:.9g}, gives {'+'.join(answer.features) or 'nothing'}"
            if answer.mask and answer.cost(n) > budget * (1.0 + TIE):
                yield f"{where}, which does not fit"
            elif answer.accuracy < reached - TIE * abs(reached):
                yield f"{where} with score {answer.accuracy:.9g}, while a candidate with {reached:.9g} fits"


def turns(cost: CostFunction, others: Sequence[CostFunction], region: QueryRegion) -> list[float]:
    """Return the sizes at which it can change which others fit wherever `cost` does; some lie outside the region."""
    least, most = region.budgets
    crossed = [n for other in others for n in crossings(cost, other, *region.sizes)]
    reaches = [c.largest_size(least) for c in (cost, *others)]
    return [*crossed, *reaches, *([cost.largest_size(most)] if most < np.inf else [])]


def sizes_between(changes: Sequence[float], sizes: tuple[float, float]) -> Floats:
    """Return the ends of a range of sizes, the changes inside it, and the midpoints between neighbours of these.

    >>> sizes_between([4.0, 20.0], (0.0, 10.0))
    array([ 0.,  2.,  4.,  7., 10.])
    """
    ends = np.unique(np.clip([*sizes, *changes], *sizes))
    return np.unique([*ends, *(0.5 * (ends[1:] + ends[:-1]))])


def costs_at(costs: Sequence[CostFunction], sizes: Floats) -> Floats:
    """Return each cost at each size, shape ``(n_sizes, n_costs)``."""
    weights = np.array([cost.weights for cost in costs]).reshape(-1, 6)
    result: Floats = basis_terms(sizes) @ weights.T
    return result


def _random_sizes(rng: np.random.Generator, sizes: tuple[float, float], count: int) -> Floats:
    """Return random sizes: half of them uniform, half uniform on the scale of log(1 + n)."""
    log = np.expm1(rng.uniform(math.log1p(sizes[0]), math.log1p(sizes[1]), count // 2))
    return np.concatenate([rng.uniform(*sizes, count - count // 2), log]).clip(*sizes)
