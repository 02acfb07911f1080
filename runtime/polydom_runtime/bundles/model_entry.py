"""The entry of a model in the index of a bundle, and the file of this model."""

import hashlib
import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from polydom_runtime.codec.marks import In, Size, Text, Unsound, bad
from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.features import MAX_FEATURES

from .bundle_times import MAX_SECONDS
from .confidence import Calibration
from .engines import Engine
from .references import MAX_ITEMS

MODEL_FOLDER = "models"

MAX_MODEL_BYTES = 1 << 30

UNCLEAR = math.inf
"""Stands for an answer that rounding may decide, so that it is not compared."""

MAX_ESTIMATOR_CHARS, MAX_ESTIMATORS = 40, 20
"""The most characters of the name of an estimator, and the most estimators: a node keeps an answer of each for every
state."""

EstimatorName = Annotated[str, Text(MAX_ESTIMATOR_CHARS, 0)]
FeatureOrder = Annotated[tuple[int, ...], Size(1, MAX_FEATURES), In(0, MAX_FEATURES - 1)]
Score = Annotated[float, In(-HUGE, HUGE)]

CONFIDENCE = 0.9
"""The share of intervals that hold the score that their model has on new items."""


class Estimate(NamedTuple):
    """The score of a model as it was measured, and an interval for its score on new items."""

    measured: Score
    """The mean score on held-out items. The model was chosen for it among many, so it is too high on average; the
    stated score is at most as high."""
    low: Score
    high: Score
    """`low`, `high`: new items of the same kind give a score between these, with a probability of `CONFIDENCE`."""

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


class ModelEntry(NamedTuple):
    """An exported model: its features, score, time and file."""

    order: FeatureOrder
    """The positions of its features in the feature space, in the order in which they are computed."""
    accuracy: Score
    """Score of the exported model on items that it was not trained on, corrected for the choice of the model by it."""
    seconds: Annotated[float, In(0.0, MAX_SECONDS)]
    """Worst-case time of one run."""
    size_bytes: Annotated[int, In(1, MAX_MODEL_BYTES)]
    """The size of the file."""
    sha256: Annotated[bytes, Size(32, 32)]
    """The digest of the file."""
    cost: CostFunction | None = None
    """Worst case of a whole answer by this model, if it is not the sum of the units' worst cases."""
    stop: Annotated[float | None, In(0.0, math.inf)] = None
    """The confidence from which on its answer is given although time is left: a calibrated one if there is a
    `calibration`. Above 1 means never; None means that the bundle was built without early stops."""
    engine: Engine = "onnxruntime"
    """The engine that is quicker after other work, and that `seconds` were measured with."""
    estimate: Estimate | None = None
    """The measured score and an interval, if they are known."""
    estimator: EstimatorName = ""
    """The name of its estimator; empty if all models of the bundle are of one without a name."""
    calibration: Calibration | None = None
    """The meaning of its scores; None if the bundle was built without confidences."""
    answers: Annotated[tuple[float, ...], Size(0, MAX_ITEMS), In(-HUGE, math.inf)] = ()
    """Its answer to each row of the references when it was built: the number of a class, or a regressor's; `UNCLEAR`
    where rounding may decide. Empty if they are not known. The engine that runs it must give them, too."""

    def _check(self) -> None:
        if len({*self.order}) != len(self.order):
            raise Unsound("have different features", self.order)
        if (e := self.estimate) and not e.low <= self.accuracy <= min(e.high, e.measured):
            raise Unsound("have a score in its interval, and not above the measured score", (self.accuracy, *e))

    @property
    def features(self) -> tuple[int, ...]:
        """The positions of its features in the order of its input columns."""
        return tuple(sorted(self.order))

    @property
    def mask(self) -> int:
        """The feature set as a bit mask."""
        return sum(1 << i for i in self.order)

    def name(self, names: Sequence[str]) -> str:
        """Return its features, and its estimator if that has a name, for messages; `names` are of all features."""
        return "+".join(names[i] for i in self.order) + (f" of {self.estimator}" if self.estimator else "")

    def checked(self, data: bytes, file: str) -> bytes:
        """Return the content of the model's file.

        Raises `BundleFormatError` if its size or SHA-256 is not the one in the index.
        """
        if len(data) != self.size_bytes or hashlib.sha256(data).digest() != self.sha256:
            raise bad(f"{file} must be the model that the index names", "other bytes", "Copy the bundle again.")
        return data


def is_estimator_name(text: object) -> bool:
    """Return whether a value may be the name of an estimator."""
    return isinstance(text, str) and 1 <= len(text) <= MAX_ESTIMATOR_CHARS and text.isprintable()


def model_file(number: int) -> str:
    """Return the file name of a model. It is made from its number, so that a bundle cannot name other paths."""
    return f"{number:04d}.onnx"
