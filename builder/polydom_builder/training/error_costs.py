"""Costs of errors: their check, and the score by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import TrainingError
from polydom_runtime.bundles.error_costs import ErrorCosts
from polydom_runtime.causes import shown
from polydom_runtime.costs import HUGE

from .labels import Targets, plain
from .weights import Weights

EXAMPLE = "Give costs_of_errors={(true label, said label): cost}, with a cost for each pair of different labels."


def checked_error_costs(given: Any, targets: Targets, weights: Weights = None) -> ErrorCosts | None:
    """Return the costs of errors; None if none are given.

    A cost of a right answer is taken off all answers to items of its label, which changes no choice.

    Parameters
    ----------
    given : mapping of (label, label) to float, or None
        The cost of each true label and each other one that may be said for it.
    targets : Targets
    weights : array of shape (n_items,), optional

    Raises
    ------
    TrainingError
        If a pair has no cost, or one that is no finite number of at least 0; a label is unknown; right answers cost
        more than errors; a constant answer costs nothing; or the targets are those of a regression.
    """
    if given is None:
        return None
    if not len(targets.classes):
        raise TrainingError("costs_of_errors must be left out for a regressor: its answers are no labels.")
    costs = _matrix(given, targets.classes.tolist())
    costs -= costs.diagonal()[:, None]
    if (costs < 0.0).any():
        true, said = (targets.classes.tolist()[k] for k in np.argwhere(costs < 0.0)[0])
        raise TrainingError(
            f"A right answer must not cost more than an error. For {true!r} it costs more than to say {said!r}. "
            "A pair is (true label, said label)."
        )
    means = np.average(costs[targets.numbers], axis=0, weights=weights)
    if not means.min() > 0.0:
        raise TrainingError(
            "Each constant answer must cost something. Always to say "
            f"{targets.classes.tolist()[means.argmin()]!r} costs nothing, so no model is needed. Give its errors a "
            "cost above 0."
        )
    return ErrorCosts(tuple(map(tuple, costs.tolist())), float(means.min()))


def _matrix(given: Any, labels: list[Any]) -> NDArray[np.float64]:
    """Return the costs as they are given, a row for each true label, 0 for right answers without one."""
    if not isinstance(given, Mapping):
        raise TrainingError(f"costs_of_errors must be a mapping. Got {shown(given)}. {EXAMPLE}")
    place = {(type(label), label): k for k, label in enumerate(labels)}
    costs = np.where(np.eye(len(labels)) > 0.0, 0.0, np.nan)
    for pair, cost in given.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TrainingError(f"Costs of errors must be by pairs of labels. Got {shown(pair)}. {EXAMPLE}")
        true, said = pair = tuple(map(plain, pair))
        if unknown := [label for label in pair if (type(label), label) not in place]:
            raise TrainingError(
                f"Costs of errors must be of the labels of the items, {shown(labels)}. Got {shown(unknown[0])} in "
                f"{shown(pair)}."
            )
        cost = plain(cost)
        is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
        if not is_number or not (cost == 0 or 1.0 / HUGE <= cost <= HUGE):
            raise TrainingError(
                f"A cost of an error must be 0, or a number from {1.0 / HUGE:.0e} to {HUGE:.0e}. Got {shown(cost)} for "
                f"{shown(pair)}."
            )
        costs[place[type(true), true], place[type(said), said]] = cost
    if len(missing := np.argwhere(np.isnan(costs))):
        pair = tuple(labels[k] for k in missing[0])
        raise TrainingError(
            f"Each pair of different labels must have a cost. Got none for {shown(pair)}, nor for {len(missing) - 1} "
            f"others. {EXAMPLE}"
        )
    return costs


@dataclass(frozen=True)
class CostSaved:
    """A scorer: the share of the cost of the best constant answer that a model saves; below 0 if it costs more.

    The cost of the constant answer is that on the training items. So the score is a mean over items, as accuracy is.

    Parameters
    ----------
    labels : array of shape (n_classes,)
        Rising.
    errors : ErrorCosts
    """

    labels: NDArray[Any]
    errors: ErrorCosts

    def __call__(
        self, model: Any, rows: NDArray[Any], labels: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
    ) -> float:
        """Return the score of a model that answers with labels.

        Raises
        ------
        ValueError
            If a label is not one of the training.
        """
        true, said = (np.searchsorted(self.labels[:-1], found) for found in (labels, model.predict(rows)))
        if (strange := self.labels[true] != labels).any():
            raise ValueError(f"each label must be one of the training. Got {labels[strange][0]!r}")
        cost = np.average(np.array(self.errors.costs)[true, said], weights=sample_weight)
        return float(1.0 - cost / self.errors.constant)
