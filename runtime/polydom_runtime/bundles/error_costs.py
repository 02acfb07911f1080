"""The costs of errors by which the labels of a bundle's models were chosen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from polydom_runtime.causes import shown
from polydom_runtime.codec.marks import In, Size
from polydom_runtime.codec.unsound import Unsound
from polydom_runtime.costs import HUGE

SCORING = "cost_saved"
"""The name of the score by costs of errors: 1 - (mean cost of the answers) / (that of the best constant answer)."""

Most = Size(2, 1000)
"""The number of classes with costs; more have no room in an index."""


@dataclass(frozen=True, slots=True)
class ErrorCosts:
    """What errors cost."""

    costs: Annotated[tuple[Annotated[tuple[float, ...], Most], ...], Most, In(0.0, HUGE)]
    """>= 0. A row for each true class: the cost of each answer, 0 for the right one. If models may abstain, the last
    column is the cost of that, and they do it by the number after those of the classes."""
    constant: Annotated[float, In(math.ulp(0.0), HUGE)]
    """> 0. The mean cost of the best constant answer on the training items."""

    def _check(self) -> None:
        n, dearest = len(self.costs), max((cost for row in self.costs for cost in row), default=0.0)
        if not n or {len(row) for row in self.costs} not in ({n}, {n + 1}):
            raise Unsound("have a cost for each pair of classes, or one more for no answer", [*map(len, self.costs)])
        if any(row[k] for k, row in enumerate(self.costs)) or not 0.0 < self.constant <= dearest:
            raise Unsound("have costs above 0, but 0 for right answers", (self.costs[:3], self.constant))

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
