"""The paper's Naive-Expand-All: train every feature set."""

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.inputs import ScoreSets, ask, check_parameters

from .layers import MAX_DENSE_FEATURES


def expand_all(n_features: int, score: ScoreSets, *, batch: int = 256) -> dict[int, float]:
    """Train every feature set, by rising mask, as a reference for the searches; return the score of each.

    Raises `LatticeError` if there are more than 24 features.

    O(2^F) trainings.

    Examples
    --------
    >>> expand_all(2, lambda masks: [0.5 + 0.1 * m.bit_count() for m in masks])
    {0: 0.5, 1: 0.6, 2: 0.6, 3: 0.7}
    """
    check_parameters(n_features, alpha=1.0, tolerance=0.0, batch=batch)
    if n_features > MAX_DENSE_FEATURES:
        raise LatticeError(
            f"Training every set must be of at most {MAX_DENSE_FEATURES} features. Got {n_features}. "
            "Use expand_best_first, which trains few of them, or fewer features."
        )
    n_sets = 1 << n_features
    trained: dict[int, float] = {}
    for start in range(0, n_sets, batch):
        masks = range(start, min(start + batch, n_sets))
        trained.update(zip(masks, ask(score, masks, alpha=1.0), strict=True))
    return trained
