"""Wrappers that present a model to a scorer: as a classifier over the labels, as a regressor, or with its answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .least_cost import LeastCostModel, answers_of

RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class LabelledModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A wrapper that presents a model over class numbers to a scorer as a fitted classifier over the labels.

    `classes` has shape (n_classes,). `model`: has ``numbers`` or ``predict``, over class numbers, and optionally
    ``predict_proba`` or ``decision_function``. `n_answers`: one more than classes if the model may abstain.
    """

    def __init__(self, classes: NDArray[Any], model: Any, n_answers: int | None = None) -> None:
        self.classes = classes
        self.model = model
        self.n_answers = n_answers
        self.classes_ = classes

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return labels, shape ``(n_items,)``; None for each item without an answer."""
        numbers = self.model.numbers if isinstance(self.model, LeastCostModel) else self.model.predict
        labels: NDArray[Any] = answers_of(self.classes, self.n_answers or len(self.classes))[numbers(rows)]
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


class Remembered:
    """A model that answers for items by their numbers, from what it answered for all of them at once.

    A scorer may so score many parts of the items, in the time of one prediction.

    `rows` has shape (n_items, n_columns). `items` (shape (n_items,)): the number of each row's item.
    """

    def __init__(self, model: Any, rows: NDArray[np.float32], items: NDArray[np.intp]) -> None:
        self._model, self._rows, self._known = model, rows, dict[str, NDArray[Any]]()
        self._places = np.zeros(int(items.max()) + 1, dtype=np.intp)
        self._places[items] = np.arange(len(items))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        return self._of_numbers(name, found) if name in RESPONSES else found

    def _of_numbers(self, name: str, respond: Callable[..., Any]) -> Callable[[NDArray[np.intp]], NDArray[Any]]:
        def answers(numbers: NDArray[np.intp]) -> NDArray[Any]:
            if name not in self._known:
                self._known[name] = np.asarray(respond(self._rows))
            found: NDArray[Any] = self._known[name][self._places[numbers]]
            return found

        answers.__name__ = name  # scorers ask for it
        return answers
