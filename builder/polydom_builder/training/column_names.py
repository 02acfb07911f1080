"""Parameters that say something about single columns: names of features in them become positions in each set."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.compose import ColumnTransformer

from polydom_builder.exceptions import TrainingError
from polydom_runtime.codec.near_names import did_you_mean

BY_NAME = ("monotonic_cst", "interaction_cst")
"""Parameters whose names of features become positions, as in the ``transformers`` of a ColumnTransformer."""

BY_POSITION = (
    "categorical_features",  # skl2onnx converts the models as if there were no categories
    "categorical_feature",
    "cat_features",
    "feature_types",
    "feature_weights",
    "monotone_constraints",
    "interaction_constraints",
)
"""Parameters that name columns by their positions only."""

WORDS = ("from_dtype", "auto", "pairwise", "no_interactions")
"""Values of all these that name no column."""


def check_names(estimator: Any, names: Sequence[str]) -> None:
    """Check that an estimator names columns by features, not by positions, and where it sees them as they are."""
    seeing = {id(part) for part in _seeing(estimator)}
    for path, part in {"": estimator, **estimator.get_params(deep=True)}.items():
        for name, value in _naming(part):
            what = f"{name}={value!r}{f' in {path}' if path else ''}"
            if name in BY_POSITION:
                raise TrainingError(
                    "The estimator must treat all columns alike: each feature set has other features at the same "
                    f"positions. Got {what}. Do what differs between features inside the features: give a category, "
                    "for example, as one column of 0 or 1 for each of its values."
                )
            if id(part) not in seeing:
                raise TrainingError(
                    "Only the estimator itself, or the first step of a pipeline after scalers, may name features: "
                    f"other parts may not see the columns as they are. Got {what}. Leave it out, or put it first."
                )
            _check_features(what, part, _features(name, value), names)


def _check_features(what: str, part: Any, features: Sequence[Any], names: Sequence[str]) -> None:
    if strange := [feature for feature in features if not isinstance(feature, str) or feature not in names]:
        raise TrainingError(
            "The estimator must name columns by features: each feature set has other features at the same positions. "
            f"Got {strange[0]!r} in {what}. Give lists of names, such as {[*names[:2]]}; for monotonic_cst a "
            f"dictionary, such as {{{names[0]!r}: 1}}.{did_you_mean(str(strange[0]), names)}"
        )
    if isinstance(part, ColumnTransformer):
        used = {name for _, step, group in part.transformers if step != "drop" for name in group}
        rest = part.remainder != "drop"
        if lost := [name for name in names if name not in used and not (rest and name not in features)]:
            raise TrainingError(
                f"A ColumnTransformer must keep a column of each feature. Got none of {lost[0]!r} in {what}. Name it "
                "there, or give remainder='passthrough'."
            )


def placed(estimator: Any, columns: Mapping[str, Sequence[int]]) -> Any:
    """Return an unfitted copy of an estimator for one feature set: positions of its columns for names of features."""
    copy = clone(estimator)
    for part in _seeing(copy):
        if changes := {name: _places(name, value, columns) for name, value in _naming(part)}:
            part.set_params(**changes)
    return copy


def _seeing(estimator: Any) -> list[Any]:
    """Return the parts of an estimator that see the columns as they are, itself and steps of pipelines among them."""
    parts = [estimator]
    for part in parts:
        for _, step in getattr(part, "steps", ()):
            parts.append(step)
            if not (step in (None, "passthrough") or isinstance(step, OneToOneFeatureMixin)):
                break
    return parts


def _naming(part: Any) -> list[tuple[str, Any]]:
    """Return the parameters of one part, or of a grid to choose them from, that name columns, with their values."""
    if isinstance(part, Mapping):
        given = [(str(key).rpartition("__")[2], value) for key, value in part.items()]
    else:
        known = hasattr(part, "get_params") and not isinstance(part, type)
        given = [*part.get_params(deep=False).items()] if known else []
    names = {*BY_POSITION, *BY_NAME, *(["transformers"] if isinstance(part, ColumnTransformer) else [])}
    return [
        (name, value)
        for name, value in given
        if name in names and not (value is None or (isinstance(value, str) and value in WORDS))
    ]


def _features(name: str, value: Any) -> list[Any]:
    """Return all that a parameter names; what has not the form for names, as it is."""
    if name == "monotonic_cst":
        return list(value) if isinstance(value, Mapping) else [value]
    groups = [entry[-1] for entry in value] if name == "transformers" else value
    if not isinstance(groups, list | tuple):
        return [groups]
    # scikit-learn takes a text alone as a column without a second dimension, and a set has no order of columns.
    listed = list | tuple if name == "transformers" else list | tuple | set
    return [one for group in groups for one in (group if isinstance(group, listed) else [[group]])]


def _places(name: str, value: Any, columns: Mapping[str, Sequence[int]]) -> Any:
    def places(features: Sequence[str]) -> list[int]:
        return [place for feature in features for place in columns.get(feature, ())]

    match name:
        case "monotonic_cst":
            return [value.get(feature, 0) for feature, at in columns.items() for _ in at]
        case "transformers":
            return [(label, step, at) for label, step, features in value if (at := places(features))]
        case _:
            return [at for features in value if (at := places(features))]
