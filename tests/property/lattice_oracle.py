"""What a set of trained feature sets answers, by brute force over queries and sets."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from polydom_builder.sets.region import QueryRegion, costs_at_sizes
from polydom_builder.sets.set_costs import SetCosts

ROUNDING = 1e-9


def score_of(scores: NDArray[np.float64]) -> Callable[[list[int]], list[float]]:
    """Return a `score` callback that looks the scores up, and fails if a set is asked for twice."""
    seen: set[int] = set()

    def score(masks: list[int]) -> list[float]:
        assert seen.isdisjoint(masks)
        assert len(set(masks)) == len(masks)
        seen.update(masks)
        asked: list[float] = scores[masks].tolist()
        return asked

    return score


def worst_ratio(
    answers: Iterable[int], scores: NDArray[np.float64], costs: SetCosts, region: QueryRegion, seed: int = 0
) -> float:
    """Return the greatest best score / best score among `answers` over queries of the region.

    Sizes are the ends and random ones. At each the answer changes only at the costs of sets: no other budget need be
    asked.
    """
    weights = costs.weights(np.arange(len(scores)))
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[list(answers)] = True
    sizes = np.random.default_rng(seed).uniform(*region.sizes, 12)
    worst = 1.0
    for n in (*region.sizes, *sizes):
        cost = costs_at_sizes(weights, np.full(len(scores), n))
        for budget in np.unique(np.clip([*cost, *region.budgets], *region.budgets)):
            fits = cost <= budget * (1.0 - ROUNDING)
            answering = chosen & (cost <= budget * (1.0 + ROUNDING))
            if fits.any():
                answer = scores[answering].max() if answering.any() else 0.0
                worst = max(worst, scores[fits].max() / max(answer, 1e-300))
    return worst
