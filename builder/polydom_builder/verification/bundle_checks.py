"""Checks that a bundle belongs to its proof, ships the kept sets or says why not, and answers as a scan would."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polydom_builder.costs.model_limits import keeps
from polydom_builder.index.crossings import crossings
from polydom_builder.lattice.proof import Proof
from polydom_builder.sets.inputs import cost_function
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.checks import TIE
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction, basis_terms

from .proof_checks import set_weights

RANDOM_QUERIES = 2000
RANDOM_DEADLINES = 8
RANDOM_SIZES = 50
"""Random sizes for each deadline."""

QUERIES_AT_ONCE = 1 << 12
"""Queries that are answered at a time, to limit the memory."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries as arrays of sizes and budgets (seconds), each of shape ``(n_queries,)``."""

    sizes: Floats
    budgets: Floats


def index_queries(bundle: Bundle, seed: int = 0) -> Queries:
    """Return queries on both sides of each size at which an answer can change, and random ones; O(k²) crossings.

    For each candidate the sizes lie at and between its crossings with better candidates and the ends of all intervals,
    with the least budget that it fits there. No answer changes between two of them, so they stand for every query.
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
    for start in range(0, len(answers), QUERIES_AT_ONCE):
        given = answers[start : start + QUERIES_AT_ONCE]
        sizes, budgets = (
            queries.sizes[start : start + QUERIES_AT_ONCE],
            queries.budgets[start : start + QUERIES_AT_ONCE],
        )
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


def mismatches(proof: Proof, bundle: Bundle) -> Iterator[str]:
    """Check that the proof belongs to this bundle; yield a line for each property in which they differ."""
    # Without the last digits, which a division and a multiplication by the same number may change.
    mine, given = ([f"{end:.12g}" for end in ends] for ends in (proof.region.budgets, bundle.promise.covered))
    pairs: list[tuple[str, object, object]] = [
        ("features", proof.costs.n_features, len(bundle.names)),
        ("sizes", proof.region.sizes, bundle.promise.sizes),
        ("budgets", mine, given),
        ("alpha", proof.alpha, bundle.promise.alpha),
        ("tolerance", proof.tolerance, bundle.promise.tolerance),
        ("margin", proof.grounds and proof.grounds.margin, bundle.promise.margin),
    ]
    if isinstance(proof.costs, SetCosts):
        steps = tuple((step.cost, step.users) for step in bundle.times.worst.steps)
        pairs += [
            ("costs of features", proof.costs.features, bundle.times.worst.features),
            ("costs of steps", proof.costs.shared[: len(steps)], steps),  # the cost of the model follows them
            ("cost of dispatch", proof.costs.base, bundle.times.worst.dispatch),
        ]
    yield from (f"the proof has other {what} than the bundle" for what, ours, theirs in pairs if ours != theirs)


def unshipped(proof: Proof, bundle: Bundle) -> Iterator[str]:
    """Yield a line for each kept set that is the best answer to a query although the bundle has no model of it.

    A shipped set counts with its score and cost in the search, and also with those of its exported model. A set that
    was exported but not shipped counts with the score of its exported model, because a lower one is a valid reason not
    to ship it. Sets that are stated to be left out count like shipped ones. O(k²) crossings for k kept sets.
    """
    scores = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    again = dict(zip(proof.kept.tolist(), proof.exported.tolist(), strict=True))
    costs = dict(zip(proof.kept.tolist(), map(cost_function, set_weights(proof, proof.kept)), strict=True))
    left_out = bundle.shipping.left_out
    # Of several estimators, a model of another one than the proof is about does not stand for a kept set.
    models = {m.mask for m in bundle.models if not m.estimator or m.accuracy >= again.get(m.mask, -np.inf)}
    models |= {left.mask for left in left_out if not left.estimator or left.accuracy >= again.get(left.mask, -np.inf)}
    shipped = [(scores[mask], cost) for mask, cost in costs.items() if mask in models and mask in scores]
    shipped += [(c.accuracy, c.cost) for c in bundle.index.candidates if c.mask]
    shipped += [(left.accuracy, left.cost) for left in left_out]
    empty = max(bundle.empty.accuracy, scores.get(0, -np.inf))
    for mask in sorted(costs.keys() - models - {0}):
        score = scores.get(mask, -np.inf) if np.isnan(again[mask]) else again[mask]
        if score > empty + TIE * abs(empty):
            better = [cost for other, cost in shipped if other >= score - TIE * abs(score)]
            for n, budget in _unmatched(costs[mask], better, proof.region):
                yield f"kept set {mask:#b} is best at size {n:.9g} and budget {budget:.9g}, but has no model"


def misstated(bundle: Bundle) -> Iterator[str]:
    """Check what a bundle states of models that were left out; yield a line for each fault."""
    stated, files = bundle.shipping, [model.size_bytes for model in bundle.models]
    if not stated.curve:
        return
    if not keeps(stated.limits, files):
        yield f"the {len(files)} models have {sum(files):,} bytes together, and do not keep {stated.limits}"
    models = {(model.mask, model.estimator) for model in bundle.models}
    yield from (
        f"set {left.mask:#b} is left out, but has a model"
        for left in stated.left_out
        if (left.mask, left.estimator) in models
    )
    shipped = [(c.accuracy, c.cost) for c in bundle.index.candidates]
    left_out = [(left.accuracy, left.cost) for left in stated.left_out]
    for what, given, sets in (
        ("mean score", stated.score, shipped),
        ("mean score with the models that are left out", stated.whole, [*shipped, *left_out]),
    ):
        if not math.isclose(found := _mean_score(bundle, sets), given, rel_tol=TIE, abs_tol=TIE):
            yield f"the {what} is {found:.9g}, but the bundle states {given:.9g}"


def _mean_score(bundle: Bundle, sets: Sequence[tuple[float, CostFunction]]) -> float:
    """Return the mean score of the best sets that fit, over the sizes and deadlines that a bundle states."""
    costs = costs_at([cost for _, cost in sets], np.array(bundle.shipping.sizes)) * (1.0 - TIE)
    scores = np.array([score for score, _ in sets])
    best = [np.where(costs <= deadline, scores, -np.inf).max(axis=1) for deadline in bundle.shipping.deadlines]
    return float(np.maximum(best, bundle.prior.accuracy).mean())


def _unmatched(cost: CostFunction, others: Sequence[CostFunction], region: QueryRegion) -> list[tuple[float, float]]:
    """Return a query (size, budget) that `cost` fits and none of the others fits; nothing if there is none."""
    least, most = region.budgets
    sizes = sizes_between(turns(cost, others, region), region.sizes)
    own = costs_at([cost], sizes)[:, 0]
    budgets = np.maximum(own, least)
    matched = (costs_at(others, sizes) * (1.0 - TIE) <= budgets[:, None]).any(axis=1)
    alone = np.flatnonzero((own <= most * (1.0 - TIE)) & ~matched)
    return [(float(sizes[row]), float(budgets[row])) for row in alone[:1].tolist()]
