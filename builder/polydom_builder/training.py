"""Scores of feature sets: any scikit-learn classifier as a black box, cross-validated, cached, in parallel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Memory, Parallel, delayed
from joblib import hash as content_hash
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from polydom_runtime.features import members

from .exceptions import TrainingError
from .table import Table

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


class LabelledModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model over class numbers, shown to a scorer as a fitted classifier over the labels.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    model : object
        Has ``predict`` and perhaps ``predict_proba`` or ``decision_function``; over class numbers.
    """

    def __init__(self, classes: NDArray[Any], model: Any) -> None:
        self.classes = classes
        self.model = model
        self.classes_ = classes

    def predict(self, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return labels."""
        labels: NDArray[Any] = self.classes[self.model.predict(rows)]
        return labels

    def __getattr__(self, name: str) -> Any:
        if name in ("predict_proba", "decision_function"):
            return getattr(self.model, name)
        raise AttributeError(name)


def make_splits(cv: Any, table: Table, groups: Sequence[Any] | None, random_state: int | None) -> Splits:
    """Return the folds: an int means stratified folds, by groups if groups are given; else as scikit-learn's `cv`.

    Raises
    ------
    TrainingError
        If the items cannot be split so.
    """
    if isinstance(cv, int | np.integer):
        shuffle = random_state is not None
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        smallest = int(np.bincount(table.codes).min())
        if not 2 <= cv <= smallest:
            raise TrainingError(
                f"cv must be from 2 to the number of items in the smallest class ({smallest}). Got {cv}."
            )
        cv = kind(int(cv), shuffle=shuffle, random_state=random_state)
    if groups is not None and len(groups) != len(table.codes):
        raise TrainingError(f"There must be one group for each item. Got {len(groups)} for {len(table.codes)} items.")
    try:
        splitter = check_cv(cv, table.codes, classifier=True)
        return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(table.rows, table.codes, groups)]
    except ValueError as e:
        raise TrainingError(f"The items must be splittable by cv={cv!r}. {e}") from e


@dataclass(frozen=True)
class Trainer:
    """Trains the estimator on feature sets of one table and scores it on held-out folds.

    The estimator sees the classes as numbers 0, 1, ...; the scorer sees the labels.

    Parameters
    ----------
    estimator : scikit-learn classifier or pipeline
    table : Table
    splits : list of (train, test) positions
    scoring : str or callable
    n_jobs : int, optional
    memory : joblib.Memory
        Every score is kept as soon as it is known, so that a killed run goes on.
    """

    estimator: Any
    table: Table
    splits: Splits
    scoring: str | Callable[..., float]
    n_jobs: int | None
    memory: Memory

    def lean(self) -> "Trainer":
        """Return this without its cache, to send to a worker."""
        return replace(self, memory=Memory(None, verbose=0))

    @cached_property
    def key(self) -> str:
        """Identifies everything that a score depends on, but the feature set."""
        return str(content_hash((self.table.key, self.estimator, self.splits, self.scoring)))

    def scores(self, masks: Sequence[int]) -> list[float]:
        """Return the mean held-out score of each feature set, in parallel."""
        score = self.memory.cache(_score_set, ignore=["trainer"])
        return list(Parallel(n_jobs=self.n_jobs)(delayed(score)(self.lean(), self.key, mask) for mask in masks))

    def fit(self, order: Sequence[int], train: NDArray[np.intp] | None = None) -> Any:
        """Return the estimator fitted on the features in this order, on some or all items; without features, the prior.

        Raises
        ------
        TrainingError
            If the estimator cannot be fitted.
        """
        codes = self.table.codes if train is None else self.table.codes[train]
        if not order:
            return DummyClassifier(strategy="most_frequent").fit(codes[:, None], codes)
        try:
            return clone(self.estimator).fit(self.table.rows_of(order, train), codes)
        except ValueError as e:
            raise TrainingError(f"The estimator must train on features {tuple(order)}. It raised {e!r}.") from e

    def score(self, order: Sequence[int], convert: Callable[[Any], Any] = lambda model: model) -> float:
        """Return the mean held-out score of one ordered feature set, each fold's model passed through `convert`."""
        scorer = get_scorer(self.scoring)
        scores = []
        for train, test in self.splits:
            model = LabelledModel(self.table.classes, convert(self.fit(order, train)))
            labels = self.table.classes[self.table.codes[test]]
            scores.append(float(scorer(model, self.table.rows_of(order, test), labels)))
        return float(np.mean(scores))


def _score_set(trainer: Trainer, key: str, mask: int) -> float:
    return trainer.score(tuple(members(mask)))
