"""The paper's layered bidirectional search (Expand-Enumerate), corrected so that it loses no set."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.inputs import ScoreSets, ask, check_parameters

MAX_DENSE_FEATURES = 24
"""Three arrays over all feature sets: 0.4 GB at 24 features."""


def expand_layers(n_features: int, score: ScoreSets, *, alpha: float = 1.0, tolerance: float = 0.0) -> dict[int, float]:
    """Train every feature set that is not sandwiched, bottom layer then top layer in turn.

    S is sandwiched, and not trained, when α·(best_sub(S) - e) >= least_sup(S). Here best_sub(S) is the highest score of
    a trained strict subset, which costs no more than S, and least_sup(S) is the lowest score of a trained strict
    superset, which S exceeds by e at most. The paper's pseudo-code tests against the frontiers only, which trains more
    sets, and visits only the neighbours of trained sets, which can lose the best set. This search tests against all
    trained sets and visits every set of a layer.

    Returned is the score of each trained set, in the order of training. Sets are trained together if they are of one
    layer.

    Raises `LatticeError` if there are more than 24 features: the bounds are dense arrays over all sets.

    O(F² · 2^F) time and O(2^F) memory beside the training.

    Examples
    --------
    Every set with feature 0 scores .8, all others .5. {1, 2} is trained, as no trained subset scores as much as the
    full set. {0, 1} and {0, 2} are not, as {0} does:

    >>> trained = expand_layers(3, lambda masks: [0.8 if m & 1 else 0.5 for m in masks])
    >>> [f"{m:03b}" for m in trained]
    ['000', '111', '001', '010', '100', '110']
    """
    check_parameters(n_features, alpha, tolerance)
    if n_features > MAX_DENSE_FEATURES:
        raise LatticeError(
            f"The layered search must have at most {MAX_DENSE_FEATURES} features. Got {n_features}. "
            "Use expand_best_first with a deadline, or fewer features."
        )
    sizes = np.bitwise_count(np.arange(1 << n_features, dtype=np.int64))
    lower = np.full(1 << n_features, -np.inf)
    upper = np.full(1 << n_features, np.inf)
    trained: dict[int, float] = {}
    for size in _bottom_and_top(n_features):
        layer = np.flatnonzero(sizes == size)
        layer = layer[alpha * (lower[layer] - tolerance) < upper[layer]]
        if layer.size == 0:
            continue
        masks = layer.tolist()
        scores = ask(score, masks, alpha)
        trained.update(zip(masks, scores, strict=True))
        lower[layer] = np.maximum(lower[layer], scores)
        upper[layer] = np.minimum(upper[layer], scores)
        _close(lower, upper, n_features)
    return trained


def _bottom_and_top(n_features: int) -> list[int]:
    """Return 0, F, 1, F - 1, ... up to the middle."""
    turns = [size for k in range(n_features // 2 + 1) for size in (k, n_features - k)]
    return list(dict.fromkeys(turns))


def _close(lower: NDArray[np.float64], upper: NDArray[np.float64], n_features: int) -> None:
    """Spread `lower` to all supersets (the highest counts) and `upper` to all subsets (the lowest), in place.

    The sets of one layer are incomparable, so for a set not yet visited the closure is over strict subsets and
    supersets.
    """
    for i in range(n_features):
        low, high = lower.reshape(-1, 2, 1 << i), upper.reshape(-1, 2, 1 << i)
        np.maximum(low[:, 1], low[:, 0], out=low[:, 1])
        np.minimum(high[:, 0], high[:, 1], out=high[:, 0])
