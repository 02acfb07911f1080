"""The costs of errors by which the labels of a bundle's models were chosen."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polydom_runtime.causes import shown
from polydom_runtime.costs import HUGE

from . import schema

SCORING = "cost_saved"
"""The name of the score by costs of errors: 1 - (mean cost of the answers) / (that of the best constant answer)."""


@dataclass(frozen=True, slots=True)
class ErrorCosts:
    """What errors cost."""

    costs: tuple[tuple[float, ...], ...]
    """>= 0. A row for each true class: the cost of each answer, 0 for the right one. If models may abstain, the last
    column is the cost of that, and they do it by the number after those of the classes."""
    constant: float
    """> 0. The mean cost of the best constant answer on the training items."""

    @property
    def abstain(self) -> bool:
        """Whether models may abstain."""
        return len(self.costs[0]) > len(self.costs)

    def described(self, labels: Sequence[object]) -> str:
        """Return in words what the dearest error costs, compared with the cheapest one and with no answer."""
        text, dearest = self._errors(labels), max(map(max, self.costs))
        if not self.abstain:
            return text
        shares = sorted(100.0 * row[-1] / dearest for row in self.costs)
        low, high = (f"{float(f'{share:.3g}'):g}" for share in (shares[0], shares[-1]))
        return f"{text}; no answer costs {low if low == high else f'{low} to {high}'} % of the highest cost"

    def _errors(self, labels: Sequence[object]) -> str:
        errors = [
            (cost, said, true)
            for true, row in zip(labels, self.costs, strict=True)
            for said, cost in zip(labels, row, strict=False)
            if said != true
        ]
        dearest, cheapest = max(errors, key=lambda e: e[0]), min(errors, key=lambda e: e[0])
        if dearest[0] == cheapest[0]:
            return "all errors cost the same"
        one, other = (f"to say {shown(said)} for {shown(true)}" for _, said, true in (dearest, cheapest))
        if not cheapest[0]:
            return f"{one} costs most, {other} costs nothing"
        return f"{one} costs {float(f'{dearest[0] / cheapest[0]:.3g}'):g} times as much as {other}"


def encoded(costs: ErrorCosts | None) -> list[object]:
    """Return the field ``error_costs`` of an index; empty without costs."""
    return [] if costs is None else [schema.pack_floats(costs.costs), float(costs.constant)]


def decoded(document: Mapping[str, Any], n_classes: int) -> ErrorCosts | None:
    """Return the costs of errors in the document of an index.

    Raises `BundleFormatError` if they are not a cost for each pair of classes, some of them positive, or a part is of
    another type. There may be one more cost for each class, that of no answer.
    """
    if not (row := schema.field(document, "error_costs", list)):
        return None
    packed, constant = schema.row(row, 2)
    given = {"costs": packed, "constant": constant}
    abstain = type(packed) is bytes and len(packed) == 8 * n_classes * (n_classes + 1)
    costs = schema.floats(given, "costs", (n_classes, n_classes + abstain))
    if not ((costs >= 0.0) & (costs <= HUGE)).all() or costs.diagonal().any() or not costs.any():
        raise schema.bad("Costs of errors must be finite, some above 0, and 0 for right answers", costs.tolist()[:3])
    constant = schema.number(given, "constant", math.ulp(0.0), float(np.max(costs)))
    return ErrorCosts(tuple(map(tuple, costs.tolist())), constant)
