"""How sure the models of a bundle are: from the score of an answer to the probability that it is right."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NamedTuple

from polydom_runtime.codec.marks import In, Size
from polydom_runtime.codec.unsound import Unsound
from polydom_runtime.costs import HUGE

from .bundle_times import Share
from .regimes import Regime

MAX_KNOTS = 16


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the scores of one model mean: a line through knots, constant before the first and after the last."""

    scores: Annotated[tuple[float, ...], Size(1, MAX_KNOTS), In(-HUGE, HUGE)]
    """Rising, 1 to 16: probabilities of labels that the model gave, or their decision values."""
    confidences: Annotated[tuple[Share, ...], Size(1, MAX_KNOTS)]
    """For each, the share of right answers among held-out items with such a score; never falling."""

    def _check(self) -> None:
        rises = all(a < b for a, b in pairwise(self.scores)) and all(a <= b for a, b in pairwise(self.confidences))
        if not rises or len(self.scores) != len(self.confidences):
            raise Unsound("have rising scores, and shares that never fall", (self.scores, self.confidences))

    def __call__(self, score: float) -> float:
        """Return the probability that an answer with this score is right; the lowest one if the score is NaN.

        >>> [Calibration((0.5, 1.0), (0.6, 0.9))(score) for score in (0.4, 0.75, 1.0)]
        [0.6, 0.75, 0.9]
        """
        scores, confidences = self.scores, self.confidences
        if not score > scores[0]:
            return confidences[0]
        k = bisect_right(scores, score)
        if k == len(scores):
            return confidences[-1]
        share = (score - scores[k - 1]) / (scores[k] - scores[k - 1])
        return confidences[k - 1] + share * (confidences[k] - confidences[k - 1])


class RiskPoint(NamedTuple):
    """What a threshold gives."""

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
    """In seconds."""
    error: Share
    """The expected calibration error: by how much confidences differ from shares of right answers, in the mean."""
    points: Annotated[tuple[RiskPoint, ...], Size(1, 100)]
    """By falling coverage; the first one answers all items."""

    def _check(self) -> None:
        if any(a.coverage < b.coverage for a, b in pairwise(self.points)):
            raise Unsound("have falling coverages", [point.coverage for point in self.points])


@dataclass(frozen=True, slots=True)
class Confidence:
    """What a bundle knows of its confidences, beside the calibration of each model."""

    prior: Share
    """The share of the class that the prior answers with."""
    risks: Annotated[tuple[Risk, ...], Size(0, 1000)] = ()
    """By rising deadline within a regime."""
