"""The choice of models within limits, so that the least of the mean score over queries is lost.

The answer to a query is that of the best chosen model that fits. A model is chosen only together with those of all
prefixes of its order, its *chain*.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choices:
    """The models that may be chosen, what each is worth, and what each takes of the limits."""

    parents: Integers
    """Shape (n_models,). The number of the model without the last feature of the order; -1 for a model of one feature.
    Parents come before their children."""
    worth: Floats
    """Shape (n_models, n_queries). The score of each model where it fits, the prior elsewhere."""
    prior: float
    """The score of the answer without models; `worth` is never lower."""
    weights: Floats
    """Shape (n_queries,). How much each query counts; the sum is 1."""
    costs: Integers
    """Shape (n_models, n_limits). At least 1."""
    limits: Integers
    """Shape (n_limits,). What the costs of all chosen models may be together; at least 1. There is at least one
    limit."""

    @cached_property
    def levels(self) -> list[NDArray[np.intp]]:
        """The numbers of the models by the length of their orders."""
        depths = np.zeros(len(self.parents), dtype=np.int64)
        for model, parent in enumerate(self.parents.tolist()):
            depths[model] = 0 if parent < 0 else depths[parent] + 1
        return [np.flatnonzero(depths == depth) for depth in range(int(depths.max(initial=-1)) + 1)]

    @cached_property
    def chains(self) -> Floats:
        """What each chain is worth, as `worth`."""
        chains = self.worth.copy()
        for level in self.levels[1:]:
            chains[level] = np.maximum(chains[level], chains[self.parents[level]])
        return chains

    def missing(self, chosen: Bools) -> Integers:
        """Return the costs of the models of each chain that are not chosen, as `costs`."""
        missing = np.where(chosen[:, None], 0, self.costs)
        for level in self.levels[1:]:
            missing[level] += missing[self.parents[level]]
        return missing

    def score(self, chosen: Bools) -> float:
        """Return the mean score over the queries; O(n_models · n_queries)."""
        return float(self.worth[chosen].max(axis=0, initial=self.prior) @ self.weights)

    def fit(self, chosen: Bools) -> bool:
        """Tell whether the chosen models keep the limits."""
        return bool((self.costs[chosen].sum(axis=0) <= self.limits).all())


def greedy(choices: Choices, *, by_cost: bool) -> tuple[Bools, float]:
    """Add the chain that gains most of those that still fit, again and again.

    What a model gains never grows with what is chosen already. So each step also bounds what any choice can score.

    `by_cost`: whether the gain is divided by the largest share of a limit that the chain takes.

    The result has shape (n_models,). The result: no choice within the limits scores more.

    O(n_models · n_queries) for each chain that is added.

    Examples
    --------
    A good model of two features needs the poor one of its first feature, so within two models it is chosen alone:

    >>> choices = Choices(np.array([-1, -1, 0]), np.array([[0.6], [0.7], [0.9]]), 0.5, np.ones(1),
    ...     np.ones((3, 1), dtype=int), np.array([2]))
    >>> chosen, bound = greedy(choices, by_cost=False)
    >>> chosen.tolist(), choices.score(chosen), bound
    ([True, False, True], 0.9, 0.9)
    """
    chosen = np.zeros(len(choices.parents), dtype=np.bool_)
    best, bound = np.full(len(choices.weights), choices.prior), np.inf
    while True:
        bound = min(bound, _bound(choices, best))
        missing = choices.missing(chosen)
        gains = np.maximum(choices.chains - best, 0.0) @ choices.weights
        gains[(missing > choices.limits - choices.costs[chosen].sum(axis=0)).any(axis=1)] = 0.0
        if not (gains > 0.0).any():
            return chosen, bound
        if by_cost:
            np.divide(gains, (missing / choices.limits).max(axis=1), out=gains, where=gains > 0.0)
        model = added = int(np.argmax(gains))
        while added >= 0:
            chosen[added] = True
            added = int(choices.parents[added])
        best = np.maximum(best, choices.chains[model])


def greedy_choice(choices: Choices) -> tuple[Bools, float]:
    """Return the better of both greedy choices, and the lower of their bounds; see `greedy`."""
    (one, bound), (other, other_bound) = (greedy(choices, by_cost=by_cost) for by_cost in (True, False))
    chosen = max(one, other, key=choices.score)
    return chosen, max(min(bound, other_bound), choices.score(chosen))


def _bound(choices: Choices, best: Floats) -> float:
    """Return a score that no choice exceeds, given the score of each query by some choice.

    Together models gain at most the sum of what each gains. The models with the largest gains by cost, of which the
    last one counts in part so that they take just the limit, gain at least as much as any others that keep it.
    """
    gains = np.maximum(choices.worth - best, 0.0) @ choices.weights
    bounds = [float(np.maximum(choices.worth.max(axis=0, initial=choices.prior), best) @ choices.weights)]
    for costs, limit in zip(choices.costs.T, choices.limits.tolist(), strict=True):
        order = np.argsort(-gains / costs, kind="stable")
        before = np.cumsum(costs[order]) - costs[order]
        parts = np.clip((limit - before) / costs[order], 0.0, 1.0)
        bounds.append(float(best @ choices.weights + parts @ gains[order]))
    return min(bounds)
