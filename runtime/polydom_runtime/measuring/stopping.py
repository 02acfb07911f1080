"""When a measurement has enough samples."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .cost_samples import CostSamples
from .tails import relative_error

MIN_ROUNDS = 10
LOOK_AGAIN = 1.3
"""Precision is checked each time that the rounds have grown by this factor, since the check takes time, too."""


@dataclass(slots=True)
class StoppingRule:
    """Stops when all times are known precisely enough, or the rounds or the time are used up, whichever is first."""

    rounds: int
    """The most rounds."""
    seconds: float
    """Limit of the time; it ends no measurement before 10 rounds."""
    quantile: float
    precision: float
    """Every unit's median must be known to within the fraction `precision`, its quantile to within five times that."""
    _next_look: float = field(default=MIN_ROUNDS, init=False)

    def fraction(self, done: int, spent: float) -> float:
        """Return the fraction of the rounds or of the time that is used up, whichever is larger."""
        return min(max(done / self.rounds, spent / self.seconds), 1.0)

    def reason(self, done: int, spent: float, samples: Callable[[], CostSamples]) -> str | None:
        """Return the reason to stop after `done` rounds and `spent` seconds, or None; `samples` returns those taken."""
        if done >= self.rounds:
            return f"{done} rounds done"
        if spent >= self.seconds and done >= MIN_ROUNDS:
            return f"time was up after {done} rounds"
        if done >= self._next_look:
            self._next_look = LOOK_AGAIN * done
            if self._is_known(samples()):
                return f"known to within {self.precision:.0%} after {done} rounds"
        return None

    def _is_known(self, samples: CostSamples) -> bool:
        errors = (relative_error(samples.of(unit), self.quantile) for unit in samples.units)
        return all(median <= self.precision and high <= 5.0 * self.precision for median, high in errors)
