"""The choice of the reference items of a bundle: small ones, with features that come out the same each time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.bundles.references import RELATIVE, References, Stored, restored, stored
from polydom_runtime.features import FeatureSpace

N_REFERENCES = 3
"""More find hardly more, and a node computes all of them when it starts."""


def references_of(
    space: FeatureSpace, items: Sequence[Any], sizes: Sequence[float], rows: NDArray[np.float32]
) -> References:
    """Return reference items, the smallest ones that differ in all features; none if items cannot be stored.

    `rows` (shape (n_items, sum of widths)): their features.
    """
    chosen: dict[tuple[float, ...], Stored] = {}
    for k in np.argsort(sizes, kind="stable").tolist():
        if len(chosen) == N_REFERENCES:
            break
        if (item := stored(items[k])) is not None:
            chosen.setdefault(tuple(rows[k].tolist()), item)
    limits = RELATIVE * rows.std(axis=0, dtype=np.float64) + np.finfo(np.float32).tiny
    for row, item in chosen.items():
        again = np.abs(space.extract_all(restored(item)) - row)
        limits[again > limits + RELATIVE * np.abs(row)] = np.inf  # a feature with chance in it
    return References(tuple(chosen.values()), tuple(chosen), tuple(limits.tolist())) if chosen else References()
