"""The parameters of a search, checked at the door."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from polydom_runtime.exceptions import DeadlineError

from .exceptions import TrainingError


def checked_parameters(search: Any) -> tuple[float, float]:
    """Return the range of budgets of a PolyDomSearch; TrainingError or DeadlineError if a parameter is not sound."""
    for name, low, high in (("alpha", 1.0, np.inf), ("tolerance", 0.0, np.inf), ("quantile", 1e-9, 1.0)):
        value = getattr(search, name)
        if not isinstance(value, int | float | np.number) or not low <= value <= high:
            raise TrainingError(f"{name} must be a number from {low:g} to {high:g}. Got {value!r}.")
    if isinstance(search.estimator, type) or not is_classifier(search.estimator):
        raise TrainingError(f"The estimator must be a scikit-learn classifier object. Got {search.estimator!r}.")
    if search.n_jobs == 0:
        raise TrainingError("n_jobs must be a number of workers, or -1 for all cores. Got 0.")
    try:
        get_scorer(search.scoring)
    except ValueError as e:
        raise TrainingError(f"scoring must be a scikit-learn scorer. {e}") from e
    if search.deadline is None:
        return 0.0, np.inf
    try:
        given = np.asarray(search.deadline, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        given = np.empty(0)
    if len(given) not in (1, 2) or not 0.0 < given[0] <= given[-1] < np.inf:
        raise DeadlineError(f"The deadline must be positive seconds, or a range (low, high). Got {search.deadline!r}.")
    return float(given[0]), float(given[-1])
