"""The oracle, which knows all real times in advance: an upper bound for every policy."""

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.measuring.cost_samples import DISPATCH

from .trials import Trials


def real_seconds(bundle: Bundle, trials: Trials) -> Floats:
    """Return the real time of each model's whole answer on each trial, in seconds, shape ``(n_models, n_trials)``."""
    features = np.array([trials.of(name) for name in bundle.names])
    steps = np.array([trials.of(step.name) for step in bundle.times.worst.steps]).reshape(-1, len(trials))
    relative = (
        trials.model_seconds / bundle.times.reference_seconds
        if bundle.times.reference_seconds
        else np.ones(len(trials))
    )
    users = np.array([step.users for step in bundle.times.worst.steps], dtype=np.int64)
    masks = np.array([model.mask for model in bundle.models], dtype=np.int64)
    bits = np.int64(1) << np.arange(len(bundle.names), dtype=np.int64)
    worst = np.array([model.seconds for model in bundle.models])
    sums: Floats = ((masks[:, None] & bits) != 0) @ features + ((masks[:, None] & users) != 0) @ steps
    return sums + worst[:, None] * relative + trials.of(DISPATCH)


def oracle(bundle: Bundle, trials: Trials, deadline: float) -> NDArray[np.intp]:
    """Return for each trial the number of the best model whose real time fits the deadline; -1 for the prior."""
    scores = np.array([-np.inf, *(model.accuracy for model in bundle.models)])
    fits = np.vstack([np.ones(len(trials), dtype=bool), real_seconds(bundle, trials) <= deadline])
    scores[0] = bundle.prior[1]
    best: NDArray[np.intp] = np.where(fits, scores[:, None], -np.inf).argmax(axis=0) - 1
    return best


def oracle_score(bundle: Bundle, trials: Trials, deadline: float) -> float:
    """Return the mean expected score of the oracle's answers."""
    scores = np.array([*(model.accuracy for model in bundle.models), bundle.prior[1]])
    return float(scores[oracle(bundle, trials, deadline)].mean())
