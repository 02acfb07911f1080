"""The name of a scoring, for people and for the node."""

from collections.abc import Callable
from typing import Any

from polydom_runtime.bundles.confidence import SCORING

from .error_costs import CostSaved

LONGEST = 200
"""The most characters of a name that a bundle holds."""


def scoring_name(scoring: str | Callable[..., float]) -> str:
    """Return the name of a scoring; that of a callable, unlike any of scikit-learn's, has a dot or a bracket.

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
