"""A bundle's answers to machines from sound to broken: the cost of its errors, false alarms, and the delay."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polydom_runtime import Predictor

from .build import COSTS_OF_ERRORS
from .machine import SOUND, Machine, Signal, life
from .watch import Watch

MOST_IN_A_ROW = 8


@dataclass(frozen=True, slots=True)
class Life:
    """A machine from sound to broken."""

    fault: str
    windows: tuple[Signal, ...]
    sizes: tuple[float, ...]
    """Of the damage in each window; 0 while the machine is sound."""

    @classmethod
    def simulated(cls, fault: str, windows: int, seed: int) -> "Life":
        """Return the life of a machine that is drawn by the seed."""
        rng = np.random.default_rng([seed, 2])
        return cls(fault, *zip(*life(Machine.drawn(rng), fault, windows, rng), strict=True))

    @property
    def onset(self) -> int:
        """The number of windows before the damage begins."""
        return self.sizes.count(0.0)

    @property
    def labels(self) -> list[str]:
        """The true state in each window."""
        return [self.fault if size else SOUND for size in self.sizes]


@dataclass(frozen=True, slots=True)
class Trade:
    """The price of hearing a fault soon.

    `in_a_row`: bad windows in a row that raise an alarm. `false_alarms`: in 1,000 windows of a sound machine. `delay`:
    windows from the begin of the damage to the alarm, in the mean; one that never comes counts as the end of the
    machine.
    """

    in_a_row: int
    false_alarms: float
    delay: float


@dataclass(frozen=True, slots=True)
class Record:
    """The answers of a bundle to lives, one life after another.

    `said`: the label of each window of each life.
    """

    lives: Sequence[Life]
    said: Sequence[Sequence[str]]

    @classmethod
    def of(cls, lives: Sequence[Life], predictor: Predictor) -> "Record":
        """Let a predictor answer all windows, without pauses between them."""
        predictor.warm_up(lives[0].windows[0])
        return cls(lives, [[str(predictor.predict_one(window).label) for window in one.windows] for one in lives])

    def missed(self, *, faulty: bool) -> float:
        """Return the share of the faulty windows that are called sound, or of the sound ones that are called faulty."""
        said = [said for true, said in self._pairs() if (true != SOUND) == faulty]
        return sum((label != SOUND) != faulty for label in said) / len(said)

    @property
    def cost(self) -> float:
        """The mean cost of the errors, in false alarms a window."""
        costs = [COSTS_OF_ERRORS.get(pair, 0.0) for pair in self._pairs()]
        return sum(costs) / len(costs)

    @property
    def trades(self) -> list[Trade]:
        """What alarms after one bad window, after two in a row, and so on are worth."""
        return [self._trade(in_a_row) for in_a_row in range(1, MOST_IN_A_ROW + 1)]

    def _pairs(self) -> list[tuple[str, str]]:
        both = zip(self.lives, self.said, strict=True)
        return [pair for one, labels in both for pair in zip(one.labels, labels, strict=True)]

    def _trade(self, in_a_row: int) -> Trade:
        n_false, delay = 0, 0
        for one, labels in zip(self.lives, self.said, strict=True):
            watch = Watch(in_a_row)
            n_false += sum(watch.hear(label) is not None for label in labels[: one.onset])
            for label in labels[one.onset :]:
                watch.hear(label)
                if watch.is_raised:
                    break
                delay += 1
        n_sound = sum(one.onset for one in self.lives)
        return Trade(in_a_row, 1000.0 * n_false / n_sound, delay / len(self.lives))
