"""Wrappers that present a model to a scorer as a fitted classifier over the labels, or as a regressor."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class LabelledModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A wrapper that presents a model over class numbers to a scorer as a fitted classifier over the labels.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    model : object
        Has ``predict``, over class numbers, and optionally ``predict_proba`` or ``decision_function``.
    """

    def __init__(self, classes: NDArray[Any], model: Any) -> None:
        self.classes = classes
        self.model = model
        self.classes_ = classes

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return labels, shape ``(n_items,)``."""
        labels: NDArray[Any] = self.classes[self.model.predict(rows)]
        return labels

    def __getattr__(self, name: str) -> Any:
        if name in ("predict_proba", "decision_function"):
            return getattr(self.model, name)
        raise AttributeError(name)


class NumericModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A wrapper that presents a fitted model of numbers to a scorer as a regressor."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.fitted_ = True

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return numbers, shape ``(n_items,)``."""
        return np.asarray(self.model.predict(rows)).reshape(-1)
