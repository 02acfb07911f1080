"""The scores of scikit-learn over labelled items, in bounded memory: from a confusion matrix or from running sums."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import SCORING, ErrorCosts
from polydom_runtime.prediction import labels_of


class Confusion:
    """The diagonal and the sums of rows and columns of a confusion matrix, under all scores of classes.

    Labels that are no classes count as one more class; `strange` is the last one. Abstentions only count where errors
    and abstentions have costs.

    `matrix` (shape (n_classes + 1, n_classes + 2)): how often each class (row) was told as each (column); the last row,
    and the last column but one, stand for labels that are no classes, the last column for no answer.
    """

    def __init__(
        self, classes: Sequence[Any], errors: ErrorCosts | None = None, matrix: NDArray[np.int64] | None = None
    ) -> None:
        self._errors, self._cost, self._n_costs = errors, 0.0, 0
        self.strange: Any = None
        self.n_strange = 0
        self._numbers = {label: number for number, label in enumerate(classes)}
        self._right, self._told, self._true = np.zeros((3, len(classes) + 1), dtype=np.int64)
        if matrix is None:
            return
        among = matrix[:, :-1]
        self._right, self._told, self._true = among.diagonal().copy(), among.sum(axis=0), among.sum(axis=1)
        if errors is not None:
            costs = np.array(errors.costs)
            priced = np.delete(matrix[:-1], len(classes), axis=1)[:, : costs.shape[1]]
            self._cost, self._n_costs = float((priced * costs).sum()), int(priced.sum())

    def add(self, answer: Any, label: Any) -> None:
        """Count one answer to a labelled item."""
        told, true = self._number(answer), self._number(_plain(label))
        if true == len(self._numbers):
            self.n_strange, self.strange = self.n_strange + 1, label
        if answer is not None:
            self._told[told] += 1
            self._true[true] += 1
            self._right[true] += told == true
        errors, n_classes = self._errors, len(self._numbers)
        if errors is not None and true < n_classes and (errors.abstain if answer is None else told < n_classes):
            self._cost += errors.costs[true][told]
            self._n_costs += 1

    def _number(self, label: Any) -> int:
        try:
            return self._numbers.get(label, len(self._numbers))
        except TypeError:  # of a label that cannot be looked up
            return len(self._numbers)

    def summary(self) -> dict[str, Any]:
        """Return the accuracy; None without items."""
        accuracy = self.value("accuracy")
        return {"accuracy": None if accuracy is None else round(accuracy, 6)}

    def value(self, scoring: str) -> float | None:
        """Return the cost saved, accuracy, balanced accuracy, or precision, recall or F1; None if it cannot be told.

        The last three are those of class 1 of two, or their macro, micro or weighted average.
        """
        right, told, true = self._right, self._told, self._true
        kind, _, average = scoring.partition("_")
        shares = {"precision": (right, told), "recall": (right, true), "f1": (2 * right, told + true)}
        if scoring == SCORING and self._errors is not None and self._n_costs:
            return 1.0 - self._cost / (self._n_costs * self._errors.constant)
        if not true.any():
            return None
        if scoring == "accuracy" or (kind in shares and average == "micro"):
            return float(right.sum() / true.sum())
        if scoring == "balanced_accuracy":
            return float(_shares(right, true)[true > 0].mean())
        if kind not in shares:
            return None
        found = _shares(*shares[kind])
        match average:
            case "macro":
                return float(found[told + true > 0].mean())
            case "weighted":
                return float(np.average(found, weights=true))
            case "" if len(self._numbers) == 2 and 1 in self._numbers:
                return float(found[self._numbers[1]])
        return None


def _shares(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return part / np.maximum(whole, 1)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.ndarray) and label.size == 1 else label


class ErrorSums:
    """Sums over the errors of answers that are numbers. Labels that are no finite numbers do not count.

    `strange` is the last one of these.
    """

    def __init__(self) -> None:
        self.strange: Any = None
        self.n = self.n_strange = 0
        self._absolute = self._squared = self._mean = self._spread = 0.0

    @classmethod
    def of(cls, errors: Floats, true: Floats, weights: NDArray[Any]) -> "ErrorSums":
        """Return the sums over errors, each as often as its weight says; all of shape ``(n_items,)``."""
        sums = cls()
        sums.n = int(weights.sum())
        if sums.n:
            sums._absolute, sums._squared = float(weights @ np.abs(errors)), float(weights @ errors**2)
            sums._mean = float(weights @ true) / sums.n
            sums._spread = float(weights @ (true - sums._mean) ** 2)
        return sums

    def add(self, answer: Any, label: Any) -> None:
        """Count one answer to a labelled item."""
        try:
            true = math.nan if isinstance(label, str) else float(_plain(label))
        except (ValueError, TypeError, OverflowError):
            true = math.nan
        if not math.isfinite(true):
            self.n_strange, self.strange = self.n_strange + 1, label
            return
        error = answer - true
        self.n += 1
        self._absolute += abs(error)
        self._squared += error * error
        before = true - self._mean  # sums of squares would lose the spread of numbers far from 0
        self._mean += before / self.n
        self._spread += before * (true - self._mean)

    def summary(self) -> dict[str, Any]:
        """Return the mean absolute error; there is no accuracy."""
        if not self.n:
            return {"accuracy": None}
        mean = self._absolute / self.n
        return {"accuracy": None, "mean_absolute_error": float(f"{mean:.6g}") if math.isfinite(mean) else None}

    def value(self, scoring: str) -> float | None:
        """Return R², or minus a mean error; None for other scores, or without items."""
        if not self.n:
            return None
        match scoring:
            case "r2" if self.n > 1:
                return 1.0 - self._squared / self._spread if self._spread else float(not self._squared)
            case "neg_mean_absolute_error":
                return -self._absolute / self.n
            case "neg_mean_squared_error":
                return -self._squared / self.n
            case "neg_root_mean_squared_error":
                return -math.sqrt(self._squared / self.n)
        return None


LATE = object()
"""A label that is wrong."""


def late_label(bundle: Bundle) -> Any:
    """Return what a late answer counts as in a score, as in tables of deadlines.

    That is a wrong label, or the prior's where the score is no share of right answers.
    """
    if bundle.space.classes and bundle.error_costs is None:
        return LATE
    return labels_of(bundle)[bundle.prior.number]


def score_counter(bundle: Bundle) -> Confusion | ErrorSums:
    """Return an empty count for the answers of a bundle."""
    return Confusion(bundle.space.classes, bundle.error_costs) if bundle.space.classes else ErrorSums()
