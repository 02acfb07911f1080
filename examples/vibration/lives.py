"""What a bundle makes of machines from sound to broken: the cost of its errors, false alarms, and the delay."""

from collections.abc import Sequence
from dataclasses import dataclass

from polydom_runtime import Predictor

from .build import COSTS_OF_ERRORS
from .machine import SOUND, Machine, Signal, life
from .watch import Watch

import numpy as np


@dataclass(frozen=True)
class Life:
    """A machine from sound to broken.

    Parameters
    ----------
    fault : str
    windows : list of float32 arrays
    sizes : list of float
        Of the damage in each window; 0 while the machine is sound.
    """

    fault: str
    windows: list[Signal]
    sizes: list[float]

    @classmethod
    def simulated(cls, fault: str, windows: int, seed: int) -> "Life":
        """Return the life of a machine that is drawn by the seed."""
        rng = np.random.default_rng([seed, 2])
        items, sizes = zip(*life(Machine.drawn(rng), fault, windows, rng), strict=True)
        return cls(fault, list(items), list(sizes))

    @property
    def onset(self) -> int:
        """The number of windows before the damage begins."""
        return self.sizes.count(0.0)

    @property
    def labels(self) -> list[str]:
        """The true state in each window."""
        return [self.fault if size else SOUND for size in self.sizes]


def answered(life: Life, predictor: Predictor) -> list[str]:
    """Return the answer to each window, one after another without a pause."""
    predictor.warm_up(life.windows[0])
    return [str(predictor.predict_one(window).label) for window in life.windows]


def mean_cost(lives: Sequence[Life], said: Sequence[Sequence[str]]) -> float:
    """Return the cost of the errors, in false alarms a window."""
    pairs = [pair for life, labels in zip(lives, said, strict=True) for pair in zip(life.labels, labels, strict=True)]
    return sum(COSTS_OF_ERRORS.get(pair, 0.0) for pair in pairs) / len(pairs)


@dataclass(frozen=True, slots=True)
class Trade:
    """What it takes to hear a fault soon.

    Parameters
    ----------
    in_a_row : int
        Bad windows in a row that raise an alarm.
    false_alarms : float
        In 1,000 windows of a sound machine.
    delay : float
        Windows from the begin of the damage to the alarm, in the mean; one that never comes counts as the end of the
        machine.
    """

    in_a_row: int
    false_alarms: float
    delay: float


def trade(lives: Sequence[Life], said: Sequence[Sequence[str]], in_a_row: int) -> Trade:
    """Return how often false alarms are, and how late the true ones."""
    n_false, delays = 0, []
    for life, labels in zip(lives, said, strict=True):
        watch = Watch(in_a_row)
        n_false += sum(watch.hear(label) is not None for label in labels[: life.onset])
        delay = 0
        for label in labels[life.onset :]:
            watch.hear(label)
            if watch.is_raised:
                break
            delay += 1
        delays.append(delay)
    n_sound = sum(life.onset for life in lives)
    return Trade(in_a_row, 1000.0 * n_false / n_sound, sum(delays) / len(delays))
