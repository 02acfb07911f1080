"""What answers are worth: the probability that one is right, and the costs of errors."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

from polydom_runtime.bundles.bundle_times import Regime, Share
from polydom_runtime.causes import shown
from polydom_runtime.codec.marks import In, Size, Unsound
from polydom_runtime.costs import HUGE

MAX_KNOTS = 16


class Calibration(NamedTuple):
    """Maps a score of one model to the probability that its answer is right: lines between points, constant outside."""

    scores: Annotated[tuple[float, ...], Size(1, MAX_KNOTS), In(-HUGE, HUGE)]
    """The rising scores of 1 to 16 points: probabilities of labels that the model gave, or their decision values."""
    confidences: Annotated[tuple[Share, ...], Size(1, MAX_KNOTS)]
    """For each score, the share of right answers among held-out items with such a score; never falling."""

    def _check(self) -> None:
        rises = all(a < b for a, b in pairwise(self.scores)) and all(a <= b for a, b in pairwise(self.confidences))
        if not rises or len(self.scores) != len(self.confidences):
            raise Unsound("have rising scores, and shares that never fall", (self.scores, self.confidences))

    def __call__(self, score: float) -> float:
        """Return the probability that an answer with this score is right; the lowest one if the score is NaN.

        >>> [Calibration((0.5, 1.0), (0.6, 0.9))(score) for score in (0.4, 0.75, 1.0)]
        [0.6, 0.75, 0.9]
        """
        scores, confidences = self
        if not score > scores[0]:
            return confidences[0]
        k = bisect_right(scores, score)
        if k == len(scores):
            return confidences[-1]
        share = (score - scores[k - 1]) / (scores[k] - scores[k - 1])
        return confidences[k - 1] + share * (confidences[k] - confidences[k - 1])


class RiskPoint(NamedTuple):
    """The coverage and the risk at a threshold."""

    threshold: Share
    """Answers of a lower confidence are withheld."""
    coverage: Share
    """The share of items that are answered."""
    risk: Share
    """The share of wrong answers among those that are given."""


class Risk(NamedTuple):
    """Risk against coverage at one deadline in one regime, on held-out items."""

    regime: Regime
    deadline: Annotated[float, In(1.0 / HUGE, HUGE)]
    """The deadline in seconds."""
    error: Share
    """The expected calibration error: by how much confidences differ from shares of right answers, in the mean."""
    points: Annotated[tuple[RiskPoint, ...], Size(1, 100)]
    """Points by falling coverage; the first one answers all items."""

    def _check(self) -> None:
        if any(a.coverage < b.coverage for a, b in pairwise(self.points)):
            raise Unsound("have falling coverages", [point.coverage for point in self.points])


class Confidence(NamedTuple):
    """What a bundle knows of its confidences, beside the calibration of each model."""

    prior: Share
    """The share of the class that the prior answers with."""
    risks: Annotated[tuple[Risk, ...], Size(0, 1000)] = ()
    """Risks by rising deadline within a regime."""


SCORING = "cost_saved"
"""The name of the score by costs of errors: 1 - (mean cost of the answers) / (that of the best constant answer)."""

Most = Size(2, 1000)
"""The number of classes with costs; more have no room in an index."""


class ErrorCosts(NamedTuple):
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
        shares = sorted(row[-1] / dearest for row in self.costs)
        from polydom_runtime.tables import percent  # only here: a node that answers describes nothing

        low, high = (percent(share, 3) for share in (shares[0], shares[-1]))
        return f"{text}; no answer costs {low if low == high else f'{low} to {high}'} of the highest cost"

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
