"""The best choice of models within limits, by integer programming."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from polydom_runtime.arrays import Bools, Floats

from .model_choice import Choices, Integers, greedy_choice

MAX_GROUPS, MAX_NODES = 20_000, 200
"""Problems with more groups are left to the greedy choices. The solver stops after this number of nodes."""


def best_choice(choices: Choices) -> tuple[Bools, float]:
    """Return the best choice of models, or that of `greedy_choice` where the best one is not found.

    The result has shape (n_models,). The result: no choice within the limits scores more. It is the score of the choice
    if this was proved to be the best.
    """
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
        options={"node_limit": MAX_NODES, "mip_rel_gap": 0.0},
    )
    if solved.x is not None:
        found = solved.x[:n_models] > 0.5
        chosen = max(chosen, found, key=lambda these: choices.score(these) if choices.fit(these) else -np.inf)
    if solved.mip_dual_bound is not None:
        bound = min(bound, choices.prior - float(solved.mip_dual_bound))
    return chosen, max(bound, choices.score(chosen))


def _groups(choices: Choices) -> tuple[Integers, Floats]:
    """Return groups of models, and what the mean score gains if at least one model of a group is chosen.

    For each query there is a group of the best model that fits, one of the best two, and so on. It gains the difference
    between the scores of its last model and of the next one. Many queries have the same groups.

    The result (shape (n_groups, 2)): the last model of each, and the number of the group without it; -1 if it is the
    only one. The result has shape (n_groups,).
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
    """Return the constraints on variables of models (is it chosen?) and of groups (is one of it chosen?).

    The chosen models keep each limit. A model needs its parent: x - x_parent <= 0. A group needs its last model or the
    group without it: z - x_last - z_without <= 0.
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
