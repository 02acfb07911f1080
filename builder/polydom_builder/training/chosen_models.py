"""Several models, each for some of the items, as one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from polydom_runtime.features import members

from .table import Table
from .trainer import Trainer


def has_probabilities(asked: Any) -> bool:
    """Tell whether all estimators of a search, or of chosen models, have probabilities."""
    given = asked.estimator
    return all(hasattr(model, "predict_proba") for model in (given.values() if isinstance(given, Mapping) else [given]))


@dataclass(frozen=True)
class ChosenModels:
    """The models of the sets that are chosen for some items, presented as one model of the items' numbers."""

    table: Table
    """The features of the items."""
    chosen: NDArray[np.intp]
    """Shape (n_items,). The number of the model of each item."""
    models: Sequence[tuple[Trainer, int, Any]]
    """What trained each model, and its feature set."""

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
