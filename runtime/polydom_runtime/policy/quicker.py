"""Models of several estimators over one state: the best one, and quicker ones for when it would be too late.

A state may have a good model that is slow, and a quick one. Which of them is in time is known only when the item is
there. So the decision table of a state says up to which time left it is better to compute further features for the
quick model of a larger set than to run the slow model at once.
"""

import numpy as np

from polydom_runtime.arrays import Floats

from .states import Options, State


def with_answers(
    state: State, scores: Floats, least: Floats, options: Options, weights: Floats, ready: Floats
) -> tuple[Floats, Floats, Options]:
    """Return scores, least times and options with answers at once, by the slow models of a state, among the targets.

    `scores` (shape (n_options,)): falling scores. `least` (shape (n_options, n_cells)): least times in nanoseconds.
    `weights` (shape (n_answers, 6)), `ready` (shape (n_answers, n_cells)): the time to answer by each model of the
    state, as weights and in nanoseconds, without the last model: it answers when nothing else fits.
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
    merged = options._replace(masks=masks, plan=plan, guard=guard, moves=[moves[k] for k in rank], joules=joules)
    return every[rank], np.concatenate([ready, least])[rank], merged
