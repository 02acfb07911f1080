"""The paper's progressive search: alpha is lowered step by step until the budget for trainings is spent."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, ScoreSets, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Floats

from .best_first import expand_best_first
from .feasible import sets_in_doubt
from .limits import LimitedScore, Spent
from .monotonicity import estimate_tolerance
from .proof import upper_witnesses


@dataclass(frozen=True, slots=True)
class Progress:
    """The result of a search with a limited number or time of trainings."""

    expanded: dict[int, float]
    """The scores in the order of training."""
    alpha: float
    """>= 1. The smallest α that the trained sets prove: for each query and each set that fits, some trained set fits
    too, and α times its score is at least that of the set; inf if they prove none."""
    tolerance: float
    """>= 0. The e for which the trained sets prove `alpha`."""


def expand_progressively(
    costs: CostsOfSets,
    region: QueryRegion,
    score: ScoreSets,
    *,
    alphas: Sequence[float],
    tolerance: float | None = 0.0,
    quantile: float = 0.99,
    batch: int = 1,
    max_trainings: int | None = None,
    max_seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Progress:
    """Search best first with falling alphas until the budget is spent or the last one is completed.

    Each search starts from all sets trained so far. If the budget ends in the middle of a search, the sets that it has
    trained still count: the returned α is the smallest that all trained sets prove, at most the last one completed.
    Without a tolerance, the `quantile` of the violations is taken; where it has grown, the search is made again with
    the same α, and nothing that was completed before counts.

    The empty and the full set are trained in any case. One search for each α; at the end O(trained · feasible) tests
    of *covers* at worst.

    Three features cost 1, 2 and 4 times the item size; each feature adds .1 to the score. Six trainings complete the
    search with α = 1.2, not the one with α = 1, and prove a smaller α than 1.2, namely .8 / .7:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(linear=w) for w in (1, 2, 4)])
    >>> def score(masks):
    ...     return [0.5 + 0.1 * m.bit_count() for m in masks]
    >>> region = QueryRegion((1, 500))
    >>> progress = expand_progressively(costs, region, score, alphas=(2, 1.5, 1.2, 1), max_trainings=6)
    >>> len(progress.expanded), round(progress.alpha, 4)
    (6, 1.1429)
    """
    e = tolerance or 0.0
    check_parameters(costs.n_features, 1.0, e, batch)
    _check_alphas(alphas)
    if max_trainings is None and max_seconds is None:
        raise LatticeError("The progressive search must have a budget. Give 'max_trainings', 'max_seconds' or both.")
    ends = min(1 << costs.n_features, 2)
    what = "the empty and the full set, which bound all others"
    limited = LimitedScore(score, ends, what, max_trainings, max_seconds, clock)
    completed, waiting, spent = math.inf, list(alphas), False
    while waiting and not spent:
        limited.alpha = alpha = waiting[0]
        try:
            expand_best_first(costs, region, limited, alpha=alpha, tolerance=e, batch=batch, known=limited.trained)
        except Spent:
            spent = True
        larger = e if tolerance is not None else max(e, estimate_tolerance(limited.trained, quantile))
        if larger > e:
            completed, e = math.inf, larger
        elif not spent:
            completed = waiting.pop(0)
    proven = proven_alpha(limited.trained, costs, region, e)
    return Progress(limited.trained, min(completed, proven), e)


def proven_alpha(
    expanded: Mapping[int, float],
    costs: CostsOfSets,
    region: QueryRegion,
    tolerance: float,
    kept: Sequence[int] | None = None,
) -> float:
    """Return the smallest α at which every set that fits is settled by trained ones, of which the `kept` ones answer.

    That is the greatest ub(S) / lb(S): the score of S or, if it was not trained, the lowest score of a trained strict
    superset plus the tolerance, over the highest score of a trained set that covers S. It is infinite if some set has
    no trained superset, or its lb is <= 0 and less than its ub, or too many sets fit to check each. O(trained ·
    feasible) tests of *covers* at worst.

    {1} was not trained. It scores at most .75, the score of the full set. {0}, which costs less, scores .5:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(1), CostFunction.of(2)])
    >>> proven_alpha({0: 0.25, 1: 0.5, 3: 0.75}, costs, QueryRegion((1, 100)), tolerance=0.0)
    1.5
    """
    able = np.array(list(expanded if kept is None else kept), dtype=np.int64)
    worth = np.array([expanded[mask] for mask in able.tolist()], dtype=np.float64)
    answers = Costs(weights_of(costs, able), region)
    most = expanded.get((1 << costs.n_features) - 1, math.inf) + tolerance
    try:
        (fitting, weights), _ = sets_in_doubt(costs, region, lambda: answers.take(worth >= most))
    except LatticeError:
        return math.inf
    _, upper = upper_witnesses(fitting, expanded, tolerance)
    return _greatest_ratio(upper, _best_covers(Costs(weights, region), answers, worth))


def _best_covers(sets: Costs, trained: Costs, scores: Floats) -> Floats:
    """Return the highest score of a trained set that covers each set, -inf without one."""
    best, left = np.full(len(sets.weights), -np.inf), np.arange(len(sets.weights))
    for row in np.argsort(-scores, kind="stable").tolist():
        covered = sets.take(left).covered_by(trained, row)
        best[left[covered]] = scores[row]
        left = left[~covered]
    return best


def _greatest_ratio(upper: Floats, lower: Floats) -> float:
    """Return the smallest α >= 1 with α · lower >= upper everywhere, in floating point too; inf if there is none."""
    upper, lower = upper[upper > lower], lower[upper > lower]
    if (lower <= 0.0).any() or np.isinf(upper).any():
        return math.inf
    alpha = float((upper / lower).max(initial=1.0))
    return alpha if (alpha * lower >= upper).all() else math.nextafter(alpha, math.inf)


def _check_alphas(alphas: Sequence[float]) -> None:
    if not alphas or not all(1.0 <= alpha < math.inf for alpha in alphas):
        raise LatticeError(f"The 'alphas' of the progressive search must be one or more numbers >= 1. Got {alphas}.")
    if any(later >= earlier for earlier, later in pairwise(alphas)):
        raise LatticeError(f"The 'alphas' of the progressive search must fall strictly. Got {alphas}.")
