"""A journal that dies after some chunks, as by a kill."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.measuring.journal import NOTHING, FileJournal
from polydom_runtime.measuring.stopwatch import Disturbances


class Killed(Exception):
    """Stands for a kill between two chunks."""


class FragileJournal(FileJournal):
    """Dies after this number of chunks of rounds and answers, or of answers alone."""

    def __init__(self, file: Path, left: int, *, keeps_rounds: bool = False) -> None:
        super().__init__(file)
        self.left, self.keeps_rounds = left, keeps_rounds

    def append(
        self, part: np.ndarray, warnings: Sequence[str], seen: Disturbances = NOTHING, regime: Regime | None = None
    ) -> None:
        if regime or not self.keeps_rounds:
            if not self.left:
                raise Killed
            self.left -= 1
        super().append(part, warnings, seen, regime)
