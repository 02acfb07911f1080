"""The entry of a model in the index of a bundle, and the file of this model."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from polydom_runtime.costs import CostFunction

from . import schema
from .confidence import Calibration
from .engines import Engine
from .estimates import Estimate

MODEL_FOLDER = "models"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """An exported model: its features, score, time and file."""

    order: tuple[int, ...]
    """The positions of its features in the feature space, in the order in which they are computed."""
    accuracy: float
    """Score of the exported model on items that it was not trained on, corrected for the choice of the model by it."""
    seconds: float
    """Worst-case time of one run."""
    size_bytes: int
    """Of the file."""
    sha256: bytes
    """Of the file; 32 bytes."""
    cost: CostFunction | None = None
    """Worst case of a whole answer by this model, if it is not the sum of the units' worst cases."""
    stop: float | None = None
    """The confidence from which on its answer is given although time is left: a calibrated one if there is a
    `calibration`. Above 1 means never; None means that the bundle was built without early stops."""
    engine: Engine = "onnxruntime"
    """The one that is quicker after other work, and that `seconds` are of."""
    rising: bool = True
    """Whether its input columns are in the order of the feature space; in bundles of old versions they are in
    `order`."""
    estimate: Estimate | None = None
    """The measured score and an interval, if they are known."""
    estimator: str = ""
    """The name of its estimator; empty if all models of the bundle are of one without a name."""
    calibration: Calibration | None = None
    """What its scores mean; None if the bundle was built without confidences."""

    @property
    def features(self) -> tuple[int, ...]:
        """The positions of its features in the order of its input columns."""
        return tuple(sorted(self.order)) if self.rising else self.order

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
            raise schema.bad(f"{file} must be the model that the index names", "other bytes", "Copy the bundle again.")
        return data


def model_file(number: int) -> str:
    """Return the file name of a model. It is made from its number, so that a bundle cannot name other paths."""
    return f"{number:04d}.onnx"
