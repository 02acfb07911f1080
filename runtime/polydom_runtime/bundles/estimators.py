"""The names of the estimators of a bundle's models: one for each model, or none where all are of one estimator."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import schema

MAX_CHARS, MAX_ESTIMATORS = 40, 20
"""The most characters of a name, and the most estimators: a node keeps an answer of each for every state."""


def is_name(text: object) -> bool:
    """Return whether a value may be the name of an estimator."""
    return isinstance(text, str) and 1 <= len(text) <= MAX_CHARS and text.isprintable()


def encoded(names: Sequence[str]) -> list[str]:
    """Return the field ``estimators`` of an index, from the name of each model's estimator."""
    return list(names) if any(names) else []


def decoded(document: Mapping[str, Any], n_models: int) -> Sequence[str]:
    """Return the name of each model's estimator in the document of an index; empty if none is stated.

    Raises `BundleFormatError` if the names are not one for each model, or one is too long or not printable.
    """
    names = schema.field(document, "estimators", list)
    if not names:
        return [""] * n_models
    if len(names) != n_models:
        raise schema.bad("Each model must have an estimator", f"{len(names)} estimators for {n_models} models")
    if wrong := [name for name in names if not is_name(name)]:
        raise schema.bad(f"An estimator must have 1 to {MAX_CHARS} printable characters", ascii(wrong[0]))
    schema.in_range("The number of estimators", len(set(names)), 1, MAX_ESTIMATORS)
    return names
