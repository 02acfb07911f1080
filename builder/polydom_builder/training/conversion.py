"""From a feature set to a converted model that answers as scikit-learn's does."""

from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .onnx import OnnxVersions, check_parity, to_onnx
from .trainer import Trainer

N_BETWEEN, SOME_BETWEEN = 2000, 2
"""Rows between training items on which an exported model is compared with scikit-learn's, and on how many of them it
may differ beside ties: float32 loses more than its rounding where features hardly differ."""


def converted_models(
    trainer: Trainer, orders: Sequence[tuple[int, ...]], versions: OnnxVersions, max_mismatches: int
) -> list[bytes]:
    """Return the checked model of each set, in parallel and cached; see `checked_model`."""
    known, model = trainer.converted, trainer.memory.cache(checked_model, ignore=["trainer"])
    keys = [(order, versions, max_mismatches) for order in orders]
    missing = [key for key in dict.fromkeys(keys) if key not in known]
    tasks = (delayed(model)(trainer.lean, trainer.key, *key) for key in missing)
    known.update(zip(missing, Parallel(n_jobs=trainer.n_jobs)(tasks), strict=True))
    return [known[key] for key in keys]


def checked_model(
    trainer: Trainer, key: str, order: tuple[int, ...], versions: OnnxVersions, max_mismatches: int
) -> bytes:
    """Train a model on all items, convert it, and compare the answers, on the items and between them."""
    rows, classes, name = trainer.table.rows_of(order), trainer.seen_classes, trainer.name_of(order)
    model = trainer.fit(order)
    data = to_onnx(model, rows.shape[1], versions, classes)
    checks = ("training items", rows, max_mismatches), ("rows between training items", between(rows), SOME_BETWEEN)
    for where, tried, most in checks:
        expected, most, classifies = trainer.codes(model, tried), max(most, max_mismatches), len(classes) > 0
        check_parity(name, expected, data, tried, most, classifies=classifies, where=where)
    return data


def between(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows at random places between pairs of rows: on training items alone, hardly anything may differ."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, len(rows), (2, N_BETWEEN))
    share = rng.uniform(size=(N_BETWEEN, 1))
    found: NDArray[np.float32] = ((1.0 - share) * rows[first] + share * rows[second]).astype(np.float32)
    return found
