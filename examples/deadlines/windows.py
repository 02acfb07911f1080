"""Windows of varied length, cut from longer recordings."""

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float32]


def varied_lengths(count: int, low: int, high: int, rng: np.random.Generator) -> list[int]:
    """Return random lengths, uniform on the log scale.

    `low`, `high`: the least and the greatest length.

    Examples
    --------
    >>> varied_lengths(4, 10, 1000, np.random.default_rng(0))
    [188, 35, 12, 11]
    """
    lengths: list[int] = np.rint(np.exp(rng.uniform(np.log(low), np.log(high), count))).astype(int).tolist()
    return lengths


def cut(recording: Signal, length: int, rng: np.random.Generator) -> Signal:
    """Return a window from a random place of a recording, at most as long as the recording."""
    start = int(rng.integers(max(len(recording) - length, 0) + 1))
    return np.ascontiguousarray(recording[start : start + length])
