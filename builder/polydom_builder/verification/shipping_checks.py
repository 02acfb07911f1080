"""Checks that a proof belongs to a bundle, and that the bundle ships the kept sets, or states that it does not."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from polydom_builder.costs.model_limits import keeps
from polydom_builder.lattice.proof import Proof
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import CostFunction

from .index_checks import costs_at, sizes_between, turns
from .proof_checks import TIE, cost_function, set_weights


def mismatches(proof: Proof, bundle: Bundle) -> Iterator[str]:
    """Check that the proof belongs to this bundle; yield a line for each property in which they differ."""
    pairs: list[tuple[str, object, object]] = [
        ("features", proof.costs.n_features, len(bundle.names)),
        ("sizes", proof.region.sizes, bundle.promise.sizes),
        ("budgets", _rounded(proof.region.budgets), _rounded(bundle.promise.covered)),
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
    """Look for kept sets that are the best answer to a query although the bundle has no model of them.

    Yield a line for each. A shipped set counts twice: with its score and cost in the search, and with those of its
    exported model. A set that was exported but not shipped counts with the score of its exported model, because a lower
    score there is a valid reason not to ship it. Sets that are stated to be left out count like shipped ones. O(k²)
    crossings for k kept sets.
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


def _rounded(budgets: tuple[float, float]) -> tuple[str, str]:
    """Return budgets without their last digits, which a division and a multiplication by the same number may change."""
    return f"{budgets[0]:.12g}", f"{budgets[1]:.12g}"
