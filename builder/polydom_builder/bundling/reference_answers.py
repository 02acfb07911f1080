"""The answers of exported models to the reference items, which must be the same where the models run."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polydom_builder.training.onnx import OnnxModel
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import UNCLEAR
from polydom_runtime.kernels.rounding import TRIES, moved
from polydom_runtime.policy.loaded_models import NUMBER_PRECISION

STEADY = 0.1
"""Numbers that rounding changes by more than this share of what they may differ by are not compared."""


def with_answers(bundle: Bundle, models: Sequence[bytes]) -> Bundle:
    """Return a bundle with the answers of its models, given as ONNX bytes, to the rows of its references."""
    rows, classifies = np.array(bundle.references.rows, dtype=np.float32), len(bundle.space.classes) > 0
    if not len(rows):
        return bundle
    ends = np.cumsum((0, *bundle.space.widths))
    entries = []
    for entry, data in zip(bundle.models, models, strict=True):
        columns = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in entry.features])
        entries.append(entry._replace(answers=clear_answers(OnnxModel(data, classifies), rows[:, columns], classifies)))
    return replace(bundle, models=tuple(entries))


def clear_answers(model: OnnxModel, rows: NDArray[np.float32], classifies: bool) -> tuple[float, ...]:
    """Return the answer of a model to each row; `UNCLEAR` where it changes if the row changes as by rounding."""
    rng, found = np.random.default_rng(0), model.predict(rows).astype(float)
    around = model.predict(np.concatenate([moved(rows, rng) for _ in range(TRIES)])).reshape(TRIES, len(rows))
    limit = 0.0 if classifies else STEADY * NUMBER_PRECISION * np.abs(found)
    is_clear = (np.abs(around - found) <= limit).all(axis=0)
    answers: list[float] = np.where(is_clear, found, UNCLEAR).tolist()
    return tuple(answers)
