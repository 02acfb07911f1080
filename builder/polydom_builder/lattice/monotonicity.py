"""Violations of monotonicity, a(F_i) <= a(F_j) for F_i ⊂ F_j, in measured scores, and the tolerance e for them."""

from collections.abc import Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.promise import Assumption

MAX_PAIRS = 1 << 26
"""The amounts and distances of this number of pairs take about 0.6 GB."""

MOST_SETS = 8000
"""The most trained sets that are compared; these have fewer than MAX_PAIRS pairs."""

NO_VIOLATION = 1e-12

BLOCK_OF_PAIRS = 1 << 22
"""Number of pairs of sets that are compared at a time, to limit the memory."""


def violations(scores: Mapping[int, float]) -> tuple[Floats, NDArray[np.uint8]]:
    """Compare each set with each of its strict supersets among the given sets: 3^F - 2^F pairs if all are trained.

    Returned are, for each pair F_i ⊂ F_j, max(0, a(F_i) - a(F_j)) and the distance |F_j| - |F_i|. Raises
    `LatticeError` if there are more than 67 million pairs. O(n_sets²) comparisons of masks, and 9 bytes a pair.

    Feature 1 lowers the score of {0} from .8 to .77. No other pair violates monotonicity:

    >>> amounts, distances = violations({0b00: 0.5, 0b01: 0.8, 0b10: 0.6, 0b11: 0.77})
    >>> amounts.round(3), distances
    (array([0.  , 0.  , 0.  , 0.03, 0.  ]), array([1, 1, 2, 1, 1], dtype=uint8))
    """
    masks = np.array(list(scores), dtype=np.int64)
    values = np.array(list(scores.values()), dtype=np.float64)
    if not np.isfinite(values).all():
        raise LatticeError(f"Every score must be finite. Got {values[~np.isfinite(values)][0]}.")
    sizes = np.bitwise_count(masks)
    amounts, distances, n_pairs = [np.empty(0)], [np.empty(0, dtype=np.uint8)], 0
    step = max(BLOCK_OF_PAIRS // max(len(masks), 1), 1)
    for start in range(0, len(masks), step):
        block = masks[start : start + step, None]
        below, above = np.nonzero(((block & ~masks) == 0) & (block != masks))
        below += start
        n_pairs += len(below)
        if n_pairs > MAX_PAIRS:
            raise LatticeError(
                f"At most {MAX_PAIRS:,} pairs of sets can be compared. {len(masks):,} sets have more. Give fewer sets."
            )
        amounts.append(np.maximum(values[below] - values[above], 0.0))
        distances.append(sizes[above] - sizes[below])
    return np.concatenate(amounts), np.concatenate(distances)


def estimate_tolerance(scores: Mapping[int, float], quantile: float = 0.99) -> float:
    """Return the smallest e that the violations of at least this share of all pairs do not exceed; 0 without pairs.

    Pairs without a violation count, too. The quantile 1 gives the largest violation: then a(F_i) <= a(F_j) + e for all
    trained F_i ⊂ F_j, up to rounding. The trained sets are no random sample, so for untrained sets this is an
    estimate, not a bound. O(n_sets²).

    One of five pairs violates, by .03:

    >>> scores = {0b00: 0.5, 0b01: 0.8, 0b10: 0.6, 0b11: 0.77}
    >>> round(estimate_tolerance(scores), 3), estimate_tolerance(scores, quantile=0.75)
    (0.03, 0.0)
    """
    if not 0.0 <= quantile <= 1.0:
        raise LatticeError(f"A quantile of the violations must be between 0 and 1. Got {quantile}.")
    amounts, _ = violations(scores)
    return float(np.quantile(amounts, quantile, method="inverted_cdf")) if amounts.size else 0.0


def check_assumption(scores: Mapping[int, float], tolerance: float) -> Assumption:
    """Compare the trained sets with their trained supersets; O(n_sets²).

    >>> str(check_assumption({0b00: 0.5, 0b01: 0.8, 0b10: 0.6, 0b11: 0.77}, tolerance=0.05))
    'the tolerance of 0.05 holds for all 5 pairs of trained sets'
    """
    amounts, _ = violations(dict(islice(scores.items(), MOST_SETS)))
    broken = amounts > tolerance + NO_VIOLATION
    return Assumption(tolerance, len(amounts), int(broken.sum()), float(amounts.max(initial=0.0)))
