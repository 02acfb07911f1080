"""How sure the models of a bundle are: from the score of an answer to the probability that it is right."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from polydom_runtime.costs import HUGE

from . import schema
from .regimes import REGIMES, Regime

MAX_KNOTS, MAX_RISKS, MAX_POINTS = 16, 1000, 100


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the scores of one model mean: a line through knots, constant before the first and after the last."""

    scores: tuple[float, ...]
    """Rising, 1 to 16: probabilities of labels that the model gave, or their decision values."""
    confidences: tuple[float, ...]
    """For each, the share of right answers among held-out items with such a score; never falling, from 0 to 1."""

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

    threshold: float
    """Answers of a lower confidence are withheld."""
    coverage: float
    """The share of items that are answered."""
    risk: float
    """The share of wrong answers among those that are given."""


class Risk(NamedTuple):
    """Risk against coverage at one deadline in one regime, on held-out items."""

    regime: Regime
    deadline: float
    """In seconds."""
    error: float
    """The expected calibration error: by how much confidences differ from shares of right answers, in the mean."""
    points: tuple[RiskPoint, ...]
    """By falling coverage; the first one answers all items."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """What a bundle knows of its confidences, beside the calibration of each model."""

    prior: float
    """The share of the class that the prior answers with."""
    risks: tuple[Risk, ...] = ()
    """By rising deadline within a regime."""


def encoded(confidence: Confidence | None, calibrations: Sequence[Calibration | None]) -> dict[str, object]:
    """Return the field ``confidence`` of an index; an empty map if nothing is known."""
    if confidence is None:
        return {}
    return {
        "prior": float(confidence.prior),
        "calibrations": [schema.pack_floats((c.scores, c.confidences)) for c in calibrations if c is not None],
        "risks": [
            [r.regime, float(r.deadline), float(r.error), schema.pack_floats(r.points)] for r in confidence.risks
        ],
    }


def decoded(
    document: Mapping[str, Any], n_models: int, n_classes: int
) -> tuple[Confidence | None, Sequence[Calibration | None]]:
    """Return the confidence in the document of an index, and the calibration of each model.

    Raises `BundleFormatError` if a part is missing, of another type, or out of its range, or the models are regressors.
    """
    parts = schema.field(document, "confidence", dict)
    if not parts:
        return None, [None] * n_models
    rows, risks = schema.field(parts, "calibrations", list), schema.field(parts, "risks", list)
    if not n_classes or len(rows) != n_models:
        raise schema.bad("Each model must have a calibration, and there must be classes", f"{len(rows)} calibrations")
    schema.in_range("The number of risks", len(risks), 0, MAX_RISKS)
    return Confidence(schema.number(parts, "prior", 0.0, 1.0), tuple(map(_risk, risks))), [*map(_calibration, rows)]


def _calibration(raw: object) -> Calibration:
    n = schema.in_range("The number of knots", len(raw) // 16 if type(raw) is bytes else None, 1, MAX_KNOTS)
    scores, confidences = schema.floats({"calibration": raw}, "calibration", (2, n)).tolist()
    rises = all(a < b for a, b in pairwise(scores)) and -HUGE <= scores[0] <= scores[-1] <= HUGE
    if not (rises and confidences == sorted(confidences) and 0.0 <= confidences[0] <= confidences[-1] <= 1.0):
        raise schema.bad("A calibration must have rising scores, and shares that never fall", (scores, confidences))
    return Calibration(tuple(scores), tuple(confidences))


def _risk(row: object) -> Risk:
    regime, deadline, error, raw = schema.row(row, 4)
    if type(regime) is not str or regime not in REGIMES:
        raise schema.bad(f"A regime must be one of {', '.join(REGIMES)}", regime)
    n = schema.in_range("The number of points", len(raw) // 24 if type(raw) is bytes else None, 1, MAX_POINTS)
    points = schema.floats({"points": raw}, "points", (n, 3))
    if not (points.min() >= 0.0 and points.max() <= 1.0):
        raise schema.bad("A threshold, a coverage and a risk must be shares", points.tolist())
    if (points[1:, 1] > points[:-1, 1]).any():
        raise schema.bad("Coverages must fall", points[:, 1].tolist())
    numbers = {"deadline": deadline, "error": error}
    return Risk(
        regime,
        schema.number(numbers, "deadline", 1.0 / HUGE, HUGE),
        schema.number(numbers, "error", 0.0, 1.0),
        tuple(RiskPoint(*point) for point in points.tolist()),
    )
