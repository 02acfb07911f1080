"""Recorded items: the size of each and the time of every unit on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_builder.costs.fit_times import REFERENCE_MODEL
from polydom_runtime.arrays import Floats
from polydom_runtime.measuring.cost_samples import CostSamples


@dataclass(frozen=True, slots=True)
class Trials:
    """Real times of items, in their order.

    Parameters
    ----------
    units : tuple of str
        Names of shared steps, features and dispatch, as in `CostSamples`.
    sizes : float array of shape (n_trials,)
    seconds : float array of shape (n_units, n_trials)
        Time of each unit.
    model_seconds : float array of shape (n_trials,)
        Time of the reference model; times of other models are in proportion to it.
    """

    units: tuple[str, ...]
    sizes: Floats
    seconds: Floats
    model_seconds: Floats

    @classmethod
    def drawn(cls, samples: CostSamples, sizes: Sequence[float], seed: int = 0) -> "Trials":
        """Return items of these sizes; each takes all its times from one random round, in the order of the rounds.

        So a pause or a slow period that affected several units of a round, or several rounds in a row, affects the same
        units and neighbouring items here. Between measured sizes the times are interpolated on the log scale. Below
        the smallest measured size its times are used, and above the largest its times are scaled in proportion to n.
        """
        rng = np.random.default_rng(seed)
        rounds = np.sort(rng.integers(samples.n_rounds, size=len(sizes)))
        n = np.asarray(sizes, dtype=np.float64)
        seconds = np.array([_between(samples.sizes, unit, n, rounds) for unit in samples.seconds])
        return cls(samples.units, n, seconds, samples.kernels[REFERENCE_MODEL][rounds])

    def __len__(self) -> int:
        return len(self.sizes)

    def of(self, unit: str) -> Floats:
        """Return the times of one unit in seconds, shape ``(n_trials,)``."""
        times: Floats = self.seconds[self.units.index(unit)]
        return times

    def slowed(self, factor: float | Floats) -> "Trials":
        """Return the same items with all times multiplied by a factor, or by one factor for each item."""
        return Trials(self.units, self.sizes, self.seconds * factor, self.model_seconds * factor)


def _between(measured: Floats, times: Floats, sizes: Floats, rounds: NDArray[np.intp]) -> Floats:
    """Return the time of each (size, round): interpolated on log scales between the neighbouring measured sizes."""
    if len(measured) == 1:
        return np.asarray(times[0, rounds] * sizes / measured[0])
    right = np.clip(np.searchsorted(measured, sizes), 1, len(measured) - 1)
    low, high = np.log(measured[right - 1]), np.log(measured[right])
    share = np.clip((np.log(sizes) - low) / (high - low), 0.0, 1.0)
    between = times[right - 1, rounds] ** (1.0 - share) * times[right, rounds] ** share
    return np.asarray(between * np.maximum(sizes / measured[-1], 1.0))
