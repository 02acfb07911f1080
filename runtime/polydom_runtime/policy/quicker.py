"""Models of several estimators over one state: the best one, and quicker ones for when it would be too late.

A state may have a good model that is slow, and a quick one. Which of them is in time is known only when the item is
there. So the decision table of a state says up to which time left it is better to compute further features for the
quick model of a larger set than to run the slow model at once.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats

if TYPE_CHECKING:
    from .states import Options, State

NOBODY = -1
"""Stands for the prior, and for no further model."""


def quicker(numbers: NDArray[np.intp], accuracies: Floats, seconds: Floats) -> NDArray[np.intp]:
    """Return the models that are the best with some time left: by falling accuracy, each quicker than the one before.

    `numbers` (shape (n_sets, n_numbers)): for each set some models, or `NOBODY`. `accuracies`, `seconds` have shape
    (n_models,).

    The result (shape (n_sets, n_numbers)): filled with `NOBODY`.
    """
    exists = numbers >= 0
    score, time = np.where(exists, accuracies[numbers], -np.inf), np.where(exists, seconds[numbers], np.inf)
    rank = np.lexsort((time, -score), axis=1)
    time = np.take_along_axis(time, rank, axis=1)
    before = np.minimum.accumulate(np.pad(time, ((0, 0), (1, 0)), constant_values=np.inf), axis=1)[:, :-1]
    kept = np.where(time < before, np.take_along_axis(numbers, rank, axis=1), NOBODY)
    found: NDArray[np.intp] = np.take_along_axis(kept, np.argsort(kept < 0, axis=1, kind="stable"), axis=1)
    return found


def with_answers(
    state: "State", scores: Floats, least: Floats, options: "Options", weights: Floats, ready: Floats
) -> "tuple[Floats, Floats, Options]":
    """Add, to the options of a state, to answer at once by one of its slow models.

    `scores` (shape (n_options,)): of the targets, falling. `least` (shape (n_options, n_cells)): the least times left
    for them, in nanoseconds. `weights` (shape (n_answers, 6)): weights of the time to answer by each model of the
    state, without the last: it answers when nothing else fits. `ready` (shape (n_answers, n_cells)): these times at the
    ends of the cells, in nanoseconds.

    The result: with the answers among them, still by falling score.
    """
    now = state.answers[: len(weights)]
    every = np.concatenate([[model.accuracy for model, _ in now], scores])
    rank = np.argsort(-every, kind="stable")
    joules = options.joules
    if joules is not None:  # those of the state are spent already
        joules = np.concatenate([np.zeros((len(now), 6)), joules])[rank]
    masks = np.concatenate([np.full(len(now), state.mask), options.masks])[rank]
    plan, guard = (np.concatenate([weights, others])[rank] for others in (options.plan, options.guard))
    moves = [*[None] * len(now), *options.moves]
    merged = replace(options, masks=masks, plan=plan, guard=guard, moves=[moves[k] for k in rank], joules=joules)
    return every[rank], np.concatenate([ready, least])[rank], merged
