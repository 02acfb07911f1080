"""What disturbed a measurement: pauses, switches to other programs, and a hypervisor that took the processor."""

from dataclasses import dataclass, field

from .cost_samples import Pauses

BUSY_SHARE = 0.9
"""A machine on which a measurement got less of a processor than this is busy."""

BUSY = "the machine was busy: "
"""How the warning of a busy machine begins."""


@dataclass(frozen=True, slots=True)
class Disturbances:
    """What disturbed a part of a measurement.

    Parameters
    ----------
    pauses : Pauses
    switches : int
        How often the system took the processor away from the thread.
    stolen : float
        Seconds that a hypervisor took, summed over all processors of the machine (steal).
    """

    pauses: Pauses = field(default_factory=Pauses)
    switches: int = 0
    stolen: float = 0.0

    def plus(self, more: "Disturbances") -> "Disturbances":
        """Return these and others together."""
        return Disturbances(self.pauses.plus(more.pauses), self.switches + more.switches, self.stolen + more.stolen)

    @property
    def warning(self) -> str | None:
        """The warning that the machine was busy; None if it was not."""
        share = self.pauses.processor_share
        if share >= BUSY_SHARE:
            return None
        return f"{BUSY}the measurement got {100 * share:.0f} % of a processor; times are of undisturbed work"
