"""The choice of models within limits, so that the least of the mean score over queries is lost.

A model is chosen only together with those of all prefixes of its order, its *chain*.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from polydom_runtime.arrays import Bools, Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choices:
    """The models that may be chosen, their worth, and how much each uses of the limits."""

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
    """Shape (n_models, n_limits). How much each model uses of each limit; at least 1."""
    limits: Integers
    """Shape (n_limits,). The most that the costs of all chosen models may sum to; at least 1. There is at least one
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
        """The worth of each chain, as `worth`."""
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
    """Add the chain that gains most of those that still fit, again and again; return the choice, and a bound.

    No choice scores more than the bound: the gain of a model never grows with what is chosen already, so each step
    bounds what any choice can score. `by_cost` divides gains by the largest share of a limit that a chain takes.
    O(n_models · n_queries) for each chain that is added.

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
    """Return the better of both choices of `greedy`, and the lower of their bounds."""
    (one, bound), (other, other_bound) = (greedy(choices, by_cost=by_cost) for by_cost in (True, False))
    chosen = max(one, other, key=choices.score)
    return chosen, max(min(bound, other_bound), choices.score(chosen))


def _bound(choices: Choices, best: Floats) -> float:
    """Return a score that no choice exceeds, given the score of each query by some choice.

    Together models gain at most the sum of what each gains, and most those with the largest gains by cost, of which
    the last one counts in part so that they take just the limit.
    """
    gains = np.maximum(choices.worth - best, 0.0) @ choices.weights
    bounds = [float(np.maximum(choices.worth.max(axis=0, initial=choices.prior), best) @ choices.weights)]
    for costs, limit in zip(choices.costs.T, choices.limits.tolist(), strict=True):
        order = np.argsort(-gains / costs, kind="stable")
        before = np.cumsum(costs[order]) - costs[order]
        parts = np.clip((limit - before) / costs[order], 0.0, 1.0)
        bounds.append(float(best @ choices.weights + parts @ gains[order]))
    return min(bounds)


MAX_GROUPS, MAX_SOLVER_NODES = 20_000, 200
"""Problems with more groups are left to the greedy choices. The solver stops after this number of nodes."""


def best_choice(choices: Choices) -> tuple[Bools, float]:
    """Return the best choice by integer programming, or that of `greedy_choice` where none is found; and its bound."""
    chosen, bound = greedy_choice(choices)
    groups, gains = _groups(choices)
    if bound <= choices.score(chosen) or len(gains) > MAX_GROUPS:
        return chosen, bound
    n_models = len(choices.parents)
    solved = milp(
        -np.concatenate([np.zeros(n_models), gains]),
        integrality=np.repeat([1, 0], [n_models, len(gains)]),
        bounds=Bounds(0.0, 1.0),
        constraints=_constraints(choices, groups),
        options={"node_limit": MAX_SOLVER_NODES, "mip_rel_gap": 0.0},
    )
    if solved.x is not None:
        found = solved.x[:n_models] > 0.5
        chosen = max(chosen, found, key=lambda these: choices.score(these) if choices.fit(these) else -np.inf)
    if solved.mip_dual_bound is not None:
        bound = min(bound, choices.prior - float(solved.mip_dual_bound))
    return chosen, max(bound, choices.score(chosen))


def _groups(choices: Choices) -> tuple[Integers, Floats]:
    """Return groups of models, and what the mean score gains if at least one model of a group is chosen.

    For each query there is a group of the best model that fits, one of the best two, and so on; it gains the
    difference between the scores of its last model and of the next one. A group, of many queries the same, is stored
    as its last model and the number of the group without it, -1 if it is the only one: shape ``(n_groups, 2)``.
    """
    known: dict[tuple[int, int], int] = {}
    gains: list[float] = []
    for worth, weight in zip(choices.worth.T, choices.weights.tolist(), strict=True):
        ranked = np.argsort(-worth, kind="stable")
        ranked = ranked[worth[ranked] > choices.prior]
        group = -1
        for model, step in zip(ranked.tolist(), (-np.diff(worth[ranked], append=choices.prior)).tolist(), strict=True):
            group = known.setdefault((model, group), len(known))
            gains += [0.0] * (len(known) - len(gains))
            gains[group] += weight * step
    return np.array(list(known), dtype=np.int64).reshape(-1, 2), np.array(gains)


def _constraints(choices: Choices, groups: Integers) -> LinearConstraint:
    """Return the constraints on variables x of models and z of groups, besides 0 and 1.

    Each limit holds. A model needs its parent: x - x_parent <= 0. A group needs its last model or the group without
    it: z - x_last - z_without <= 0.
    """
    n_models, n_limits = choices.costs.shape
    children, (last, without) = np.flatnonzero(choices.parents >= 0), groups.T
    first = np.concatenate([children, n_models + np.arange(len(groups))])
    rows, others = np.arange(len(first)), np.concatenate([choices.parents[children], last])
    longer = np.flatnonzero(without >= 0)
    entries = [
        (rows, first, np.ones(len(rows))),
        (rows, others, -np.ones(len(rows))),
        (len(children) + longer, n_models + without[longer], -np.ones(len(longer))),
        (
            len(rows) + np.tile(np.arange(n_limits), n_models),
            np.repeat(np.arange(n_models), n_limits),
            (choices.costs / choices.limits).ravel(),
        ),
    ]
    row, column, value = map(np.concatenate, zip(*entries, strict=True))
    matrix = coo_array((value, (row, column)), shape=(len(rows) + n_limits, n_models + len(groups)))
    return LinearConstraint(matrix.tocsr(), ub=np.repeat([0.0, 1.0], [len(rows), n_limits]))
