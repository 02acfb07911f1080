"""Whether a bundle is the one that a proof is of, and ships what the proof keeps."""

from collections.abc import Iterator, Sequence

import numpy as np

from polydom_builder.costs.set_costs import SetCosts
from polydom_builder.lattice.proof import Proof
from polydom_builder.lattice.region import QueryRegion
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import CostFunction

from .index_checks import costs_at, sizes_between, turns
from .proof_checks import TIE, cost_function, set_weights


def mismatches(proof: Proof, bundle: Bundle) -> Iterator[str]:
    """Check that the proof is of this bundle; yield a line for each number that they do not share."""
    pairs: list[tuple[str, object, object]] = [
        ("features", proof.costs.n_features, len(bundle.names)),
        ("sizes", proof.region.sizes, bundle.promise.sizes),
        ("budgets", _rounded(proof.region.budgets), _rounded(bundle.promise.covered)),
        ("alpha", proof.alpha, bundle.promise.alpha),
        ("tolerance", proof.tolerance, bundle.promise.tolerance),
    ]
    if isinstance(proof.costs, SetCosts):
        steps = tuple((step.cost, step.users) for step in bundle.times.worst.steps)
        pairs += [
            ("costs of features", proof.costs.features, bundle.times.worst.features),
            ("costs of steps", proof.costs.shared[: len(steps)], steps),  # after them comes the model
            ("cost of dispatch", proof.costs.base, bundle.times.worst.dispatch),
        ]
    yield from (f"the proof has other {what} than the bundle" for what, ours, theirs in pairs if ours != theirs)


def unshipped(proof: Proof, bundle: Bundle) -> Iterator[str]:
    """Look for kept sets that are the best answer to a query, while the bundle has no model of them.

    Yield a line for each. A shipped set counts with the score and the cost that the search knew, and with those of its
    exported model. A set that was exported but not shipped counts with its exported score: by that it may have lost
    its place.
    """
    scores = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    again = dict(zip(proof.kept.tolist(), proof.exported.tolist(), strict=True))
    costs = dict(zip(proof.kept.tolist(), map(cost_function, set_weights(proof, proof.kept)), strict=True))
    models = {model.mask for model in bundle.models}
    shipped = [(scores[mask], cost) for mask, cost in costs.items() if mask in models and mask in scores]
    shipped += [(c.accuracy, c.cost) for c in bundle.index.candidates if c.mask]
    empty = max(bundle.empty.accuracy, scores.get(0, -np.inf))
    for mask in sorted(costs.keys() - models - {0}):
        score = scores.get(mask, -np.inf) if np.isnan(again[mask]) else again[mask]
        if score > empty + TIE * abs(empty):
            better = [cost for other, cost in shipped if other >= score - TIE * abs(score)]
            for n, budget in _unmatched(costs[mask], better, proof.region):
                yield f"kept set {mask:#b} is best at size {n:.9g} and budget {budget:.9g}, but has no model"


def _unmatched(cost: CostFunction, others: Sequence[CostFunction], region: QueryRegion) -> list[tuple[float, float]]:
    """Return one query that a cost fits and no other does, if there is one."""
    least, most = region.budgets
    sizes = sizes_between(turns(cost, others, region), region.sizes)
    own = costs_at([cost], sizes)[:, 0]
    budgets = np.maximum(own, least)
    matched = (costs_at(others, sizes) * (1.0 - TIE) <= budgets[:, None]).any(axis=1)
    alone = np.flatnonzero((own <= most * (1.0 - TIE)) & ~matched)
    return [(float(sizes[row]), float(budgets[row])) for row in alone[:1].tolist()]


def _rounded(budgets: tuple[float, float]) -> tuple[str, str]:
    """Return budgets without the last digits, in which a quotient and its product differ."""
    return f"{budgets[0]:.12g}", f"{budgets[1]:.12g}"
