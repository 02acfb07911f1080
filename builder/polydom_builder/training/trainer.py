"""Scores of feature sets: any scikit-learn estimator as a black box, cross-validated, cached, in parallel."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib import hash as content_hash
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer

from polydom_builder.exceptions import TrainingError
from polydom_runtime.causes import raised
from polydom_runtime.features import members

from .cache import Cache
from .code import training_code
from .column_names import placed
from .folds import Splits
from .presented_models import LabelledModel, NumericModel
from .table import Table
from .weights import NAME, Weights, routes_metadata, weight_parameter


@dataclass(frozen=True)
class Trainer:
    """Trains the estimator on feature sets of one table and scores it on held-out folds.

    Parameters
    ----------
    estimator : scikit-learn classifier, regressor or pipeline
    table : Table
    splits : list of (train, test) positions
    scoring : str or callable
        With "r2" a score below 0, worse than the mean, counts as 0: alpha is a factor and needs scores >= 0.
    n_jobs : int, optional
    memory : Cache
        Cache for the scores. Each one is stored as soon as it is known, so that a run that was killed can continue.
    names : tuple of str
        Names of the features, for messages and for an estimator that names columns by them.
    by_number : bool
        Whether the estimator sees class numbers 0, 1, ... instead of the labels as they were given. Scorers always see
        the labels.
    weights : array of shape (n_items,), optional
        Given to the estimator's fit and to the scorer.
    routed : bool
        Whether scikit-learn routes metadata in fits; as it is set where the trainer is made, also in workers.
    """

    estimator: Any
    table: Table
    splits: Splits
    scoring: str | Callable[..., float]
    n_jobs: int | None
    memory: Cache
    names: tuple[str, ...] = ()
    by_number: bool = False
    weights: Weights = None
    routed: bool = field(default_factory=routes_metadata)

    @cached_property
    def lean(self) -> "Trainer":
        """The trainer without its cache, to send to a worker."""
        return replace(self, memory=Cache())

    @cached_property
    def converted(self) -> dict[Any, bytes]:
        """Models that were converted already, for `converted_models`: most estimators take long on all items."""
        return {}

    @cached_property
    def models(self) -> dict[int, Any]:
        """Models that were trained on all items already, for `fitted`."""
        return {}

    @cached_property
    def key(self) -> str:
        """Identifies everything that a score depends on, except the feature set."""
        code = training_code(self.estimator, self.scoring)
        given = self.table.key, self.names, self.weights, self.estimator, self.splits, self.scoring, self.by_number
        return str(content_hash((*given, code, *["routed"][: self.routed])))

    @cached_property
    def seen(self) -> NDArray[Any]:
        """The targets as the estimator sees them: labels as given, class numbers, or numbers to predict."""
        return self.table.targets if self.by_number else self.table.labels

    @property
    def seen_classes(self) -> list[Any]:
        """The classes as the estimator sees them; none for a regression."""
        n_classes = len(self.table.classes)
        return list(range(n_classes)) if self.by_number else self.table.classes.tolist()

    @property
    def prior(self) -> int | float:
        """The answer without features: the most frequent class number, or the mean."""
        targets = self.table.targets
        if len(self.table.classes):
            return int(np.bincount(targets, self.weights).argmax())
        return float(np.average(targets, weights=self.weights))

    def scores(self, masks: Sequence[int]) -> list[float]:
        """Return the mean held-out score of each feature set.

        Each fold of each set is a task of its own, so that no worker is idle for long.

        Raises
        ------
        TrainingError
            If a set cannot be trained or scored, or its score is not finite; the message names the set.
        """
        score = self.memory.cache(_score_fold, ignore=["trainer"])
        folds = range(len(self.splits))
        tasks = (delayed(score)(self.lean, self.key, mask, fold) for mask in masks for fold in folds)
        table = np.array(Parallel(n_jobs=self.n_jobs)(tasks)).reshape(len(masks), len(self.splits))
        return [self.mean(self.name_of(members(mask)), row) for mask, row in zip(masks, table, strict=True)]

    def fit(self, order: Sequence[int], train: NDArray[np.intp] | None = None) -> Any:
        """Return the estimator fitted on some features and on some or all items.

        Without features it is the prior: the most frequent class, or the mean.

        Raises
        ------
        TrainingError
            If the estimator cannot be fitted.
        """
        targets = self.seen if train is None else self.seen[train]
        if not order:
            prior = DummyClassifier(strategy="most_frequent") if len(self.table.classes) else DummyRegressor()
            return prior.fit(np.zeros((len(targets), 1)), targets, **self._weights(train))
        try:
            columns = {self.name_of([i]): places for i, places in self.table.places_of(order).items()}
            with config_context(enable_metadata_routing=self.routed):
                weights = self._weights(train, of=self.estimator)
                return placed(self.estimator, columns).fit(self.table.rows_of(order, train), targets, **weights)
        except Exception as e:  # of the user's code
            raise TrainingError(f"The estimator must train on {self.name_of(order)}. {raised(e)}") from e

    def fitted(self, mask: int) -> Any:
        """Return the estimator fitted on a feature set and all items; it is trained once and kept.

        Raises
        ------
        TrainingError
            If the estimator cannot be fitted.
        """
        if mask not in self.models:
            self.models[mask] = self.fit(tuple(members(mask)))
        return self.models[mask]

    def _weights(self, items: NDArray[np.intp] | None, of: Any = None) -> dict[str, NDArray[np.float64]]:
        """Return the weights of items as an argument of a scorer, or of an estimator's fit; nothing without weights."""
        if self.weights is None:
            return {}
        return {weight_parameter(of) if of else NAME: self.weights if items is None else self.weights[items]}

    def codes(self, model: Any, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return the answers of a fitted model: class numbers, or the numbers of a regressor, shape ``(n_rows,)``.

        Raises
        ------
        TrainingError
            If the model cannot answer, or an answer is not one of the classes.
        """
        try:
            answers = np.asarray(model.predict(rows)).reshape(-1)
        except Exception as e:  # of the user's code
            raise TrainingError(f"The estimator must answer for all items, also for new ones. {raised(e)}") from e
        if self.by_number or not len(self.table.classes):
            return answers
        codes = np.minimum(np.searchsorted(self.table.classes, answers), len(self.table.classes) - 1)
        if (strange := self.table.classes[codes] != answers).any():
            raise TrainingError(
                f"The estimator must answer with labels that it was trained on. Got {answers[strange][0]!r}."
            )
        return codes

    def score(self, order: Sequence[int], convert: Callable[[Any], Any] | None = None) -> float:
        """Return the mean held-out score of one ordered feature set, after `convert` of each fold's model.

        Converted models answer with class numbers.

        Raises
        ------
        TrainingError
            If the set cannot be trained or scored, or its score is not finite.
        """
        return self.mean(
            self.name_of(order), [self.score_fold(order, fold, convert) for fold in range(len(self.splits))]
        )

    def score_fold(self, order: Sequence[int], fold: int, convert: Callable[[Any], Any] | None = None) -> float:
        """Return the score of one ordered feature set on one held-out fold, after `convert` of its model.

        Raises
        ------
        TrainingError
            If the estimator cannot be fitted, or the scorer cannot score the labels.
        """
        train, test = self.splits[fold]
        shown = self.fit(order, train) if convert is None else convert(self.fit(order, train))
        if self.by_number or convert is not None or not len(self.table.classes):
            shown = self.presented(shown)
        rows, labels = self.table.rows_of(order, test), self.table.labels[test]
        return self.score_of(shown, rows, labels, self._weights(test), self.name_of(order))

    def presented(self, model: Any) -> Any:
        """Return a model over class numbers, or of numbers, as one that answers with labels and that scorers take."""
        return LabelledModel(self.table.classes, model) if len(self.table.classes) else NumericModel(model)

    def score_of(
        self, model: Any, rows: NDArray[Any], labels: NDArray[Any], weights: dict[str, NDArray[np.float64]], name: str
    ) -> float:
        """Return the score of a fitted model; `name` is for the message.

        Raises
        ------
        TrainingError
            If the scorer cannot score the labels.
        """
        with warnings.catch_warnings():
            # The prior answers with one class only, so the precision of the others is undefined: it counts as 0.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            try:
                return float(get_scorer(self.scoring)(model, rows, labels, **weights))
            except Exception as e:  # of the user's code
                raise TrainingError(
                    f"The scorer {self.scoring!r} must score {name} on these labels. {raised(e)} "
                    "Choose a scoring for this kind of label."
                ) from e

    def mean(self, name: str, scores: Sequence[float] | NDArray[np.float64]) -> float:
        """Return the mean of the scores of one set; `name` is for the message.

        Raises
        ------
        TrainingError
            If it is not finite.
        """
        mean = float(np.mean(scores))
        if not math.isfinite(mean):
            raise TrainingError(
                f"The scorer must return a finite number for every feature set. Got {mean} for {name}. "
                "Choose another scoring, or folds that hold every class; for R² two items or more in each."
            )
        return max(mean, 0.0) if self.scoring == "r2" else mean

    def name_of(self, order: Iterable[int]) -> str:
        """Return the names of the features of a set, for messages."""
        return "+".join(self.names[i] if self.names else f"feature {i}" for i in order) or "no features (the prior)"


def _score_fold(trainer: Trainer, key: str, mask: int, fold: int) -> float:
    return trainer.score_fold(tuple(members(mask)), fold)
