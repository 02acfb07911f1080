"""Items as they were measured: for each its size and what every unit took."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_builder.costs.fit_times import REFERENCE_MODEL
from polydom_runtime.arrays import Floats
from polydom_runtime.measuring.cost_samples import CostSamples


@dataclass(frozen=True, slots=True)
class Trials:
    """Real times of items, one after another.

    Parameters
    ----------
    units : tuple of str
        Shared steps, features and dispatch, as `CostSamples` has them.
    sizes : float array of shape (n_trials,)
    seconds : float array of shape (n_units, n_trials)
    model_seconds : float array of shape (n_trials,)
        Of the reference model; other models take proportionally as long.
    """

    units: tuple[str, ...]
    sizes: Floats
    seconds: Floats
    model_seconds: Floats

    @classmethod
    def drawn(cls, samples: CostSamples, sizes: Sequence[float], seed: int = 0) -> "Trials":
        """Return items of these sizes: each takes all its times from one round, in the order of the rounds.

        What units of one round share, a pause or a slow spell, an item then shares too, and so do items that follow
        one another. Between measured sizes the times are interpolated over log n; beyond them the last ones stand,
        scaled by n.
        """
        rng = np.random.default_rng(seed)
        rounds = np.sort(rng.integers(samples.n_rounds, size=len(sizes)))
        n = np.asarray(sizes, dtype=np.float64)
        seconds = np.array([_between(samples.sizes, unit, n, rounds) for unit in samples.seconds])
        return cls(samples.units, n, seconds, samples.kernels[REFERENCE_MODEL][rounds])

    def __len__(self) -> int:
        return len(self.sizes)

    def of(self, unit: str) -> Floats:
        """Return the times of one unit."""
        times: Floats = self.seconds[self.units.index(unit)]
        return times

    def slowed(self, factor: float | Floats) -> "Trials":
        """Return the same items on a machine that is so many times slower, from item to item if it is an array."""
        return Trials(self.units, self.sizes, self.seconds * factor, self.model_seconds * factor)


def _between(measured: Floats, times: Floats, sizes: Floats, rounds: NDArray[np.intp]) -> Floats:
    """Return the time of each (size, round): log-linear between its neighbours among the measured sizes."""
    if len(measured) == 1:
        return np.asarray(times[0, rounds] * sizes / measured[0])
    right = np.clip(np.searchsorted(measured, sizes), 1, len(measured) - 1)
    low, high = np.log(measured[right - 1]), np.log(measured[right])
    share = np.clip((np.log(sizes) - low) / (high - low), 0.0, 1.0)
    between = times[right - 1, rounds] ** (1.0 - share) * times[right, rounds] ** share
    return np.asarray(between * np.maximum(sizes / measured[-1], 1.0))
