"""What disturbed a measurement: pauses, switches to other programs, a quota, a hypervisor that took the processor."""

from dataclasses import dataclass, field

from .cost_samples import Pauses

BUSY_SHARE = 0.9
"""A machine on which a measurement got less of a processor than this is busy."""

BUSY = "the machine was busy: ", "a quota stopped the measurement "
"""How the warnings of a busy machine begin."""

QUOTA_CURE = (
    "a quota of more processors, or none: `docker run` with a larger --cpus or without it, a larger CPUQuota= in the "
    "systemd unit or none; to keep to one processor, --cpuset-cpus=3 or AllowedCPUs=3"
)
"""How to avoid that the kernel stops a process since its quota is used up."""


@dataclass(frozen=True, slots=True)
class Disturbances:
    """What disturbed a part of a measurement."""

    pauses: Pauses = field(default_factory=Pauses)
    switches: int = 0
    """How often the system took the processor away from the thread."""
    stolen: float = 0.0
    """Seconds that a hypervisor took, summed over all processors of the machine (steal)."""
    throttled: int = 0
    """In how many periods a quota of processor time was used up (see `GroupLimits`)."""

    def plus(self, more: "Disturbances") -> "Disturbances":
        """Return these and others together."""
        return Disturbances(
            self.pauses.plus(more.pauses),
            self.switches + more.switches,
            self.stolen + more.stolen,
            self.throttled + more.throttled,
        )

    @property
    def warning(self) -> str | None:
        """The warning that a quota was used up, or else that the machine was busy; None if neither is so."""
        share = self.pauses.processor_share
        got = f"the measurement got {100 * share:.0f} % of a processor; times are of undisturbed work"
        if self.throttled:
            of_it = f": {got}" if self.pauses.watched else ""
            return f"{BUSY[1]}in {self.throttled} periods{of_it}; cure: {QUOTA_CURE}"
        return f"{BUSY[0]}{got}" if share < BUSY_SHARE else None
