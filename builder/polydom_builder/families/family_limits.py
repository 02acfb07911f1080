"""How the limits of training are shared between the search of the lattice and the other estimators."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polydom_builder.training.families import Family

MOST_MORE = 0.5
"""All estimators together train at most this share more models than the search of the lattice."""

COMPARED, OTHERS = 6, 4
"""Of `max_trainings` a sixth at most compares estimators, and a fourth is kept for the other ones at the end; of
`max_seconds` likewise."""


@dataclass
class FamilyLimits:
    """The limits of a search with several estimators."""

    families: Sequence[Family]
    """Their trainers know the sets that were trained."""
    trainings: int | None
    seconds: float | None
    clock: Callable[[], float] = time.monotonic
    """Returns the time in seconds."""

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def to_compare(self) -> int:
        """The number of trainings by others than the first that may compare estimators.

        It is that of features, or enough for one set if there are more estimators; and a share of the limit.
        """
        most = max(len(self.families[0].trainer.table.columns), len(self.families) - 1)
        return most if self.trainings is None else min(most, self.trainings // COMPARED)

    @property
    def of_lattice(self) -> tuple[int | None, float | None]:
        """The number of trainings and of seconds that the search of the lattice may take."""
        trainings, seconds = self.trainings, self.seconds
        if len(self.families) > 1:
            if trainings is not None:
                trainings -= self._trained + trainings // OTHERS
            if seconds is not None:
                seconds = max(seconds * (1.0 - 1.0 / OTHERS) - self._passed, 1e-3)
        return trainings, seconds

    def of_others(self, explored: int) -> int:
        """Return how many trainings are left for other estimators after a search that explored so many sets."""
        most = int((1.0 + MOST_MORE) * explored)
        return max((most if self.trainings is None else min(most, self.trainings)) - self._trained, 0)

    def in_time(self) -> bool:
        """Tell whether a further training may begin."""
        return self.seconds is None or self._passed < self.seconds

    @property
    def _trained(self) -> int:
        return sum(len(family.trainer.known) for family in self.families)

    @property
    def _passed(self) -> float:
        return self.clock() - self._began
