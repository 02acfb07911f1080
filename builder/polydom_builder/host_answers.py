"""Answers of a fitted search on the host, and the rest of what scikit-learn asks of an estimator."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from polydom_runtime.bundles.index import Candidate
from polydom_runtime.causes import shown
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import DeadlineError, ItemError
from polydom_runtime.features import FeatureSpace, ItemKind, check_kind
from polydom_runtime.measuring.item_sizes import checked_items
from polydom_runtime.policy.deadline import MAX_SECONDS, ROUNDING, doubt

from .displays.plots import Plots
from .preparation.inputs import item_size
from .preparation.settings import NamedSettings
from .sets.region import QueryRegion
from .training.families import Family
from .training.labels import Targets, checked_labels
from .training.presented_models import ChosenModels, has_probabilities
from .training.table import extract_table
from .training.weights import NAME, checked_weights

Deadlines = float | Sequence[float] | NDArray[np.float64] | None

UNROUTED = {"items": UNUSED, "labels": UNUSED}
"""`items` and `labels` are the data; scikit-learn would take arguments of other names than X and y for metadata."""


class HostAnswers(Plots, NamedSettings):
    """Answers of a fitted search to items, without a bundle.

    An item gets the set that `index_` names for its size and deadline by worst-case costs, and the answer of the model
    of this set, trained on all items of the fit. If limits of models may leave some out, models are exported first, as
    for a bundle, and those answer that it ships. No time is measured. The node's any-time policy uses the time that is
    left, and does at least as well in most cases; with sequences of `GreedySearch`, both follow the sequence. All
    features of the items are computed, as in the fit, and kept in `memory`. A model is trained when it is first needed,
    and kept in the search, not in `memory`, which holds no pickles.
    """

    __metadata_request__fit: ClassVar = UNROUTED
    __metadata_request__score: ClassVar = UNROUTED
    __metadata_request__predict: ClassVar = {"items": UNUSED}
    __metadata_request__predict_proba: ClassVar = {"items": UNUSED}

    space_: FeatureSpace
    region_: QueryRegion
    trainer_: Any
    families_: tuple[Family, ...]
    item_kind_: ItemKind | None
    index_: Any

    def predict(self, items: Iterable[Any], deadline: Deadlines = None) -> NDArray[Any]:
        """Return the answer to each item, without timing: a label as it was given, or a number of a regressor.

        Where no set fits, it is the prior. `items`: items of the same kind as those of the fit. `deadline`: seconds,
        for all items or for each; the longest that the search was fitted for if not given.

        Raises `NotFittedError` if the search is not fitted. Raises `ItemError`, `FeatureError` if there are no items,
        one is of another kind, or its size or a feature cannot be computed. Raises `DeadlineError` if a deadline is not
        positive, or missing although the search was fitted for any budget. Raises `TrainingError` if a model cannot be
        trained or cannot answer.
        """
        chosen, numbers = self._chosen(items, deadline)
        answers: NDArray[Any] = self.trainer_.presented(chosen).predict(numbers)
        return answers

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, items: Iterable[Any], deadline: Deadlines = None) -> NDArray[Any]:
        """Return the probabilities of each item, shape ``(n_items, n_classes)``, in the order of `classes_`.

        Only if the estimator has them. Where no set fits, the prior has probability 1, or if it is to abstain, each
        label its share. Otherwise as `predict`.
        """
        chosen, numbers = self._chosen(items, deadline)
        probabilities: NDArray[Any] = chosen.predict_proba(numbers)
        return probabilities

    def score(
        self,
        items: Iterable[Any],
        labels: Iterable[Any],
        deadline: Deadlines = None,
        sample_weight: Sequence[float] | None = None,
    ) -> float:
        """Return the score of the answers, by the scoring of the search; an R² below 0 counts as 0. See `predict`.

        A `scoring` function of your own gets the numbers of the items in place of rows of features. `sample_weight`:
        how much each item counts, at least 0.
        """
        items = self._checked(items)
        truth, weights = checked_labels(labels, len(items)), checked_weights(sample_weight, len(items))
        chosen, numbers = self._chosen(items, deadline)
        given = {} if weights is None else {NAME: weights}
        trainer, name = self.trainer_, "the answers to these items"
        score = trainer.score_of(trainer.presented(chosen), numbers, np.array(truth), given, name)
        return float(trainer.mean(name, [score]))

    def features_used(self, items: Iterable[Any], deadline: Deadlines = None) -> list[tuple[str, ...]]:
        """Return the features of the set that answers each item, in the order of their computation; see `predict`."""
        return [candidate.features for candidate in self._candidates(self._checked(items), deadline)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features that the shipped sets use, in the order of `space`."""
        check_is_fitted(self, "index_")
        used = {name for candidate in self.shipped_candidates() for name in candidate.features}
        return np.array([name for name in self.space_.names if name in used], dtype=object)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels in rising order; a regression has none."""
        check_is_fitted(self, "index_")
        classes: NDArray[Any] = self.trainer_.table.classes
        if not len(classes):
            raise AttributeError("A search with a regressor has no classes_.")
        return classes

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "index_")

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a classifier or a regressor, as the estimator is one, of items that are no arrays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        given = self.estimator
        first = next(iter(given.values()), None) if isinstance(given, Mapping) else given
        if hasattr(first, "fit") and not isinstance(first, type):
            own = get_tags(first)
            tags.estimator_type = own.estimator_type
            tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        return tags

    def promised_budgets(self) -> tuple[float, float]:
        """Return the shortest and the longest deadline in seconds that a fitted search is for.

        Its region begins earlier, for a device that is slower by `slowdown`.
        """
        low, high = self.region_.budgets
        return min(low * self.settings.node.slowdown, high), high

    def shipped_candidates(self) -> Sequence[Candidate]:
        """Return the candidates that a bundle gets, within the limits of models."""
        return self._shipped() if self._answering is self.index_ else self._answering.candidates

    def _shipped(self) -> Sequence[Candidate]:
        raise NotImplementedError

    def _checked(self, items: Iterable[Any]) -> list[Any]:
        check_is_fitted(self, "index_")
        if not (found := checked_items(items)):
            raise ItemError("There must be items to answer. Got none.")
        for k, item in enumerate(found):
            check_kind(item, self.item_kind_, f"Item {k}", "the items of the fit are")
        return found

    def _candidates(self, items: list[Any], deadline: Deadlines) -> list[Candidate]:
        sizes = [item_size(self.space_, k, item) for k, item in enumerate(items)]
        budgets = _checked_deadlines(self.promised_budgets(), len(items), deadline)
        index = self._answering
        return [index.best(size, budget) for size, budget in zip(sizes, budgets, strict=True)]

    @property
    def _answering(self) -> Any:
        """The index that chooses the model for each item."""
        return self.index_

    def _chosen(self, items: Iterable[Any], deadline: Deadlines) -> tuple[ChosenModels, NDArray[np.intp]]:
        """Return the models that answer items, and the numbers of the items, to ask the models for."""
        items, trainer = self._checked(items), self.trainer_
        asked = [(c.estimator, c.mask) for c in self._candidates(items, deadline)]
        models = {model: number for number, model in enumerate(dict.fromkeys(asked))}
        trainers = {family.name: family.trainer for family in self.families_}
        unknown = Targets(np.empty(0), np.zeros(len(items)))
        table = extract_table(
            self.space_, items, unknown, n_jobs=trainer.n_jobs, memory=trainer.memory, progress=lambda _: None
        )
        fitted = [(own, mask, own.fitted(mask)) for own, mask in ((trainers.get(n, trainer), m) for n, m in models)]
        return ChosenModels(table, np.array([models[model] for model in asked]), fitted), np.arange(len(items))


def _checked_deadlines(budgets: tuple[float, float], n_items: int, deadline: Deadlines) -> list[float]:
    """Return the deadline of each item in seconds. Warn if one is outside of the range."""
    low, high = budgets
    if deadline is None and high == math.inf:
        raise DeadlineError("A deadline must be given: the search was fitted for any budget. Got none.")
    try:
        seconds = np.asarray(high if deadline is None else deadline, dtype=np.float64)
    except (TypeError, ValueError):
        seconds = np.array(math.nan)
    if seconds.shape not in ((), (n_items,)) or not ((seconds > 0.0) & (seconds < MAX_SECONDS)).all():
        raise DeadlineError(
            f"The deadline must be a positive number of seconds, less than {MAX_SECONDS:g}, or one for each of the "
            f"{n_items} items. Got {shown(deadline)}."
        )
    outside = seconds[(seconds < low * (1.0 - ROUNDING)) | (seconds > high * (1.0 + ROUNDING))]
    if outside.size:
        warnings.warn(
            f"The search was fitted for deadlines from {format_seconds(low)} to {format_seconds(high)}; for "
            f"{format_seconds(outside[0])} it may lack the best sets. Fit it for a range that holds all deadlines."
            f"{doubt(outside[0])}",
            stacklevel=5,
        )
    each: list[float] = np.broadcast_to(seconds, n_items).tolist()
    return each
