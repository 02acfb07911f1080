"""Sample weights: their check, and whether an estimator and a scorer take them."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.metrics import get_scorer

from polydom_builder.exceptions import TrainingError

from .labels import is_finite, plain

NAME = "sample_weight"

INSTEAD_OF_0 = 1e-300
"""Sums of weights or costs that are 0 are divided by this."""

LEAST, MOST = 1e-30, 1e30
"""The range of a weight above 0. Float32 ends at 1e-38 and 3e38, and weights are added up."""

Weights = NDArray[np.float64] | None
"""The weight of each item; None if all items count alike."""


def checked_weights(sample_weight: Sequence[Any] | None, n_items: int) -> Weights:
    """Return the weights of items, shape ``(n_items,)``, finite and at least 0, not all 0; None if none are given."""
    if sample_weight is None:
        return None
    try:
        weights = [plain(weight) for weight in sample_weight]
    except TypeError as e:
        raise TrainingError(f"{NAME} must be a sequence, one weight for each item. Got {sample_weight!r}.") from e
    if len(weights) != n_items:
        raise TrainingError(f"There must be one weight for each item. Got {len(weights)} for {n_items} items.")
    for k, weight in enumerate(weights):
        if not isinstance(weight, int | float) or not is_finite(weight) or weight < 0:
            raise TrainingError(
                f"{NAME} must be a finite number of at least 0 for each item. Got {weight!r} for item {k}."
            )
        if weight and not LEAST <= weight <= MOST:
            raise TrainingError(
                f"{NAME} must be 0, or from {LEAST:g} to {MOST:g}: estimators add up in float32. Got {weight!r} "
                f"for item {k}. Divide all by the largest, {max(weights):g}, and leave out what hardly counts then."
            )
    if not any(weights):
        raise TrainingError(f"{NAME} must be above 0 for some items. Got 0 for each.")
    return np.array(weights, dtype=np.float64)


def routes_metadata() -> bool:
    """Tell whether scikit-learn's ``enable_metadata_routing`` is set."""
    return bool(get_config()["enable_metadata_routing"])


def weight_parameter(estimator: Any) -> str:
    """Return the argument by which an estimator's fit takes weights; empty if it takes none.

    That of a pipeline is of its last step, unless scikit-learn routes metadata to the steps that request it; a grid
    search has that of the estimator in it.
    """
    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        of_last = weight_parameter(last)
        return of_last and (NAME if routes_metadata() else f"{name}__{of_last}")
    if not _takes(estimator.fit):
        return ""
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    hands_over = inner is not None and NAME not in signature(estimator.fit).parameters
    return weight_parameter(inner) if hands_over else NAME


def check_weighable(estimator: Any, scoring: str | Callable[..., float]) -> None:
    """Check that an estimator and a scorer take weights; `TrainingError` if one does not."""
    if not weight_parameter(estimator):
        raise TrainingError(
            f"With {NAME} the estimator's fit must take {NAME}; of a pipeline, that of its last step. Got "
            f"{' '.join(repr(estimator).split()):.200}. Choose another estimator, or give no weights."
        )
    scorer = get_scorer(scoring)
    if not _takes(getattr(scorer, "_score_func", scorer)):
        raise TrainingError(
            f"With {NAME} the scorer must take {NAME}. {scoring!r} does not. Choose another scoring, give no weights, "
            f"or write a function (estimator, rows, labels, {NAME}=None) that ignores them."
        )


def _takes(function: Any) -> bool:
    parameters = signature(function).parameters
    return NAME in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
