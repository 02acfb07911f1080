"""The range of a score, by the name that it has in scikit-learn."""

from collections.abc import Mapping

from polydom_runtime.codec.unsound import bad
from polydom_runtime.costs import HUGE

from .bundle import Bundle
from .error_costs import SCORING

SHARES = ("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "f1", "precision", "recall")
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys((*SHARES, "jaccard", "roc_auc", SCORING), (0.0, 1.0)),
    **dict.fromkeys(("r2", "explained_variance", "d2"), (-HUGE, 1.0)),
    "neg": (-HUGE, 0.0),
}
"""The lowest and the highest score, by the name or its first words."""

ROUNDING = 1e-9
"""A mean of scores may be outside of their range by this much."""


def score_range(scoring: str) -> tuple[float, float]:
    """Return the lowest and the highest possible score; finite numbers also if the score is not known.

    >>> score_range("f1_macro"), score_range("shop.accuracy") == (-HUGE, HUGE)
    ((0.0, 1.0), True)
    """
    words = scoring if scoring.isidentifier() else ""  # the names of callables have a dot or a bracket
    while words and words not in RANGES:
        words = words.rpartition("_")[0]
    return RANGES.get(words, (-HUGE, HUGE))


def check_scores(bundle: Bundle) -> None:
    """Check that the prior, the models and the outlooks have scores that the scoring can give.

    Raises `BundleFormatError` if one has not.
    """
    low, high = score_range(bundle.promise.scoring)
    outlooks = [*bundle.times.outlook, *(o for there in bundle.regimes.values() for o in there.times.outlook)]
    scores = [bundle.prior.accuracy, *(m.accuracy for m in bundle.models), *(o.score for o in outlooks)]
    scores += [number for m in bundle.models for number in m.estimate or ()]
    scores += bundle.shipping.scores
    if wrong := [score for score in scores if not low - ROUNDING <= score <= high + ROUNDING]:
        raise bad(f"A score by {bundle.promise.scoring or 'any scoring'} must be from {low:g} to {high:g}", wrong[0])
