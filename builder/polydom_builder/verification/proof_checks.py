"""Checks that a proof is valid and complete: each pair by the definitions, and whether a set that fits has none."""

import math
from collections.abc import Iterator

import numpy as np

from polydom_builder.index.crossings import order
from polydom_builder.lattice.proof import Proof
from polydom_builder.sets.inputs import cost_function
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts, TabledCosts, smallest_outside
from polydom_runtime.arrays import Bools, Floats, Masks
from polydom_runtime.bundles.checks import TIE
from polydom_runtime.costs import basis_terms

BRUTE_FORCE_FEATURES = 16
"""Up to this number of features, every feature set is checked by itself."""

NODES = 129
"""Sizes at which two costs are compared before their crossings are computed."""

PAIRS_AT_ONCE = 1 << 13
"""Pairs that are compared at a time, to limit the memory."""


def pair_faults(proof: Proof) -> Iterator[str]:
    """Yield a line for each pair (K, T) that is not as `Proof` says; O(n_sets · NODES), and a few crossings."""
    scores = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    for mask in proof.kept.tolist():
        if mask not in scores:
            yield f"kept set {mask:#b} was not trained"
    lower, upper = proof.kept[proof.lower], proof.expanded[proof.upper]
    worth = proof.alpha * np.array([scores.get(mask, -np.inf) for mask in proof.kept.tolist()])[proof.lower]
    most = proof.scores[proof.upper] + np.where(upper == proof.masks, 0.0, proof.tolerance)
    contains = (proof.masks & ~upper) == 0
    reaches = worth >= most - TIE * np.abs(most)
    covered = covers(set_weights(proof, lower), set_weights(proof, proof.masks), proof.region)
    for row in np.flatnonzero(~contains).tolist():
        yield f"set {proof.masks[row]:#b} is not within its upper witness {upper[row]:#b}"
    for row in np.flatnonzero(~reaches).tolist():
        yield (
            f"set {proof.masks[row]:#b} may score {most[row]:.9g}, "
            f"but its lower witness {lower[row]:#b} is worth only {worth[row]:.9g}"
        )
    for row in np.flatnonzero(~covered).tolist():
        yield f"set {proof.masks[row]:#b} fits where its lower witness {lower[row]:#b} does not"


def omissions(proof: Proof) -> Iterator[str]:
    """Yield a line for each set that fits, is not listed, and is covered by no kept set that is enough for all."""
    yield from _falling_weights(proof)
    outside = _outside(proof)
    if isinstance(proof.costs, TabledCosts):
        known = proof.costs.knows(outside)
        yield from (f"set {mask:#b} is not listed, and its cost is not known" for mask in outside[~known].tolist())
        outside = outside[known]
    weights = set_weights(proof, outside)
    # Costs rise with the size, so a set that fits somewhere fits at the smallest size.
    smallest, most = proof.region.sizes[0], proof.region.budgets[1]
    fits = weights @ basis_terms(smallest) <= most * (1.0 - TIE)
    if not proof.complete:
        fits[fits] = ~_covered_by_enough(proof, weights[fits])
    yield from (f"set {mask:#b} fits, but nothing settles it" for mask in outside[fits].tolist())


def _outside(proof: Proof) -> Masks:
    """Return the sets to check besides the listed ones: every other set, if there are few features.

    With more features the smallest ones are enough: if such a set does not fit, no superset does, and a kept set that
    covers it covers every superset too.
    """
    n_features = proof.costs.n_features
    if isinstance(proof.costs, SetCosts) and n_features <= BRUTE_FORCE_FEATURES:
        return np.setdiff1d(np.arange(1 << n_features), proof.masks)
    return smallest_outside(proof.masks, n_features)


def _falling_weights(proof: Proof) -> Iterator[str]:
    """Check that no tabled cost is below that of a set with one feature less, on which `_outside` depends."""
    if isinstance(proof.costs, SetCosts):
        return
    masks, table = proof.costs.masks, proof.costs.table
    for bit in (1 << i for i in range(proof.costs.n_features)):
        with_bit = (masks & bit) != 0
        large = np.flatnonzero(with_bit)[np.isin(masks[with_bit] & ~bit, masks)]
        small = np.searchsorted(masks, masks[large] & ~bit)
        falls = (table[small] * (1.0 - TIE) > table[large]).any(axis=1)
        yield from (f"set {mask:#b} costs less than without feature {bit:#b}" for mask in masks[large[falls]].tolist())


def _covered_by_enough(proof: Proof, weights: Floats) -> Bools:
    """Return which sets are covered by a kept set that scores within alpha of a(full) + tolerance."""
    full = (1 << proof.costs.n_features) - 1
    scores = dict(zip(proof.expanded.tolist(), proof.scores.tolist(), strict=True))
    bound = scores.get(full, np.inf) + proof.tolerance
    covered = np.zeros(len(weights), dtype=np.bool_)
    for mask in proof.kept.tolist():
        if proof.alpha * scores.get(mask, -np.inf) >= bound - TIE * abs(bound):
            rest = np.flatnonzero(~covered)
            by_this = np.repeat(set_weights(proof, np.array([mask])), len(rest), axis=0)
            covered[rest] = covers(by_this, weights[rest], proof.region)
    return covered


def set_weights(proof: Proof, masks: Masks) -> Floats:
    """Return the weights of each set, shape ``(n_sets, 6)``, summed over its features and the steps that they use."""
    if isinstance(proof.costs, TabledCosts):
        return proof.costs.weights(masks)
    result = np.tile(np.array(proof.costs.base.weights), (len(masks), 1))
    for i, feature in enumerate(proof.costs.features):
        result[(masks >> i & 1) == 1] += feature.weights
    for step, users in proof.costs.shared:
        result[(masks & users) != 0] += step.weights
    return result


def covers(first: Floats, second: Floats, region: QueryRegion) -> Bools:
    """Return whether set i of `first` fits wherever set i of `second` does, for weights of shape ``(n_sets, 6)``.

    That is c(K, n) <= max(c(S, n), c_lo) for every n of the region with c(S, n) <= c_hi. If no weight of K exceeds
    that of S, K covers S. Else both costs are compared at some sizes: K is refuted if it costs too much at one of
    them, and proved on a cell between two if its cost at the end is at most that of S at the start. The crossings
    decide all other pairs. This is deliberately another method than that of the search, so that an error there is not
    repeated here.
    """
    # The factor 1 - TIE lowers the costs of K, so that K covers a set of equal cost despite rounding.
    nodes = basis_terms(_nodes(*region.sizes)).T
    least, most = region.budgets[0], region.budgets[1] * (1.0 - TIE)
    result = np.ones(len(first), dtype=np.bool_)
    for start in range(0, len(first), PAIRS_AT_ONCE):
        rows = start + np.flatnonzero(
            (first[start : start + PAIRS_AT_ONCE] * (1.0 - TIE) > second[start : start + PAIRS_AT_ONCE]).any(1)
        )
        cost, allowed = first[rows] * (1.0 - TIE) @ nodes, second[rows] @ nodes
        fits = allowed <= most
        allowed = np.maximum(allowed, least)
        refuted = (fits & (cost > allowed)).any(axis=1)
        proved = (~fits[:, :-1] | (cost[:, 1:] <= allowed[:, :-1])).all(axis=1)
        result[rows[refuted]] = False
        for row in rows[~refuted & ~proved].tolist():
            result[row] = _crossed_nowhere(first[row], second[row], region)
    return result


def _nodes(smallest: float, largest: float) -> Floats:
    between = np.expm1(np.linspace(math.log1p(smallest), math.log1p(largest), NODES))[1:-1]
    return np.array([smallest, *between.clip(smallest, largest), largest])


def _crossed_nowhere(first: Floats, second: Floats, region: QueryRegion) -> bool:
    """Return whether K covers S for one pair, decided by the sign changes of the difference of its costs."""
    k, s = cost_function(first * (1.0 - TIE)), cost_function(second)
    least, most = region.budgets
    low = max(region.sizes[0], k.largest_size(least))  # up to this size K fits every budget of the region
    high = region.sizes[1] if most == np.inf else min(region.sizes[1], s.largest_size(most * (1.0 - TIE)))
    if low >= high:
        return True  # if one size is left it is a node, and there K did not cost too much
    return not any(below for _, below in order(s, k, low, high))
