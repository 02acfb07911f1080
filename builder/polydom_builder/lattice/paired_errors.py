"""Standard errors of differences of scores: all sets are scored on the same items, so chance moves them together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polydom_runtime.arrays import Floats


@dataclass(frozen=True, slots=True)
class PairedErrors:
    """Standard errors, from what each block of held-out items contributes to the scores.

    With a single block nothing is known of them, nor of a set with a block that the scorer gives no number: they are 0.
    """

    parts: Callable[[Sequence[int]], Floats]
    """Returns what each block contributes to the scores of trained sets, shape ``(n_sets, n_blocks)``."""
    shares: Floats
    """Shape (n_blocks,). How much each block counts in a score; they sum to 1."""
    inflation: float = 1.0
    """>= 1. The factor of the variance for what folds share; see `Trainer.inflation`."""

    def of(self, masks: Sequence[int], rival: int) -> Floats:
        """Return the standard error of the difference of each set and a rival, shape ``(n_sets,)``."""
        moves = self.moves(masks) - self.moves([rival])
        errors: Floats = np.sqrt((moves * moves).sum(axis=1))
        return errors

    def moves(self, masks: Sequence[int]) -> Floats:
        """Return how far each block moves the score of each set, as standard deviations: ``(n_sets, n_blocks)``.

        Times independent normal numbers, one for each block, they are draws of the scores' errors, which go together.
        """
        table = self.parts(masks).reshape(len(masks), len(self.shares))
        n = len(self.shares)
        factor = np.sqrt(self.inflation * n / (n - 1)) if n > 1 else 0.0
        known = np.isfinite(table).all(axis=1)
        moves = np.zeros_like(table)
        moves[known] = (table[known] - (table[known] @ self.shares)[:, None]) * self.shares * factor
        return moves

    def are_known(self, masks: Sequence[int]) -> bool:
        """Tell whether there are two blocks or more, and the scorer gives each a number for each set."""
        return len(self.shares) > 1 and bool(np.isfinite(self.parts(masks)).all())

    def typical(self, rivals: Mapping[int, int]) -> float:
        """Return the median standard error of the differences of sets and their rivals; 0 without any."""
        found = [float(self.of([mask], rival)[0]) for mask, rival in rivals.items()]
        return float(np.median(found)) if found else 0.0
