"""The labels of the items: of one kind, and the number of each one's class."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_runtime.bundles.bundle import MAX_LABEL, is_label_text
from polydom_runtime.causes import shown

KINDS = {bool: "a boolean", int: "an integer", str: "a string"}
LARGEST = 1 << 63

STEPS = 10
"""The least standard deviation of numbers to predict, in steps of float32: rounding then takes 0.001 of an R²."""


class Targets(NamedTuple):
    """The values that an estimator learns to predict."""

    classes: NDArray[Any]
    """Shape (n_classes,). Rising labels; empty for a regression."""
    numbers: NDArray[Any]
    """Shape (n_items,). The position of each label in `classes` (int64); for a regression the number to predict
    (float64)."""


def targets_of(labels: Sequence[Any], n_items: int, *, regression: bool = False) -> Targets:
    """Return the targets of items, after a check of their labels."""
    found = checked_labels(labels, n_items)
    return Targets(np.empty(0), _numbers(found)) if regression else Targets(*_classes(found))


def checked_labels(labels: Iterable[Any], n_items: int) -> list[Any]:
    """Return labels as Python's own values, one for each item."""
    try:
        found = [plain(label) for label in labels]
    except TypeError as e:
        raise TrainingError(f"labels must be a sequence, one label for each item. Got {shown(labels)}.") from e
    if n_items != len(found):
        raise TrainingError(f"There must be one label for each item. Got {n_items} items and {len(found)} labels.")
    return found


def _classes(plain: list[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes and the class number of each item.

    The labels are checked before numpy sees them, since it makes 1 and "1", 2 and True, None and "None" equal.
    """
    kind = type(plain[0])
    for k, label in enumerate(plain):
        if type(label) not in KINDS:
            raise TrainingError(
                f"The labels must be integers, strings or booleans, one for each item. Got {shown(label)} for item "
                f"{k}. Leave items without a label out, and name the classes by integers or strings. To predict "
                "numbers, give a regressor."
            )
        if type(label) is not kind:
            raise TrainingError(
                f"The labels must all be of one kind. Got {plain[0]!r}, {KINDS[kind]}, for item 0, and {label!r}, "
                f"{KINDS[type(label)]}, for item {k}. Convert them all to one kind."
            )
        if isinstance(label, str):
            _check_text(label, k)
        elif not -LARGEST <= label < LARGEST:
            raise TrainingError(f"Labels that are integers must fit in 64 bits. Got {label} for item {k}.")
    classes, codes = np.unique(np.array(plain), return_inverse=True)
    if len(classes) < 2:
        raise TrainingError(f"The labels must be of at least two classes. Got {classes.tolist()}.")
    return classes, codes.astype(np.int64)


def _numbers(plain: list[Any]) -> NDArray[np.float64]:
    for k, label in enumerate(plain):
        if isinstance(label, bool) or not isinstance(label, int | float) or not is_finite(label):
            raise TrainingError(
                f"For a regressor the labels must be finite numbers. Got {shown(label)} for item {k}. For classes give "
                "a classifier."
            )
    numbers = np.array(plain, dtype=np.float64)
    if len(np.unique(numbers)) < 2:
        raise TrainingError(f"For a regressor the labels must not be all the same. Got {numbers[:5].tolist()}.")
    largest = float(np.abs(numbers).max())
    if largest > float(np.finfo(np.float32).max) or numbers.std() < STEPS * np.spacing(np.float32(largest)):
        raise TrainingError(
            "For a regressor the labels must be numbers that float32 tells apart, in which models answer: up to 3.4e38 "
            f"and with a spread of at least {STEPS} of its steps. Got {numbers.min():.9g} to {numbers.max():.9g}. "
            "Subtract their mean, or divide them by a constant."
        )
    return numbers


def is_finite(number: float) -> bool:
    """Tell whether a number of Python is one of float64 too, and finite."""
    try:
        return math.isfinite(number)
    except OverflowError:  # of an integer that is no float
        return False


def plain(label: Any) -> Any:
    """Return a label of numpy, also an array of one, as one of Python; a masked one, whose item is 0, as it is."""
    is_one = isinstance(label, np.generic | np.ndarray) and label.size == 1 and not np.ma.is_masked(label)
    return label.item() if is_one else label


def _check_text(label: str, k: int) -> None:
    try:
        label.encode()
    except UnicodeEncodeError as e:
        raise TrainingError(f"Labels that are strings must be Unicode text. Got {label!r} for item {k}.") from e
    if not is_label_text(label):
        raise TrainingError(
            f"Labels that are strings must have at most {MAX_LABEL} characters and no control characters, such as the "
            f"end of a line or a zero. Got {shown(label)} for item {k}. Give the classes other names."
        )
