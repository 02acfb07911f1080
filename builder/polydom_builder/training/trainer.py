"""Scores of feature sets: any scikit-learn estimator as a black box, cross-validated, cached, in parallel."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from joblib import hash as content_hash
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer

from polydom_builder.exceptions import TrainingError
from polydom_runtime.bundles.confidence import SCORING, ErrorCosts
from polydom_runtime.causes import raised
from polydom_runtime.features import members

from .cache import Cache
from .column_names import placed
from .fingerprints import training_code
from .folds import Blocks, Splits, block_shares, make_blocks, make_splits
from .labels import Targets
from .least_cost import LeastCostModel, always_abstains, decision_costs
from .presented_models import LabelledModel, NumericModel, Remembered
from .scoring import scoring_name, takes_any_rows
from .table import Table
from .weights import INSTEAD_OF_0, NAME, Weights, routes_metadata, weight_parameter


class Scored(NamedTuple):
    """A held-out score."""

    score: float
    parts: NDArray[np.float64]
    """Shape (n_blocks,). What each block of held-out items contributes: the score of its items, if the score is a mean
    over items. The blocks are the same for all sets, so the parts of two sets tell how certain their difference is."""


@dataclass(frozen=True)
class Trainer:
    """Trains the estimator on feature sets of one table and scores it on held-out folds."""

    estimator: Any
    table: Table
    splits: Splits
    scoring: str | Callable[..., float]
    """How sets are scored. A score below 0, worse than a constant answer, counts as 0 with "r2" and by costs of errors:
    alpha is a factor and needs scores >= 0."""
    n_jobs: int | None
    memory: Cache
    """Stores each score as soon as it is known, so that a run that was killed can continue."""
    names: tuple[str, ...] = ()
    """The names of the features, for messages and for an estimator that names columns by them."""
    by_number: bool = False
    """Whether the estimator sees class numbers 0, 1, ... instead of the labels as they were given. Scorers always see
    the labels."""
    weights: Weights = None
    """Shape (n_items,). Given to the estimator's fit and to the scorer."""
    groups: Sequence[Any] | None = None
    """Shape (n_items,). Items of one group are not independent of each other."""
    errors: ErrorCosts | None = None
    """If given, models answer with the label of least expected cost."""
    chosen: int | float | None = None
    """The answer without features, as the user chose it; see `chosen_prior`. Sets are compared with the best one."""
    sharpness: float = 1.0
    """The power of the probabilities with which costs of errors are expected; see `sharpness_of`."""
    routed: bool = field(default_factory=routes_metadata)
    """Whether scikit-learn routes metadata in fits; as it is set where the trainer is made, also in workers."""

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
    def known(self) -> dict[int, Scored]:
        """The sets that were scored already, for `scored`."""
        return {}

    @cached_property
    def key(self) -> str:
        """Identifies everything that a score depends on, except the feature set."""
        code = training_code(self.estimator, self.scoring)
        given = self.table.key, self.names, self.weights, self.estimator, self.splits, self.scoring, self.by_number
        more = [] if self.groups is None else [list(self.groups)]
        return str(content_hash((*given, code, self.errors, self.sharpness, *more, *["routed"][: self.routed])))

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
        """The answer without features: that chosen; the most frequent class, that of least cost, or the mean."""
        if self.chosen is not None:
            return self.chosen
        if len(self.table.classes):
            return self._best(self.table.targets, self.weights)
        return float(np.average(self.table.targets, weights=self.weights))

    @property
    def chosen_score(self) -> float:
        """The held-out score of the answer without features that was chosen."""
        shown = self._as_scored(self.fitted(0))
        return self.mean(self.name_of(()), [self._score_on(shown, (), test) for _, test in self.splits])

    def _best(self, targets: NDArray[np.int64], weights: Weights) -> int:
        """Return the number of the best answer to all of some items."""
        counts = np.bincount(targets, weights, len(self.table.classes))
        return int(counts.argmax() if self.errors is None else (counts @ decision_costs(self.errors)).argmin())

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of the held-out items of each fold; see `make_blocks`."""
        return make_blocks(self.splits, Targets(self.table.classes, self.table.targets), self.groups)

    @cached_property
    def _every(self) -> NDArray[np.float64]:
        return np.ones(len(self.table.targets)) if self.weights is None else self.weights

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """How much each block of held-out items counts in a score, shape ``(n_blocks,)``; they sum to 1."""
        return block_shares(self.blocks, self._every, self.splits)

    @cached_property
    def inflation(self) -> float:
        """The factor of a variance between blocks for what folds share: the items that they are trained on.

        It is that of Nadeau and Bengio (2003), 1 + J · n_test / n_train for J folds.
        """
        ratios = [len(test) / len(train) for train, test in self.splits]
        return 1.0 + len(ratios) * float(np.mean(ratios))

    def scores(self, masks: Sequence[int]) -> list[float]:
        """Return the mean held-out score of each feature set; see `scored`."""
        return [found.score for found in self.scored(masks)]

    def scored(self, masks: Sequence[int]) -> list[Scored]:
        """Return the mean held-out score of each feature set, and its parts by block; each set is trained once."""
        score = self.memory.cache(_score_fold, ignore=["trainer"])
        folds = range(len(self.splits))
        new = [mask for mask in dict.fromkeys(masks) if mask not in self.known]
        tasks = (delayed(score)(self.lean, self.key, mask, fold) for mask in new for fold in folds)
        found = Parallel(n_jobs=self.n_jobs)(tasks)
        rows = [found[k : k + len(folds)] for k in range(0, len(found), len(folds))]
        for mask, row in zip(new, rows, strict=True):
            mean = self.mean(self.name_of(members(mask)), [score for score, _ in row])
            self.known[mask] = Scored(mean, np.concatenate([parts for _, parts in row]))
        return [self.known[mask] for mask in masks]

    def parts(self, masks: Sequence[int]) -> NDArray[np.float64]:
        """Return the parts of the scores of feature sets, shape ``(n_sets, n_blocks)``; see `scored`."""
        return np.array([found.parts for found in self.scored(masks)])

    def fit(self, order: Sequence[int], train: NDArray[np.intp] | None = None) -> Any:
        """Return the estimator fitted on some features and on some or all items; else the prior of these.

        The prior of all items is that chosen.
        """
        targets = self.seen if train is None else self.seen[train]
        if not order:
            return self._prior(targets, train)
        try:
            columns = {self.name_of([i]): places for i, places in self.table.places_of(order).items()}
            with config_context(enable_metadata_routing=self.routed):
                weights = self._weights(train, of=self.estimator)
                model = placed(self.estimator, columns).fit(self.table.rows_of(order, train), targets, **weights)
            return model if self.errors is None else LeastCostModel(model, decision_costs(self.errors), self.sharpness)
        except Exception as e:  # of the user's code
            raise TrainingError(f"The estimator must train on {self.name_of(order)}. {raised(e)}") from e

    def _prior(self, targets: NDArray[Any], train: NDArray[np.intp] | None) -> Any:
        """Return the best constant answer to some items, or that chosen to all, as a fitted estimator.

        Where no cost tells what it is worth to abstain, the best answer stands in its place.
        """
        weights, prior = self._weights(train), DummyRegressor()
        chosen = self.chosen if train is None else None
        if not len(self.table.classes) and chosen is not None:
            prior.set_params(strategy="constant", constant=chosen)
        if n_classes := len(self.table.classes):
            numbers = self.table.targets if train is None else self.table.targets[train]
            if chosen is None or (chosen == n_classes and not (self.errors and self.errors.abstain)):
                chosen = self._best(numbers, weights.get(NAME))
            if chosen == n_classes:
                return always_abstains(self.table.classes, targets, weights.get(NAME))
            prior = DummyClassifier(strategy="constant", constant=self.seen_classes[int(chosen)])
        return prior.fit(np.zeros((len(targets), 1)), targets, **weights)

    def fitted(self, mask: int) -> Any:
        """Return the estimator fitted on a feature set and all items; it is trained once and kept."""
        if mask not in self.models:
            self.models[mask] = self.fit(tuple(members(mask)))
        return self.models[mask]

    def _weights(self, items: NDArray[np.intp] | None, of: Any = None) -> dict[str, NDArray[np.float64]]:
        """Return the weights of items as an argument of a scorer, or of an estimator's fit; nothing without weights."""
        if self.weights is None:
            return {}
        return {weight_parameter(of) if of else NAME: self.weights if items is None else self.weights[items]}

    def codes(self, model: Any, rows: NDArray[np.float32]) -> NDArray[Any]:
        """Return the class numbers that a fitted model answers (one more if it abstains), or a regressor's numbers."""
        try:
            if isinstance(model, LeastCostModel):
                return model.numbers(rows)
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
        """Return the mean held-out score of one ordered set, by models after `convert`, which give class numbers."""
        return self.mean(
            self.name_of(order), [self.score_fold(order, fold, convert) for fold in range(len(self.splits))]
        )

    def score_fold(self, order: Sequence[int], fold: int, convert: Callable[[Any], Any] | None = None) -> float:
        """Return the score of one ordered feature set on one held-out fold, after `convert` of its model."""
        return self._score_on(self._shown(order, fold, convert), order, self.splits[fold][1])

    def parts_of_fold(self, order: Sequence[int], fold: int) -> tuple[float, NDArray[np.float64]]:
        """Return the score of one ordered feature set on a held-out fold, and its parts: one for each block of it.

        The parts are the jackknife's: how the score changes without a block tells what the block contributes. Their
        mean is the score, if it is a mean over items.
        """
        model, test, blocks = self._shown(order, fold), self.splits[fold][1], self.blocks[fold]
        if takes_any_rows(self.scoring):
            model = Remembered(model, self.table.rows_of(order, test), test)
        whole, count = self._score_on(model, order, test), int(blocks.max(initial=0)) + 1
        if count == 1:
            return whole, np.array([whole])
        sizes = np.bincount(blocks, self._every[test])
        if self.scoring == "accuracy":
            hits = np.asarray(model.predict(test)) == self.table.labels[test]
            return whole, np.bincount(blocks, self._every[test] * hits) / np.maximum(sizes, INSTEAD_OF_0)
        without = np.array([self._score_on(model, order, test[blocks != block]) for block in range(count)])
        parts = whole + (sizes.sum() / np.maximum(sizes, INSTEAD_OF_0) - 1.0) * (whole - without)
        return whole, np.where(sizes > 0.0, parts, whole)

    def _shown(self, order: Sequence[int], fold: int, convert: Callable[[Any], Any] | None = None) -> Any:
        """Return the model of a fold as scorers see it."""
        model = self.fit(order, self.splits[fold][0])
        return self._as_scored(model) if convert is None else self.presented(convert(model))

    def _as_scored(self, model: Any) -> Any:
        return self.presented(model) if self.by_number or not len(self.table.classes) else model

    def _score_on(self, shown: Any, order: Sequence[int], items: NDArray[np.intp]) -> float:
        rows = items if isinstance(shown, Remembered) else self.table.rows_of(order, items)
        return self.score_of(shown, rows, self.table.labels[items], self._weights(items), self.name_of(order))

    def presented(self, model: Any) -> Any:
        """Return a model over class numbers, or of numbers, as one that answers with labels and that scorers take."""
        if not len(self.table.classes):
            return NumericModel(model)
        n_answers = None if self.errors is None else len(self.errors.costs[0])
        return LabelledModel(self.table.classes, model, n_answers)

    def score_of(
        self, model: Any, rows: NDArray[Any], labels: NDArray[Any], weights: dict[str, NDArray[np.float64]], name: str
    ) -> float:
        """Return the score of a fitted model; `name` is for the message.

        Raises `TrainingError` if the scorer cannot score the labels.
        """
        with warnings.catch_warnings():
            # The prior answers with one class only, so the precision of the others is undefined: it counts as 0.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            # The held-out items of a fold may lack a class, with few groups: balanced accuracy is of the others there.
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            try:
                return float(get_scorer(self.scoring)(model, rows, labels, **weights))
            except Exception as e:  # of the user's code
                raise TrainingError(
                    f"The scorer {self.scoring!r} must score {name} on these labels. {raised(e)} "
                    "Choose a scoring for this kind of label."
                ) from e

    def mean(self, name: str, scores: Sequence[float] | NDArray[np.float64]) -> float:
        """Return the mean of the scores of one set; `name` is for the message; `TrainingError` if it is not finite."""
        mean = float(np.mean(scores))
        if not math.isfinite(mean):
            raise TrainingError(
                f"The scorer must return a finite number for every feature set. Got {mean} for {name}. "
                "Choose another scoring, or folds that hold every class; for R² two items or more in each."
            )
        return max(mean, 0.0) if scoring_name(self.scoring) in ("r2", SCORING) else mean

    def name_of(self, order: Iterable[int]) -> str:
        """Return the names of the features of a set, for messages."""
        return "+".join(self.names[i] if self.names else f"feature {i}" for i in order) or "no features (the prior)"


def _score_fold(trainer: Trainer, key: str, mask: int, fold: int) -> tuple[float, NDArray[np.float64]]:
    return trainer.parts_of_fold(tuple(members(mask)), fold)


def nested_trainers(trainer: Trainer, cv: Any, random_state: int | None) -> list[Trainer]:
    """Return for each fold a trainer of the items that it is trained on, with folds by `cv` of their own."""
    if not (isinstance(cv, int | np.integer) or hasattr(cv, "split")):
        raise TrainingError(
            "With correction='nested' cv must be a number or a splitter, which splits a part of the items again. Got "
            "splits of all items. Give one of these, or correction='resampling'."
        )
    table, found = trainer.table, []
    for train, _ in trainer.splits:
        targets = Targets(table.classes, table.targets[train])
        groups = None if trainer.groups is None else [trainer.groups[k] for k in train.tolist()]
        weights = None if trainer.weights is None else trainer.weights[train]
        splits = make_splits(cv, targets, groups, random_state, weights)
        part = Table(table.rows[train], *targets, table.columns)
        found.append(replace(trainer, table=part, splits=splits, weights=weights, groups=groups))
    return found
