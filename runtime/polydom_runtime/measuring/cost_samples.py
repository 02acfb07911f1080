"""Raw time samples of a machine, and what is known about the machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.features import FeatureSpace

MIN_SECONDS, MAX_SECONDS, MAX_SIZE = 1e-12, 1e6, 1e15
"""No call is shorter or longer than this in seconds, no item larger; beyond, fits lose their digits."""

DISPATCH = "(dispatch)"
"""The unit that stands for an answer without any feature: clock, size, staircase, constant, answer."""


@dataclass(frozen=True, slots=True)
class CostSamples:
    """Raw times of every unit: shared steps, features (without their step), and `DISPATCH`.

    Parameters
    ----------
    units : tuple of str
    sizes : float array of shape (n_sizes,)
        Sizes of the items that were used, rising.
    seconds : float array of shape (n_units, n_sizes, n_rounds)
        Calls timed one by one.
    loops : int array of shape (n_units, n_sizes)
        How many calls a block has: more than 1 where one call is short beside a tick of the timer.
    blocks : float array of shape (n_units, n_sizes, n_rounds)
        Time of a block divided by its calls; NaN where `loops` is 1.
    kernels : dict of str to float array of shape (n_rounds,)
        The timer, an empty call, and runs of reference models and calibration kernels, one by one.
    machine : dict of str to plain values
        What was stamped; see `polydom_runtime.measuring.conditions`.
    fingerprint : str
        Hash of the source of the features.
    stopped : str
        Why no more was measured.
    """

    units: tuple[str, ...]
    sizes: Floats
    seconds: Floats
    loops: NDArray[np.int64]
    blocks: Floats
    kernels: Mapping[str, Floats] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    stopped: str = ""

    @property
    def n_rounds(self) -> int:
        """How often each unit was timed at each size."""
        return int(self.seconds.shape[2])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What about the machine's state makes these times doubtful."""
        return tuple(self.machine.get("warnings", ()))

    def of(self, unit: str) -> Floats:
        """Return the samples of one unit, shape ``(n_sizes, n_rounds)``."""
        samples: Floats = self.seconds[self.units.index(unit)]
        return samples

    def typical_of(self, unit: str) -> Floats:
        """Return the samples of one unit that tell the typical time best: those of blocks where calls are short."""
        row = self.units.index(unit)
        samples: Floats = np.where(self.loops[row, :, None] > 1, self.blocks[row], self.seconds[row])
        return samples

    def rounds(self, chosen: slice) -> "CostSamples":
        """Return the samples of some rounds."""
        kernels = {name: times[chosen] for name, times in self.kernels.items()}
        parts = self.seconds[:, :, chosen], self.loops, self.blocks[:, :, chosen]
        return CostSamples(self.units, self.sizes, *parts, kernels, self.machine, self.fingerprint, self.stopped)

    def check(self) -> None:
        """Raise MeasurementError unless every time is positive and finite and the sizes rise."""
        for name, times in {**dict(zip(self.units, self.seconds, strict=True)), **self.kernels}.items():
            if times.size == 0 or not (times >= MIN_SECONDS).all() or not (times <= MAX_SECONDS).all():
                worst = times.min() if times.size else "no sample"
                raise MeasurementError(
                    f"Cost samples must be positive, finite times. Those of {name} hold {worst}. Measure again, with a "
                    "clock that does not run backwards or stand still: `polydom-node doctor` looks at it."
                )
        blocks = self.blocks[self.loops > 1]
        if not ((blocks >= MIN_SECONDS).all() and (blocks <= MAX_SECONDS).all()):
            raise MeasurementError("The times of blocks of calls must be positive and finite. Measure again.")
        sizes = self.sizes
        if len(sizes) == 0 or not (0.0 < sizes[0] <= sizes[-1] <= MAX_SIZE and (np.diff(sizes) > 0.0).all()):
            raise MeasurementError(f"The measured sizes must be positive and rise. Got {sizes}. Measure again.")


def units_of(space: FeatureSpace) -> tuple[str, ...]:
    """Return the units that a space's costs are made of, in the order of `CostSamples`."""
    return (*(s.name for s in space.steps), *space.names, DISPATCH)
