"""What is known of the score of a model beside the score that its entry states."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import schema

CONFIDENCE = 0.9
"""The share of intervals that hold the score that their model has on new items."""


class Estimate(NamedTuple):
    """The score of a model as it was measured, and an interval for its score on new items."""

    measured: float
    """The mean score on held-out items. The model was chosen for it among many, so it is too high on average; the
    stated score is at most as high."""
    low: float
    high: float
    """New items of the same kind give a score between these, with a probability of `CONFIDENCE`."""

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


def encoded(estimates: Sequence[Estimate | None]) -> dict[str, object]:
    """Return the field ``estimates`` of an index: three numbers for each model, or nothing."""
    return {"estimates": schema.pack_floats([e for e in estimates if e is not None])}


def decoded(document: Mapping[str, Any], scores: Sequence[float]) -> Sequence[Estimate | None]:
    """Return the estimate of each model, given the scores that the models state; None for each if none is known.

    Raises `BundleFormatError` if there is not one for each model, or the numbers of one are not in order.
    """
    if not schema.field(document, "estimates", bytes):
        return [None] * len(scores)
    numbers = schema.floats(document, "estimates", (len(scores), 3))
    for (measured, low, high), score in zip(numbers.tolist(), scores, strict=True):
        if not (low <= score <= min(high, measured) and np.isfinite([low, high, measured]).all()):
            raise schema.bad(
                "The score of a model must be in its interval, and not above the measured score",
                (score, low, high, measured),
            )
    return [Estimate(*row) for row in numbers.tolist()]
