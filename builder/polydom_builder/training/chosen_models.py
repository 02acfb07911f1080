"""Several models, each for some of the items, as one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from polydom_runtime.features import members

from .table import Table
from .trainer import Trainer


def has_probabilities(asked: Any) -> bool:
    """Tell whether the estimator of a search, or of a trainer behind it, has probabilities."""
    return hasattr(getattr(asked, "trainer_", asked).estimator, "predict_proba")


@dataclass(frozen=True)
class ChosenModels:
    """The models of the sets that are chosen for some items, presented as one model of the items' numbers.

    Parameters
    ----------
    trainer : Trainer
    table : Table
        The features of the items.
    masks : int array of shape (n_items,)
        The set of each item.
    models : dict of int to fitted estimator
        By set.
    """

    trainer: Trainer
    table: Table
    masks: NDArray[np.int64]
    models: dict[int, Any]

    @property
    def estimator(self) -> Any:
        """The kind of all models."""
        return self.trainer.estimator

    def predict(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Return class numbers, or the numbers of a regressor, shape ``(n_numbers,)``."""
        return self._joined(numbers, self.trainer.codes)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Return probabilities, shape ``(n_numbers, n_classes)``."""
        return self._joined(numbers, lambda model, rows: np.asarray(model.predict_proba(rows)))

    def _joined(self, numbers: NDArray[np.intp], ask: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        masks = self.masks[numbers]
        places = {mask: np.flatnonzero(masks == mask) for mask in np.unique(masks).tolist()}
        parts = [ask(self.models[m], self.table.rows_of(members(m), numbers[at])) for m, at in places.items()]
        joined: NDArray[Any] = np.concatenate(parts)[np.argsort(np.concatenate([*places.values()]))]
        return joined
