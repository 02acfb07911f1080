"""Costs of errors: their check, and the score by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from polydom_builder.exceptions import TrainingError
from polydom_runtime.bundles.confidence import ErrorCosts
from polydom_runtime.causes import shown
from polydom_runtime.costs import HUGE

from .labels import Targets, plain
from .weights import INSTEAD_OF_0, Weights

EXAMPLE = "Give costs_of_errors={(true label, said label): cost}, with a cost for each pair of different labels."

LEAST_WORTH = 1e-6
"""Share of the costs that an abstention must save somewhere: less may be rounding."""


def checked_error_costs(given: Any, targets: Targets, weights: Weights = None) -> ErrorCosts | None:
    """Return the costs of errors by true label and answer; None without any.

    A cost of a right answer is taken off all answers to items of its label, which changes no choice.
    """
    if given is None:
        return None
    if not len(targets.classes):
        raise TrainingError("costs_of_errors must be left out for a regressor: its answers are no labels.")
    answers = [*targets.classes.tolist(), None]
    costs = _matrix(given, answers[:-1])
    costs -= costs.diagonal()[:, None]
    if (costs < 0.0).any():
        true, said = (answers[k] for k in np.argwhere(costs < 0.0)[0])
        raise TrainingError(
            f"A right answer must not cost more than an error. For {true!r} it costs more than to say {said!r}. "
            "A pair is (true label, said label)."
        )
    means = np.average(costs[targets.numbers], axis=0, weights=weights)
    if not means.min() > 0.0:
        raise TrainingError(
            "Each constant answer must cost something. Always to say "
            f"{answers[means.argmin()]!r} costs nothing, so no model is needed. Give its errors a cost above 0."
        )
    if costs.shape[1] > len(costs) and not _is_worth(costs):
        raise TrainingError(
            "No answer, None, must be expected to cost less than each label for some probabilities of the labels. Some "
            "label never costs more. Lower the costs of (label, None), or leave these pairs out."
        )
    return ErrorCosts(tuple(map(tuple, costs.tolist())), float(means.min()))


def _matrix(given: Any, labels: list[Any]) -> NDArray[np.float64]:
    """Return the costs, a row for each true label, 0 for right answers without one; a last column for None if given."""
    if not isinstance(given, Mapping):
        raise TrainingError(f"costs_of_errors must be a mapping. Got {shown(given)}. {EXAMPLE}")
    said_labels = [*labels, None] if any(isinstance(p, tuple) and p[1:] == (None,) for p in given) else labels
    place = {(type(label), label): k for k, label in enumerate(said_labels)}
    costs = np.where(np.eye(len(labels), len(said_labels)) > 0.0, 0.0, np.nan)
    for pair, cost in given.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TrainingError(f"Costs of errors must be by pairs of labels. Got {shown(pair)}. {EXAMPLE}")
        true, said = pair = tuple(map(plain, pair))
        if unknown := [label for label in pair if (type(label), label) not in place or true is None]:
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
        pair = labels[missing[0][0]], said_labels[missing[0][1]]
        raise TrainingError(
            f"Each pair of different labels must have a cost. Got none for {shown(pair)}, nor for {len(missing) - 1} "
            f"others. {EXAMPLE}"
        )
    return costs


def scoring_by_costs(given: Any, targets: Targets, errors: ErrorCosts) -> Any:
    """Return the scoring that is given, unless models may abstain, or else the share of cost that is saved."""
    if given and errors.abstain:
        raise TrainingError(
            "scoring must be left out where costs_of_errors has costs of no answer, None: other scores know no such "
            f"answer. Got {shown(given)}."
        )
    return given or CostSaved(targets.classes, errors)


@dataclass(frozen=True)
class CostSaved:
    """A scorer: the share of the cost of the best constant answer that a model saves; below 0 if it costs more.

    No answer may be the best constant one. Its cost is that on the training items, so the score is a mean over items.
    """

    labels: NDArray[Any]
    """Shape (n_classes,). The labels of the classes, rising."""
    errors: ErrorCosts

    def __call__(
        self, model: Any, rows: NDArray[Any], labels: NDArray[Any], sample_weight: NDArray[np.float64] | None = None
    ) -> float:
        """Return the score of a model that answers with labels; `ValueError` for a label that was not trained."""
        true, said = np.searchsorted(self.labels[:-1], labels), self._numbers(np.asarray(model.predict(rows)))
        if (strange := self.labels[true] != labels).any():
            raise ValueError(f"each label must be one of the training. Got {labels[strange][0]!r}")
        cost = np.average(np.array(self.errors.costs)[true, said], weights=sample_weight)
        return float(1.0 - cost / self.errors.constant)

    def _numbers(self, answers: NDArray[Any]) -> NDArray[np.intp]:
        """Return the numbers of answers; that after the labels for None."""
        numbers = np.full(len(answers), len(self.labels))
        said = np.ones(len(answers), dtype=np.bool_)
        if self.errors.abstain:
            said = np.array([answer is not None for answer in answers.tolist()])
        numbers[said] = np.searchsorted(self.labels[:-1], answers[said].astype(self.labels.dtype))
        return numbers


def _is_worth(costs: NDArray[np.float64]) -> bool:
    """Tell whether for some probabilities no answer, the last column, is expected to cost less than each label.

    Costs of a true label are divided by the highest one; the probability that it is multiplied by instead is as good.
    """
    costs = costs / np.maximum(costs.max(axis=1, keepdims=True), INSTEAD_OF_0)
    n_labels = len(costs)
    # The variables are the probabilities and what is saved, which is to be the most.
    more = np.hstack([(costs[:, -1:] - costs[:, :-1]).T, np.ones((n_labels, 1))])
    found = linprog(
        np.eye(n_labels + 1)[-1] * -1.0,
        A_ub=more,
        b_ub=np.zeros(n_labels),
        A_eq=[[1.0] * n_labels + [0.0]],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * n_labels + [(None, None)],
    )
    return bool(found.status == 0 and -found.fun > LEAST_WORTH)
