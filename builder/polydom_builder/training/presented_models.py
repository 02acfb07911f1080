"""Wrappers that present models as one: as a classifier over the labels, as a regressor, or with known answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from polydom_runtime.features import members

from .least_cost import LeastCostModel, answers_of
from .table import Table

RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class LabelledModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Presents a model over class numbers, or one more if it may abstain, as a fitted classifier over the labels."""

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
    """Presents a fitted model of numbers to a scorer as a regressor."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.fitted_ = True

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return numbers, shape ``(n_items,)``."""
        return np.asarray(self.model.predict(rows)).reshape(-1)


class Remembered:
    """A model that answers by numbers of items from earlier answers, so that a scorer may score many parts quickly."""

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


def has_probabilities(asked: Any) -> bool:
    """Tell whether all estimators of a search, or of chosen models, have probabilities."""
    given = asked.estimator
    return all(hasattr(model, "predict_proba") for model in (given.values() if isinstance(given, Mapping) else [given]))


@dataclass(frozen=True)
class ChosenModels:
    """The models of the sets that are chosen for some items, presented as one model of the items' numbers."""

    table: Table
    chosen: NDArray[np.intp]
    """Shape (n_items,). The number of the model of each item."""
    models: Sequence[tuple[Any, int, Any]]
    """The trainer of each model, its feature set, and the model."""

    @property
    def estimator(self) -> Mapping[int, Any]:
        """The estimators of the models, by their numbers."""
        return {number: trainer.estimator for number, (trainer, *_) in enumerate(self.models)}

    def predict(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Return class numbers, or the numbers of a regressor, shape ``(n_numbers,)``."""
        return self._joined(numbers, lambda trainer, model, rows: trainer.codes(model, rows))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Return probabilities, shape ``(n_numbers, n_classes)``."""
        return self._joined(numbers, lambda trainer, model, rows: np.asarray(model.predict_proba(rows)))

    def _joined(self, numbers: NDArray[np.intp], ask: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        chosen, parts, places = self.chosen[numbers], [], []
        for number in np.unique(chosen).tolist():
            trainer, mask, model = self.models[number]
            at = np.flatnonzero(chosen == number)
            parts.append(ask(trainer, model, self.table.rows_of(members(mask), numbers[at])))
            places.append(at)
        joined: NDArray[Any] = np.concatenate(parts)[np.argsort(np.concatenate(places))]
        return joined
