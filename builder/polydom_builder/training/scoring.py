"""The name of a scoring, for people and for the node."""

from collections.abc import Callable
from typing import Any

from polydom_runtime.bundles.error_costs import SCORING

from .error_costs import CostSaved

LONGEST = 200
"""The most characters of a name that a bundle holds."""


def scoring_name(scoring: str | Callable[..., float]) -> str:
    """Return the name of a scoring.

    That of a callable has a dot or a bracket in it, which no name of scikit-learn's has: so a function of the user's
    with such a name is not taken for scikit-learn's score.

    >>> from sklearn.metrics import f1_score, make_scorer
    >>> scoring_name("r2"), scoring_name(make_scorer(f1_score, pos_label="slow"))
    ('r2', "make_scorer(f1_score, response_method='predict', pos_label=slow)")
    """
    if isinstance(scoring, str):
        return scoring
    if isinstance(scoring, CostSaved):
        return SCORING
    if hasattr(scoring, "_score_func"):
        return " ".join(str(scoring).split())[:LONGEST]
    named = scoring if hasattr(scoring, "__qualname__") else type(scoring)
    return f"{named.__module__}.{named.__qualname__}"[:LONGEST]


def takes_any_rows(scoring: Any) -> bool:
    """Tell whether a scorer hands the rows to the model, and does not look at them itself, as scikit-learn's do."""
    return isinstance(scoring, str | CostSaved) or hasattr(scoring, "_score_func")
