"""The range of a score, by the name that it has in scikit-learn."""

import re
from collections.abc import Mapping

from polydom_runtime.costs import HUGE

from . import schema
from .bundle import Bundle

RANGES: Mapping[str, tuple[float, float]] = {
    r"(balanced_|top_k_)?accuracy|average_precision|(f1|precision|recall|jaccard|roc_auc)(_\w+)?": (0.0, 1.0),
    r"r2|explained_variance|d2_\w+": (-HUGE, 1.0),
    r"neg_\w+": (-HUGE, 0.0),
}
"""The lowest and the highest score, by a pattern of names."""

ROUNDING = 1e-9
"""A mean of scores may be outside of their range by this much."""


def score_range(scoring: str) -> tuple[float, float]:
    """Return the lowest and the highest possible score; finite numbers also if the score is not known.

    >>> score_range("f1_macro"), score_range("shop.accuracy") == (-HUGE, HUGE)
    ((0.0, 1.0), True)
    """
    return next((bounds for names, bounds in RANGES.items() if re.fullmatch(names, scoring)), (-HUGE, HUGE))


def check_scores(bundle: Bundle) -> None:
    """Check that the prior, the models and the outlooks have scores that the scoring can give.

    Raises
    ------
    BundleFormatError
        If one has not.
    """
    low, high = score_range(bundle.promise.scoring)
    outlooks = [*bundle.times.outlook, *(o for there in bundle.regimes.values() for o in there.times.outlook)]
    scores = [bundle.prior.accuracy, *(m.accuracy for m in bundle.models), *(o.score for o in outlooks)]
    if wrong := [score for score in scores if not low - ROUNDING <= score <= high + ROUNDING]:
        raise schema.bad(
            f"A score by {bundle.promise.scoring or 'any scoring'} must be from {low:g} to {high:g}", wrong[0]
        )
