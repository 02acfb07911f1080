"""The proof that a build keeps its promise: for each feature set that fits, the two trained sets that settle it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts, TabledCosts, smallest_outside
from polydom_runtime.arrays import Floats, Masks

from .feasible import sets_in_doubt

Positions = NDArray[np.int32]

ROUNDING_OF_SUMS = 1e-12
"""A relative margin: the searches add the tolerance on the other side of an inequality, which may round otherwise."""

NOBODY = -1
"""Stands for a witness that is not found."""


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The errors of the trained sets, and the guesses of the scores of the others."""

    margin: float
    """>= 0. The most by which, with 95 % certainty, another set is better than the one that answers."""
    parts: Floats
    """Shape (n_trained, n_blocks). What each block of held-out items contributes to the score of each trained set."""
    shares: Floats
    """Shape (n_blocks,). How much each block counts in a score; they sum to 1."""
    inflation: float
    """>= 1. The factor of the variance for what folds share."""
    noise: float
    """>= 0. The typical standard error of the difference between a trained set and the one that answers in its place.
    """
    scale: tuple[float, float, float, float]
    """Ceiling, unit, mean and deviation of the scores; see `ScoreScale`."""
    shape: tuple[float, float, float, float, float]
    """Scale, slope, local, length and noise of the Gaussian process; see `ProcessShape`."""
    all_weighed: bool
    """Whether the scores of all untrained sets that fit were guessed."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """For each set S that fits somewhere in the region, a kept set K and a trained set T.

    K covers S, T contains S, and alpha * a(K) >= a(T) + e, where e is the tolerance, or 0 if T is S itself. As a(S) is
    at most a(T) + e, K answers every query that S fits, with a score within alpha of that of S.
    """

    masks: Masks
    """Shape (n_sets,). S."""
    lower: Positions
    """Shape (n_sets,). K, as its position in `kept`."""
    upper: Positions
    """Shape (n_sets,). T, as its position in `expanded`."""
    complete: bool
    """Whether every set that fits is listed. Otherwise each of the others is covered by a kept set with alpha * a(K) >=
    a(full) + tolerance, and T is the full set."""
    expanded: Masks
    scores: Floats
    """`expanded`, `scores`: shape (n_expanded,). The trained sets and their scores."""
    kept: Masks
    """Shape (n_kept,). The candidates, all of them trained."""
    exported: Floats
    """Shape (n_kept,). The score of each candidate's exported model, which the bundle is built from; NaN without such a
    model."""
    costs: SetCosts | TabledCosts
    """A table holds all sets above and the smallest sets outside `masks`."""
    region: QueryRegion
    alpha: float
    tolerance: float
    grounds: Grounds | None = None
    """What the margin rests on, in the order of `expanded`; only if a margin is promised."""


def prove(
    expanded: Mapping[int, float],
    kept: Sequence[int],
    costs: CostsOfSets,
    region: QueryRegion,
    *,
    alpha: float = 1.0,
    tolerance: float = 0.0,
    exported: Mapping[int, float] | None = None,
    grounds: Grounds | None = None,
) -> Proof:
    """Find the pair that settles each set that fits, for one search with this alpha and tolerance.

    `exported`: the scores of the exported models, for the kept sets that have one; the features of a model have another
    order, so its score may differ. `LatticeError` names a set that is not settled. O((kept + trained) · n_sets) at
    worst; the best kept set settles most.

    Two features cost 1 each. At alpha = 1.2 only the empty set is kept: it scores .7, and no set scores more than the
    full set, .8. {0} was trained. {1} was not; the score of the full set is its upper bound:

    >>> from polydom_runtime.costs import CostFunction
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(1)])
    >>> proof = prove({0: 0.7, 1: 0.75, 3: 0.8}, [0], costs, QueryRegion((1, 100)), alpha=1.2)
    >>> for s, k, t in zip(proof.masks, proof.lower, proof.upper):
    ...     print(f"{s:02b} is settled by {proof.kept[k]:02b} and {proof.expanded[t]:02b}")
    00 is settled by 00 and 00
    01 is settled by 00 and 01
    10 is settled by 00 and 11
    11 is settled by 00 and 11
    """
    check_parameters(costs.n_features, alpha, tolerance)
    _check_sets(expanded, kept, costs.n_features)
    trained = np.array(list(expanded), dtype=np.int64)
    scores = np.array(list(expanded.values()), dtype=np.float64)
    chosen = np.array(list(kept), dtype=np.int64)
    kept_costs = Costs(weights_of(costs, chosen), region)
    worth = alpha * np.array([expanded[mask] for mask in chosen.tolist()])

    enough = worth >= expanded[(1 << costs.n_features) - 1] + tolerance
    (masks, weights), pruned = sets_in_doubt(costs, region, lambda: kept_costs.take(enough))
    upper, most = upper_witnesses(masks, expanded, tolerance)
    sets = Costs(weights, region)
    lower = _lower_witnesses(sets, most, kept_costs, worth)
    left = np.flatnonzero(lower == NOBODY)
    if left.size:
        between = Costs(weights_of(costs, trained), region)
        lower[left] = _by_a_trained_set(sets.take(left), most[left], between, kept_costs, worth)
    for row in left[lower[left] == NOBODY][:1].tolist():
        raise LatticeError(
            f"A kept set within alpha must cover every set that fits. None does set {int(masks[row]):#b}, which may "
            f"score {most[row]:.6g}. Give the expanded and the kept sets of one search, with its alpha and tolerance."
        )
    data = costs if type(costs) is SetCosts else _table(costs, masks, trained)
    again = np.array([(exported or {}).get(mask, np.nan) for mask in chosen.tolist()], dtype=np.float64)
    sides = masks, lower, upper, not pruned, trained, scores, chosen, again
    return Proof(*sides, data, region, alpha, tolerance, grounds)


def _check_sets(expanded: Mapping[int, float], kept: Sequence[int], n_features: int) -> None:
    if (1 << n_features) - 1 not in expanded:
        raise LatticeError(f"The full set must be among the expanded sets. Got {len(expanded)} without.")
    if 0 not in kept:
        raise LatticeError(f"The empty set must be among the kept sets. Got {len(kept)} without.")
    if untrained := [mask for mask in kept if mask not in expanded]:
        raise LatticeError(f"Every kept set must be among the expanded sets. {untrained[0]:#b} is not.")


def upper_witnesses(masks: Masks, expanded: Mapping[int, float], tolerance: float) -> tuple[Positions, Floats]:
    """Return T of each set, itself or its lowest-scoring trained superset, and the bound on its score."""
    trained = np.array(list(expanded), dtype=np.int64)
    scores = np.array([*expanded.values(), np.inf])  # the last one is that of nobody
    upper = np.full(len(masks), NOBODY, dtype=np.int32)
    for row in np.argsort(-scores[:-1], kind="stable").tolist():
        upper[(masks & ~trained[row]) == 0] = row
    is_trained, rows = np.isin(masks, trained), {mask: row for row, mask in enumerate(expanded)}
    upper[is_trained] = [rows[mask] for mask in masks[is_trained].tolist()]
    return upper, scores[upper] + np.where(is_trained, 0.0, tolerance)


def _lower_witnesses(sets: Costs, most: Floats, kept: Costs, worth: Floats) -> Positions:
    """Return K of each set: the highest-scoring kept set that is found to cover it; NOBODY if none is within alpha."""
    lower = np.full(len(most), NOBODY, dtype=np.int32)
    for row in np.argsort(-worth, kind="stable").tolist():
        rest = np.flatnonzero((lower == NOBODY) & _reaches(worth[row], most))
        lower[rest[sets.take(rest).covered_by(kept, row)]] = row
    return lower


def _by_a_trained_set(sets: Costs, most: Floats, trained: Costs, kept: Costs, worth: Floats) -> Positions:
    """Return K of each set S by way of a trained set between them, where the direct test misses that K covers S."""
    first = np.stack([trained.covered_by(kept, row) for row in range(len(kept.weights))])
    second = np.stack([sets.covered_by(trained, row) for row in range(len(trained.weights))])
    good = (first @ second) & _reaches(worth[:, None], most)
    return np.where(good.any(axis=0), good.argmax(axis=0), NOBODY).astype(np.int32)


def _reaches(worth: Floats, most: Floats) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = worth >= most - ROUNDING_OF_SUMS * np.abs(most)
    return result


def _table(costs: CostsOfSets, masks: Masks, trained: Masks) -> TabledCosts:
    return TabledCosts.of(costs, np.concatenate([masks, trained, smallest_outside(masks, costs.n_features)]))
