"""Several estimators of one search: each has a family of models, one for each feature set."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier, is_regressor

from polydom_builder.exceptions import ExportError, TrainingError
from polydom_runtime.bundles.model_entry import MAX_ESTIMATOR_CHARS, MAX_ESTIMATORS, is_estimator_name
from polydom_runtime.causes import shown

from .trainer import Trainer


@dataclass(frozen=True)
class Family:
    """All models of one estimator."""

    name: str
    """Empty if the search has one estimator without a name."""
    trainer: Trainer
    seconds: float
    """A bound on the time of a run of any of its models, for the search."""


def named_estimators(given: Any) -> Mapping[str, Any]:
    """Return the estimators of a search by their names; one that was given as it is has an empty name."""
    if not isinstance(given, Mapping):
        _check_kind(given, "The estimator")
        return {"": given}
    if not 1 <= len(given) <= MAX_ESTIMATORS:
        raise TrainingError(
            f"A mapping of estimators must have 1 to {MAX_ESTIMATORS} of them. Got {len(given)}. "
            "Write {'lines': LogisticRegression(), 'trees': ExtraTreesClassifier()}."
        )
    for name, model in given.items():
        if not is_estimator_name(name) or "__" in name or name != name.strip():
            raise TrainingError(
                f"The name of an estimator must have 1 to {MAX_ESTIMATOR_CHARS} printable characters, no space at its "
                f"ends, and no '__'. Got {shown(name)}. Choose another name."
            )
        _check_kind(model, f"The estimator {name!r}")
    classifiers = [name for name, model in given.items() if is_classifier(model)]
    if 0 < len(classifiers) < len(given):
        others = [name for name in given if name not in classifiers]
        raise TrainingError(
            "The estimators must be all classifiers or all regressors. "
            f"Got the classifier {classifiers[0]!r} and the regressor {others[0]!r}. Leave one kind out."
        )
    return dict(given)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name the estimator in the errors of a block; a search with one estimator has no name to add."""
    try:
        yield
    except (ExportError, TrainingError) as e:
        if not name:
            raise
        raise type(e)(f"Estimator {name!r}: {e}") from e


def _check_kind(model: Any, what: str) -> None:
    # scikit-learn raises AttributeError for an object that is not an estimator, so `fit` is checked first.
    if isinstance(model, type) or not hasattr(model, "fit") or not (is_classifier(model) or is_regressor(model)):
        raise TrainingError(
            f"{what} must be a scikit-learn classifier or regressor object. Got {shown(model)}. Give an object, "
            "such as LogisticRegression() with its brackets; on the command line the name of one in a module of yours."
        )
