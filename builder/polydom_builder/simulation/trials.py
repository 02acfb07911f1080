"""Recorded items: the size of each and the time of every unit on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples, ItemSamples

NEAR_SIZE = 0.02
"""Items whose sizes differ by less than this share stand for each other."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Real times of items, in their order."""

    units: tuple[str, ...]
    """Names of shared steps, features and what comes around them, as in `CostSamples`."""
    sizes: Floats
    """Shape (n_trials,). Size of each item."""
    seconds: Floats
    """Shape (n_units, n_trials). Time of each unit."""
    model_seconds: Floats
    """Shape (n_trials,). Time of the reference model; times of other models are in proportion to it."""

    @classmethod
    def drawn(cls, samples: CostSamples, sizes: Sequence[float], seed: int = 0, regime: Regime = "hot") -> "Trials":
        """Return items of these sizes; each takes all its times from one random round, in the order of the rounds.

        So a slow period that affected several units of a round, or several rounds in a row, affects the same units and
        neighbouring items here. If items were measured as they come, each size gets the times of one of about its size,
        and that one's own size. Otherwise the times between measured sizes are interpolated on the log scale; below the
        smallest measured size its times are used, and above the largest its times are scaled in proportion to n.
        """
        rng = np.random.default_rng(seed)
        if regime in samples.items or regime != "hot":
            items = items_of(samples, regime)
            apart = np.abs(np.log(np.asarray(sizes)[:, None] / items.sizes)) + rng.uniform(
                0.0, NEAR_SIZE, (len(sizes), len(items.sizes))
            )
            rounds = np.sort(rng.integers(items.seconds.shape[2], size=len(sizes)))
            return cls._of_rows(samples, items, apart.argmin(axis=1), rounds)
        rounds = np.sort(rng.integers(samples.n_rounds, size=len(sizes)))
        n = np.asarray(sizes, dtype=np.float64)
        seconds = np.array([_between(samples.sizes, unit, n, rounds) for unit in samples.seconds])
        return cls(samples.units, n, seconds, samples.kernels[REFERENCE_MODEL][rounds])

    @classmethod
    def as_they_came(cls, samples: CostSamples, count: int, regime: Regime = "hot", seed: int = 0) -> "Trials":
        """Return items that were measured as they come: rounds in their order, and in each the items in theirs.

        Nothing is interpolated. If there are fewer answers than `count`, they begin anew; if there are more, a random
        part of them is taken.
        """
        items = items_of(samples, regime)
        n_items, n_rounds = items.seconds.shape[1:]
        passes, rest = divmod(count, n_items * n_rounds)
        part = np.sort(np.random.default_rng(seed).permutation(n_items * n_rounds)[:rest])
        answers = np.concatenate([np.tile(np.arange(n_items * n_rounds), passes), part])
        return cls._of_rows(samples, items, answers % n_items, answers // n_items)

    @classmethod
    def typical(cls, bundle: Bundle, sizes: Sequence[float]) -> "Trials":
        """Return items of these sizes whose units take their typical times, those of the regime hot."""
        times = bundle.times.typical
        seconds = np.array([[cost(n) for n in sizes] for cost in (*times.terms, *times.around)])
        models = np.full(len(sizes), bundle.times.reference_seconds * times.model_ratio)
        return cls((*times.names, *AROUND), np.asarray(sizes, dtype=np.float64), seconds, models)

    @classmethod
    def _of_rows(
        cls, samples: CostSamples, items: ItemSamples, chosen: NDArray[np.intp], rounds: NDArray[np.intp]
    ) -> "Trials":
        models = items.reference_runs[chosen, rounds]
        return cls(samples.units, items.sizes[chosen], items.seconds[:, chosen, rounds], models)

    def __len__(self) -> int:
        return len(self.sizes)

    def of(self, unit: str) -> Floats:
        """Return the times of one unit in seconds, shape ``(n_trials,)``."""
        times: Floats = self.seconds[self.units.index(unit)]
        return times

    def slowed(self, factor: float | Floats) -> "Trials":
        """Return the same items with all times multiplied by a factor, or by one factor for each item."""
        return Trials(self.units, self.sizes, self.seconds * factor, self.model_seconds * factor)


def halves(samples: CostSamples) -> tuple[CostSamples, CostSamples]:
    """Return the samples of every other round and every other item, and the rest; all of them twice if they are few."""

    def half(first: int) -> CostSamples:
        items = {
            regime: items.part(slice(first % min(len(items.sizes), 2), None, 2))
            for regime, items in samples.items.items()
        }
        return replace(samples.rounds(slice(first % min(samples.n_rounds, 2), None, 2)), items=items)

    return half(0), half(1)


def items_of(samples: CostSamples, regime: Regime) -> ItemSamples:
    """Return the times of items as they come in a regime; `FitError` if there are none."""
    if regime not in samples.items:
        raise FitError(
            f"The costs must have times of items as they come, {regime}. They have "
            f"{' and '.join(samples.items) or 'none'}. Measure again with this version."
        )
    return samples.items[regime]


def _between(measured: Floats, times: Floats, sizes: Floats, rounds: NDArray[np.intp]) -> Floats:
    """Return the time of each (size, round): interpolated on log scales between the neighbouring measured sizes."""
    if len(measured) == 1:
        return np.asarray(times[0, rounds] * sizes / measured[0])
    right = np.clip(np.searchsorted(measured, sizes), 1, len(measured) - 1)
    low, high = np.log(measured[right - 1]), np.log(measured[right])
    share = np.clip((np.log(sizes) - low) / (high - low), 0.0, 1.0)
    between = times[right - 1, rounds] ** (1.0 - share) * times[right, rounds] ** share
    return np.asarray(between * np.maximum(sizes / measured[-1], 1.0))
